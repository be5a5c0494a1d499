/* Ends of a process: `./ends never` and `fatal`, and `atexit`, `destructor` and `callback`, which are right. With another word, a
 * communicator is left. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *mode = "";
static int rank;

static void finalize(void)
{
    MPI_Finalize();
    if (write(1, "over\n", 5) != 5) abort();
}
__attribute__((destructor)) static void at_the_very_end(void)
{
    if (!strcmp(mode, "destructor")) finalize();
}
static int delete_self(MPI_Comm of, int key, void *value, void *extra)
{
    (void)of, (void)key, (void)value, (void)extra;
    int number = 1;
    if (rank) return MPI_SUCCESS;
    sleep(3);
    return MPI_Send(&number, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    MPI_Comm left;
    int number, key;
    mode = argc > 1 ? argv[1] : "";
    if (!strcmp(mode, "atexit")) atexit(finalize);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(mode, "fatal")) MPI_Send(&number, 1, MPI_INT, 1 << 20, 0, MPI_COMM_WORLD); /* FATAL */
    if (argc > 2) MPI_Comm_dup(MPI_COMM_WORLD, &left); /* LEFT */
    if (!strcmp(mode, "callback")) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_self, &key, NULL);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Comm_free_keyval(&key);
        if (rank) MPI_Recv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        finalize();
    }
    return 0;
}
