/* A library that makes communicators past the tool (-DLIBRARY), and a program that uses them, with handles that were others' before:
 * `./library LIBRARY.so`. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#ifdef LIBRARY
MPI_Comm library_comm(void)
{
    MPI_Comm comm;
    PMPI_Comm_dup(MPI_COMM_WORLD, &comm);
    return comm;
}

MPI_Datatype library_type(void)
{
    MPI_Datatype type;
    PMPI_Type_contiguous(3, MPI_INT, &type);
    PMPI_Type_commit(&type);
    return type;
}

void library_free(MPI_Comm *comm)
{
    PMPI_Comm_free(comm);
}
#else
int main(int argc, char **argv)
{
    int value = 1, three[3] = {1, 2, 3};
    void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
    if (!library) return puts(dlerror()), 1;
    MPI_Comm (*comm)(void) = (MPI_Comm(*)(void))dlsym(library, "library_comm");
    MPI_Datatype (*type)(void) = (MPI_Datatype(*)(void))dlsym(library, "library_type");
    void (*free_)(MPI_Comm *) = (void (*)(MPI_Comm *))dlsym(library, "library_free");
    MPI_Init(&argc, &argv);
    MPI_Comm own, theirs;
    MPI_Datatype mine, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    MPI_Comm_free(&own);
    MPI_Type_contiguous(2, MPI_INT, &mine);
    MPI_Type_free(&mine);
    theirs = comm();
    other = type();
    MPI_Bcast(&value, 1, MPI_INT, 0, theirs);
    MPI_Bcast(three, 1, other, 0, theirs);
    MPI_Type_free(&other);
    MPI_Comm_free(&theirs);
    /* The program's own, which the library frees. */
    MPI_Comm_dup(MPI_COMM_WORLD, &own);
    free_(&own);
    MPI_Finalize();
    puts("over");
    return 0;
}
#endif
