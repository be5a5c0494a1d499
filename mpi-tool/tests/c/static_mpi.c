/* A program that contains its MPI, as one that is linked to a libmpi.a does. */
#include <stdio.h>

int PMPI_Init(int *argc, char ***argv) {
    (void)argc, (void)argv;
    return puts("an MPI of its own") < 0;
}
#pragma weak MPI_Init = PMPI_Init
int MPI_Init(int *argc, char ***argv);

int main(int argc, char **argv) { return MPI_Init(&argc, &argv); }
