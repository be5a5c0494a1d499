// Callbacks that leave the call of Fortran which has called them: by an exception, and by longjmp.
#include <setjmp.h>
#include <stdio.h>

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

// Fortran's entry points, as a compiler calls them: each argument by its address, the error code last.
extern "C" {
void mpi_send_(void *, int *, int *, int *, int *, int *, int *);
void mpi_reduce_local_(void *, void *, int *, int *, int *, int *);
void mpi_comm_dup_(int *, int *, int *);
}

namespace {

enum How { RETURN, THROW, JUMP };

How how = RETURN;
jmp_buf place;

void leave()
{
    if (how == THROW)
        throw 1;
    if (how == JUMP)
        longjmp(place, 1);
}

void on_error(MPI_Comm *, int *, ...)
{
    leave();
}

void combine(void *, void *, int *, MPI_Datatype *)
{
    leave();
}

int on_copy(MPI_Comm, int, void *, void *, void *, int *flag)
{
    leave();
    *flag = 0;
    return MPI_SUCCESS;
}

int world, one = 1, nobody = 9999, tag = 0, integer, operation, other, same, code;

void error()
{
    int value = 1;
    mpi_send_(&value, &one, &integer, &nobody, &tag, &world, &code);
}

void reduction()
{
    int in = 1, out = 2;
    mpi_reduce_local_(&in, &out, &one, &integer, &operation, &code);
}

void copy()
{
    mpi_comm_dup_(&other, &same, &code);
}

int leave_by(How way, void (*call)())
{
    volatile int left = 0;
    how = way;
    if (way == JUMP) {
        if (setjmp(place) == 0)
            call();
        else
            left = 1;
    } else {
        try {
            call();
        } catch (int) {
            left = 1;
        }
    }
    how = RETURN;
    return left;
}

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, keyval;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Op op;
    MPI_Op_create(combine, 1, &op);
    MPI_Comm dup;
    MPI_Comm_create_keyval(on_copy, MPI_COMM_NULL_DELETE_FN, &keyval, nullptr);
    MPI_Comm_dup(MPI_COMM_SELF, &dup);
    MPI_Comm_set_attr(dup, keyval, nullptr);
    world = MPI_Comm_c2f(MPI_COMM_WORLD);
    other = MPI_Comm_c2f(dup);
    integer = MPI_Type_c2f(MPI_INT);
    operation = MPI_Op_c2f(op);
    int sends = 0, reductions = 0;
    for (int round = 0; round < 3; round++) {
        sends += leave_by(THROW, error) + leave_by(JUMP, error);
        reductions += leave_by(THROW, reduction) + leave_by(JUMP, reduction);
    }
    int copies = leave_by(THROW, copy);
    printf("rank %d has left: %d sends, %d reductions, %d copies\n", rank, sends, reductions, copies);
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
}
