/* A program that uses MPI through a library, which is compiled of the same file with -DLIBRARY: ./through wrong|stands|often.
 * Between the program and MPI are twenty functions of the library's. */
#include <mpi.h>
#include <string.h>
#include <unistd.h>

void library_call(const char *what, int depth);

#ifdef LIBRARY
static void innermost(const char *what)
{
    int value = 0, rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (strcmp(what, "wrong") == 0) {
        MPI_Datatype left;
        MPI_Type_contiguous(2, MPI_INT, &left);
    } else if (strcmp(what, "stands") == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1 - rank, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
}

__attribute__((noinline)) void library_call(const char *what, int depth)
{
    volatile int below = depth;
    if (depth > 0)
        library_call(what, depth - 1);
    else
        innermost(what);
    below++;
}
#else
static void first(const char *what)
{
    library_call(what, 20); /* FIRST */
}

static void second(const char *what)
{
    library_call(what, 20); /* SECOND */
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "often";
    MPI_Init(&argc, &argv);
    /* Whoever stands does so no longer than a test waits. */
    alarm(30);
    for (int i = 0; i < (strcmp(what, "often") ? 1 : 100); i++) {
        first(what);
        second(what);
    }
    MPI_Finalize();
    return 0;
}
#endif
