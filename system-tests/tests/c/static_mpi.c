/* A program that contains its MPI, and what that says when it is called too early. */
#include <stdio.h>

static int initialized;

int PMPI_Init(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    initialized = 1;
    return puts("an MPI of its own") < 0;
}
#pragma weak MPI_Init = PMPI_Init
int MPI_Init(int *argc, char ***argv);

int MPI_Finalize(void)
{
    if (!initialized)
        puts("Attempting to use an MPI routine before initializing MPI");
    return 0;
}

int main(int argc, char **argv) { return MPI_Init(&argc, &argv) || MPI_Finalize(); }
