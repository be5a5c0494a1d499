/* Programs that stand for ever, of which every sentence that is said must be true: ./reasons NAME, on three ranks. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int r, c[16];
#define W MPI_COMM_WORLD
#define RECEIVE(from) MPI_Recv(c, 1, MPI_INT, from, 0, W, MPI_STATUS_IGNORE)

/* The small message has gone; what rank 0 waits for is rank 2's. */
static void sent_and_waiting(void)
{
    MPI_Request q[2];
    int one = 1;
    if (r == 0) {
        MPI_Isend(&one, 1, MPI_INT, 1, 1, W, &q[0]);
        MPI_Irecv(c, 1, MPI_INT, 2, 2, W, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
    } else {
        RECEIVE(r == 1 ? 2 : 0);
    }
}

static void exchanged(void)
{
    int one = 1;
    if (r == 0)
        MPI_Sendrecv(&one, 1, MPI_INT, 1, 1, c, 1, MPI_INT, 2, 2, W, MPI_STATUS_IGNORE);
    else
        RECEIVE(r == 1 ? 2 : 0);
}

/* Rank 2 comes last, when the mismatch was found. */
static void mixed(void)
{
    int one = 1;
    if (r == 2) usleep(500000);
    if (r == 0) MPI_Gather(&one, 1, MPI_INT, c, 1, MPI_INT, 0, W);
    else MPI_Scatter(c, 1, MPI_INT, &one, 1, MPI_INT, 0, W);
    MPI_Barrier(W);
}

static void once_more(void)
{
    for (int i = 0; i < 10 + (r == 1); i++) MPI_Barrier(W);
    if (r != 1) RECEIVE(1);
}

/* Five thousand messages of one channel, which all arrive, and then nothing does. */
static void after_many(void)
{
    enum { MANY = 5000 };
    static int data[MANY];
    static MPI_Request q[MANY];
    if (r == 0)
        for (int i = 0; i < MANY; i++) MPI_Isend(&data[i], 1, MPI_INT, 1, 7, W, &q[i]);
    MPI_Barrier(W);
    if (r == 1)
        for (int i = 0; i < MANY; i++) MPI_Irecv(&data[i], 1, MPI_INT, 0, 7, W, &q[i]);
    if (r < 2) MPI_Waitall(MANY, q, MPI_STATUSES_IGNORE);
    MPI_Barrier(W);
    RECEIVE((r + 1) % 3);
}

static void two_windows(void)
{
    MPI_Win one, other;
    int *data;
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, W, &data, &one); /* FIRST */
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, W, &data, &other); /* SECOND */
    MPI_Win_fence(0, r ? one : other);
}

int main(int argc, char **argv)
{
    const struct { const char *name; void (*run)(void); } all[] = {
        {"sent_and_waiting", sent_and_waiting}, {"exchanged", exchanged}, {"mixed", mixed},
        {"once_more", once_more}, {"after_many", after_many}, {"two_windows", two_windows},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &r);
    alarm(20);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    MPI_Finalize();
    return 0;
}
