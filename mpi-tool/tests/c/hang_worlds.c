/*
 * Ranks of two worlds that hang, one by one, by the first argument: two ranks spawn two others. Lines that a test asks for end in
 * a comment.
 */
#include <mpi.h>
#include <string.h>

static int rank;
static char buffer[8];

static void receive_from(int from, MPI_Comm comm) {
    MPI_Recv(buffer, 1, MPI_CHAR, from, 5, comm, MPI_STATUS_IGNORE); /* receives */
}

/* Each waits for the other one's message. */
static void parents(MPI_Comm children) {
    if (rank == 0) receive_from(1, children);
    MPI_Barrier(MPI_COMM_WORLD); /* waits for the parent */
}

static void children(MPI_Comm parents) {
    if (rank == 1) receive_from(0, parents);
    MPI_Barrier(MPI_COMM_WORLD); /* waits for the child */
}

int main(int argc, char **argv) {
    MPI_Comm parent, other;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "";
    char *arguments[] = {(char *)what, NULL};
#define IS(name) (strcmp(what, name) == 0)
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_get_parent(&parent);
    int is_parent = parent == MPI_COMM_NULL;
    if (is_parent)
        MPI_Comm_spawn(argv[0], arguments, 2, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    else
        MPI_Comm_get_parent(&other);
    if (IS("messages")) {
        if (is_parent) parents(other);
        else children(other);
    } else if (IS("collective")) {
        if (is_parent) {
            MPI_Irecv(buffer, 1, MPI_CHAR, 0, 5, other, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits for a child */
        } else {
            MPI_Barrier(other); /* barrier of the children */
        }
    } else if (IS("barrier")) {
        if (is_parent) MPI_Barrier(other); /* barrier of both */
        else receive_from(0, other);
    }
    MPI_Finalize();
    return 0;
}
