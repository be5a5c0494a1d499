/* Refers to Fortran's entry points as programs do that a Fortran compiler made: mpif.h's or use
   mpi's, and mpi_f08's by the names that MPICH and Open MPI give them. Calls none of them. */
#include <mpi.h>

extern void mpi_send_(void) __attribute__((weak));
extern void mpi_send_f08_(void) __attribute__((weak));
extern void mpi_send_f08ts_(void) __attribute__((weak));

int main(int argc, char **argv) {
    void (*volatile entries[])(void) = {mpi_send_, mpi_send_f08_, mpi_send_f08ts_};
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return entries[0] == entries[1] && entries[0] != 0;
}
