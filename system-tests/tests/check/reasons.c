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

/* Rank 1 waits for another message than the one that must leave the buffer. */
static void detached(void)
{
    enum { LENGTH = 1 << 22 };
    static char data[LENGTH], room[LENGTH + MPI_BSEND_OVERHEAD];
    char *back;
    int size;
    if (r == 0) {
        MPI_Buffer_attach(room, sizeof room);
        MPI_Bsend(data, LENGTH, MPI_CHAR, 1, 1, W); /* BUFFERED */
        MPI_Buffer_detach(&back, &size);
    } else {
        RECEIVE(0);
    }
}

/* Rank 1 does not complete what rank 0 looks for. */
static void window_polled(void)
{
    MPI_Win window;
    MPI_Group world, other;
    int *data, flag = 0, zero = 0, one = 1;
    MPI_Win_allocate(64, 4, MPI_INFO_NULL, W, &data, &window);
    MPI_Comm_group(W, &world);
    MPI_Group_incl(world, 1, r == 0 ? &one : &zero, &other);
    if (r == 0) {
        MPI_Win_post(other, 0, window);
        while (!flag) MPI_Win_test(window, &flag);
    } else {
        if (r == 1) MPI_Win_start(other, 0, window);
        RECEIVE(0);
    }
}

/* Of two messages one comes. */
static void all_looked_at(void)
{
#if MPI_VERSION > 4 || MPI_VERSION == 4 && MPI_SUBVERSION >= 1
    MPI_Request q[2];
    int flag = 0, one = 1;
    if (r == 0) {
        MPI_Irecv(c, 1, MPI_INT, 1, 0, W, &q[0]);
        MPI_Irecv(c + 1, 1, MPI_INT, 2, 0, W, &q[1]);
        while (!flag) MPI_Request_get_status_all(2, q, &flag, MPI_STATUSES_IGNORE);
    } else {
        if (r == 1) MPI_Send(&one, 1, MPI_INT, 0, 0, W);
        RECEIVE(0);
    }
#else
    RECEIVE((r + 1) % 3);
#endif
}

int main(int argc, char **argv)
{
    const struct { const char *name; void (*run)(void); } all[] = {
        {"sent_and_waiting", sent_and_waiting}, {"exchanged", exchanged}, {"mixed", mixed},
        {"once_more", once_more}, {"after_many", after_many}, {"two_windows", two_windows},
        {"detached", detached},
        {"window_polled", window_polled}, {"all_looked_at", all_looked_at},
    };
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(W, &r);
    alarm(20);
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (argc > 1 && !strcmp(argv[1], all[i].name)) all[i].run();
    MPI_Finalize();
    return 0;
}
