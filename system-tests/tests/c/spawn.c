/* Processes that come later: children by MPI_Comm_spawn and by MPI_Comm_spawn_multiple, which talk
 * to their parents, merge with them and leave; and two halves of a job that connect by a port. */
#include "expect.h"

/* MPICH 4.0, as Debian has it, does not survive MPI_Comm_spawn. */
#if defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000
#define NO_SPAWN 1
#endif

enum { CHILDREN = 2, ROUNDS = 10 };

/* What both sides do on the intercommunicator; the first group is low in the merged one. */
static void meet(MPI_Comm *other, int high, int low_size, int high_size)
{
    MPI_Comm all;
    int rank, size, remote, sum = 0, one = 1;
    MPI_Comm_remote_size(*other, &remote);
    CHECK(remote == (high ? low_size : high_size));
    MPI_Comm_rank(*other, &rank);
    for (int round = 0; round < ROUNDS && rank == 0; round++) {
        int got = -1;
        MPI_Sendrecv(&round, 1, MPI_INT, 0, 5, &got, 1, MPI_INT, 0, 5, *other, MPI_STATUS_IGNORE);
        CHECK(got == round);
    }
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, *other);
    CHECK(sum == remote);
    MPI_Intercomm_merge(*other, high, &all);
    MPI_Comm_size(all, &size);
    CHECK(size == low_size + high_size);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    CHECK(sum == size);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(other);
    CHECK(*other == MPI_COMM_NULL);
}

#ifndef NO_SPAWN
static void spawn(int rank, int size)
{
    char program[4096];
    MPI_Comm children;
    int errors[2 * CHILDREN];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    CHECK(length > 0);
    program[length] = '\0';

    char parents[16];
    snprintf(parents, sizeof parents, "%d", size);
    char *arguments[] = {"one", parents, NULL};
    MPI_Comm_spawn(program, arguments, CHILDREN, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children,
                   errors);
    for (int i = 0; i < CHILDREN; i++)
        CHECK(errors[i] == MPI_SUCCESS);
    meet(&children, 0, size, CHILDREN);

    char *programs[] = {program, program};
    char *more[] = {"several", parents, NULL};
    char **argument_lists[] = {more, more};
    int numbers[] = {1, 1};
    MPI_Info infos[] = {MPI_INFO_NULL, MPI_INFO_NULL};
    MPI_Comm_spawn_multiple(2, programs, argument_lists, numbers, infos, 0, MPI_COMM_WORLD,
                            &children, errors);
    for (int i = 0; i < 2; i++)
        CHECK(errors[i] == MPI_SUCCESS);
    meet(&children, 0, size, 2);
    if (rank == 0)
        printf("%d children spawned\n", CHILDREN + 2);
}
#endif

/* Even ranks accept, odd ranks connect. MPICH with UCX cannot always open a port. */
static void connect_halves(int rank, int size)
{
    MPI_Comm half, other;
    char port[MPI_MAX_PORT_NAME] = "";
    const int odd = rank % 2;
    if (rank == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
        if (MPI_Open_port(MPI_INFO_NULL, port) != MPI_SUCCESS)
            port[0] = '\0';
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
        MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    }
    MPI_Bcast(port, sizeof port, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (!port[0]) {
        if (rank == 0)
            printf("no port to connect by\n");
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, odd, rank, &half);
    if (odd)
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, half, &other);
    else
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, half, &other);
    meet(&other, odd, (size + 1) / 2, size / 2);
    MPI_Comm_free(&half);
    if (rank == 0) {
        MPI_Close_port(port);
        printf("two halves connected\n");
    }
}

int main(int argc, char **argv)
{
    MPI_Comm parent;
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        CHECK(argc == 3);
        meet(&parent, 1, atoi(argv[2]), size);
        MPI_Finalize();
        return 0;
    }
#ifdef NO_SPAWN
    if (rank == 0)
        printf("spawn left out\n");
#else
    spawn(rank, size);
#endif
    connect_halves(rank, size);
    MPI_Finalize();
    return 0;
}
