/* Calls from many threads at once under MPI_THREAD_MULTIPLE: cheap calls, messages, and threads
 * that come and go. Threads call through parentheses, past the counting macros, whose lock would
 * keep them in step, and add up their calls at their end. Needs 2 ranks or more. */
#include "expect.h"

enum { CALLERS = 8, CALLS = 100000, SENDERS = 4, MESSAGES = 2000, ROUNDS = 20, SHORT = 8 };

static int rank, size;

static void *call(void *unused)
{
    (void)unused;
    for (int i = 0; i < CALLS; i++) {
        int here = -1;
        (MPI_Comm_rank)(MPI_COMM_WORLD, &here);
        CHECK(here == rank);
    }
    expect_calls("MPI_Comm_rank", CALLS);
    return NULL;
}

/* Messages to the rank itself, or to the one beside it, with a tag of the thread's own. */
static void *communicate(void *number)
{
    int tag = *(int *)number, partner = tag % 2 == 0 ? rank : rank ^ 1;
    unsigned long sends = 0, receives = 0;
    if (partner == rank) {
        for (int i = 0; i < MESSAGES; i++) {
            int out = i, in = -1;
            MPI_Request request;
            (MPI_Irecv)(&in, 1, MPI_INT, rank, tag, MPI_COMM_WORLD, &request);
            (MPI_Send)(&out, 1, MPI_INT, rank, tag, MPI_COMM_WORLD);
            (MPI_Wait)(&request, MPI_STATUS_IGNORE);
            CHECK(in == i);
        }
        expect_calls("MPI_Irecv", MESSAGES);
        expect_calls("MPI_Wait", MESSAGES);
        sends = MESSAGES;
    } else if (partner < size) {
        for (int turn = 0; turn < 2; turn++) {
            for (int i = 0; i < MESSAGES; i++) {
                int x = i;
                if (rank % 2 == turn) {
                    (MPI_Send)(&x, 1, MPI_INT, partner, tag, MPI_COMM_WORLD);
                    sends++;
                } else {
                    (MPI_Recv)(&x, 1, MPI_INT, partner, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                    receives++;
                }
                CHECK(x == i);
            }
        }
        expect_calls("MPI_Recv", receives);
    }
    if (sends)
        expect_calls("MPI_Send", sends);
    return NULL;
}

/* A thread of a few calls, these with the macros. */
static void *come_and_go(void *unused)
{
    int here, flag;
    (void)unused;
    MPI_Comm_size(MPI_COMM_WORLD, &here);
    CHECK(here == size);
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Is_thread_main(&flag);
    CHECK(!flag);
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, flag, numbers[SENDERS];
    pthread_t callers[CALLERS], senders[SENDERS], others[SHORT];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE) {
        if (rank == 0)
            printf("no threads\n");
        MPI_Finalize();
        return 0;
    }
    MPI_Query_thread(&provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    MPI_Is_thread_main(&flag);
    CHECK(flag);

    for (int i = 0; i < CALLERS; i++)
        CHECK(pthread_create(&callers[i], NULL, call, NULL) == 0);
    for (int i = 0; i < SENDERS; i++) {
        numbers[i] = i;
        CHECK(pthread_create(&senders[i], NULL, communicate, &numbers[i]) == 0);
    }
    for (int i = 0; i < CALLERS; i++)
        pthread_join(callers[i], NULL);
    for (int i = 0; i < SENDERS; i++)
        pthread_join(senders[i], NULL);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SHORT; i++)
            CHECK(pthread_create(&others[i], NULL, come_and_go, NULL) == 0);
        for (int i = 0; i < SHORT; i++)
            pthread_join(others[i], NULL);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("threads ok\n");
    MPI_Finalize();
    return 0;
}
