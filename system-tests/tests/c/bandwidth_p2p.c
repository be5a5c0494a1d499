/* What point-to-point and partitioned communication moves: every send and receive, in every mode,
 * and every way to complete them. Needs 2 ranks or more. */
#include "moved.h"

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

#ifdef OPEN_MPI
#define SHORT_ISENDRECV 1
#else
#define SHORT_ISENDRECV 0
#endif

#define P2P "point-to-point"

static int rank, size, left, right;
static const MPI_Comm comm = MPI_COMM_WORLD;

#define NAME(name) name##_int
#define F(function) function
#define COUNT int
#include "bandwidth_p2p_forms.h"

#ifdef HAVE_MPI_Send_c
#define NAME(name) name##_large
#define F(function) function##_c
#define COUNT MPI_Count
#include "bandwidth_p2p_forms.h"
#endif

/* Several messages to oneself of lengths 1, 2, 3 …, completed in one way or another, with null
 * requests among them. */
enum { MESSAGES = 6, PLACES = 2 * MESSAGES + 3 };

static void completions(int ignore)
{
    static int in[MESSAGES][64], out[64];
    MPI_Request requests[PLACES];
    MPI_Status statuses[PLACES], *all = ignore ? MPI_STATUSES_IGNORE : statuses,
                                 *one = ignore ? MPI_STATUS_IGNORE : statuses;
    for (int way = 0; way < 9; way++) {
        int left_to_do = 2 * MESSAGES, flag, index, count, indices[PLACES];
        for (int i = 0; i < PLACES; i++)
            requests[i] = MPI_REQUEST_NULL;
        for (int i = 0; i < MESSAGES; i++) {
            MPI_Irecv(in[i], 64, MPI_INT, left, i, comm, &requests[2 * i + 1]);
            MPI_Isend(out, i + 1, MPI_INT, right, i, comm, &requests[2 * i + 2]);
            moved(SENT, P2P, "MPI_INT", i + 1);
            moved(RECEIVED, P2P, "MPI_INT", i + 1);
        }
        switch (way) {
        case 0:
            MPI_Waitall(PLACES, requests, all);
            break;
        case 1:
            for (flag = 0; !flag;)
                MPI_Testall(PLACES, requests, &flag, all);
            break;
        case 2:
            for (; left_to_do > 0; left_to_do--) {
                MPI_Waitany(PLACES, requests, &index, one);
                CHECK(index >= 0 && index < PLACES && requests[index] == MPI_REQUEST_NULL);
            }
            MPI_Waitany(PLACES, requests, &index, one);
            CHECK(index == MPI_UNDEFINED);
            break;
        case 3:
            while (left_to_do > 0) {
                MPI_Testany(PLACES, requests, &index, &flag, one);
                left_to_do -= flag;
            }
            MPI_Testany(PLACES, requests, &index, &flag, one);
            CHECK(flag && index == MPI_UNDEFINED);
            break;
        case 4:
            while (left_to_do > 0) {
                MPI_Waitsome(PLACES, requests, &count, indices, all);
                left_to_do -= count;
            }
            MPI_Waitsome(PLACES, requests, &count, indices, all);
            CHECK(count == MPI_UNDEFINED);
            break;
        case 5:
            while (left_to_do > 0) {
                MPI_Testsome(PLACES, requests, &count, indices, all);
                left_to_do -= count;
            }
            break;
        case 6:
            for (int i = PLACES - 1; i >= 0; i--)
                MPI_Wait(&requests[i], one);
            break;
        case 7:
            for (int i = PLACES - 1; i >= 0; i--)
                for (flag = 0; !flag;)
                    MPI_Test(&requests[i], &flag, one);
            break;
        case 8: /* looked at first, which completes nothing */
            for (int i = 0; i < PLACES; i++) {
                for (flag = 0; !flag;)
                    MPI_Request_get_status(requests[i], &flag, one);
                MPI_Request_get_status(requests[i], &flag, one);
            }
            MPI_Waitall(PLACES, requests, all);
            break;
        }
        MPI_Barrier(comm);
    }
}

/* Persistent requests among others, some of them not active, over and over. */
static void persistent_among_others(void)
{
    int in[3], out[3] = {1, 2, 3}, flag, index, count, indices[5];
    MPI_Request requests[5];
    MPI_Recv_init(&in[0], 1, MPI_INT, left, 10, comm, &requests[0]);
    MPI_Send_init(&out[0], 1, MPI_INT, right, 10, comm, &requests[1]);
    MPI_Recv_init(&in[1], 1, MPI_INT, left, 11, comm, &requests[2]);
    requests[3] = requests[4] = MPI_REQUEST_NULL;
    for (int round = 0; round < 6; round++) {
        MPI_Startall(2, requests);
        moved(SENT, P2P, "MPI_INT", 1);
        moved(RECEIVED, P2P, "MPI_INT", 1);
        int active = 2;
        if (round % 2) {
            MPI_Start(&requests[2]);
            MPI_Isend(&out[1], 1, MPI_INT, right, 11, comm, &requests[3]);
            moved(SENT, P2P, "MPI_INT", 1);
            moved(RECEIVED, P2P, "MPI_INT", 1);
            active = 4;
        }
        switch (round % 3) {
        case 0:
            MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (; active > 0; active--)
                MPI_Waitany(5, requests, &index, MPI_STATUS_IGNORE);
            break;
        case 2:
            while (active > 0) {
                MPI_Testsome(5, requests, &count, indices, MPI_STATUSES_IGNORE);
                active -= count;
            }
            break;
        }
        for (int i = 0; i < 2; i++)
            MPI_Testall(5, requests, &flag, MPI_STATUSES_IGNORE);
        CHECK(flag);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
}

/* Receives that are cancelled have received nothing; a send that nobody waits for has sent. */
static void given_up(void)
{
    int in[4], flag;
    static int out[4];
    MPI_Request request, many[3];
    MPI_Status status;
    for (int way = 0; way < 3; way++) {
        MPI_Irecv(in, 4, MPI_INT, MPI_ANY_SOURCE, 98, comm, &request);
        MPI_Cancel(&request);
        if (way == 0)
            MPI_Wait(&request, &status);
        else if (way == 1)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        else
            for (flag = 0; !flag;)
                MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Recv_init(in, 4, MPI_INT, left, 99, comm, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(comm); /* no message before all have cancelled */
    MPI_Start(&request);
    MPI_Send(out, 2, MPI_INT, right, 99, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    moved(SENT, P2P, "MPI_INT", 2);
    moved(RECEIVED, P2P, "MPI_INT", 2);

    for (int i = 0; i < 3; i++) {
        MPI_Isend(out, 3, MPI_INT, right, 97, comm, &request);
        MPI_Request_free(&request);
    }
    for (int i = 0; i < 3; i++)
        MPI_Irecv(in, 4, MPI_INT, left, 97, comm, &many[i]);
    MPI_Waitall(3, many, MPI_STATUSES_IGNORE);
    moved(SENT, P2P, "MPI_INT", 9);
    moved(RECEIVED, P2P, "MPI_INT", 9);

    /* A persistent request that is freed and whose handle may be another one's next. */
    MPI_Recv_init(in, 4, MPI_INT, left, 96, comm, &request);
    MPI_Request_free(&request);
    MPI_Isend(out, 3, MPI_INT, right, 96, comm, &request);
    MPI_Recv(in, 4, MPI_INT, left, 96, comm, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    moved(SENT, P2P, "MPI_INT", 3);
    moved(RECEIVED, P2P, "MPI_INT", 3);
}

/* On a communicator where ranks are others: to world rank 0 only, from all. */
static void other_ranks(void)
{
    MPI_Comm reversed;
    int x = 0, here;
    MPI_Comm_split(comm, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &here);
    CHECK(here == size - 1 - rank);
    if (rank == 0) {
        for (int i = 1; i < size; i++)
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, reversed, MPI_STATUS_IGNORE);
        moved(RECEIVED, P2P, "MPI_INT", size - 1);
    } else {
        MPI_Send(&x, 1, MPI_INT, size - 1, rank, reversed);
        moved(SENT, P2P, "MPI_INT", 1);
    }
    MPI_Comm_free(&reversed);
}

static void partitioned(void)
{
#ifdef HAVE_MPI_Psend_init
    enum { PARTS = 4, LENGTH = 3 };
    double out[PARTS * LENGTH] = {0}, in[PARTS * LENGTH];
    MPI_Request requests[2];
    int flag;
    for (int halves = 0; halves < 2; halves++) {
        int parts = halves ? PARTS / 2 : PARTS;
        MPI_Psend_init(out, PARTS, LENGTH, MPI_DOUBLE, right, halves, comm, MPI_INFO_NULL,
                       &requests[0]);
        MPI_Precv_init(in, parts, PARTS * LENGTH / parts, MPI_DOUBLE, left, halves, comm,
                       MPI_INFO_NULL, &requests[1]);
        for (int round = 0; round < 3; round++) {
            if (round == 0)
                MPI_Startall(2, requests);
            else
                for (int i = 0; i < 2; i++)
                    MPI_Start(&requests[i]);
            MPI_Pready_range(1, PARTS - 1, requests[0]);
            MPI_Pready(0, requests[0]);
            for (flag = 0; !flag && round == 1;)
                MPI_Parrived(requests[1], 0, &flag);
            if (round == 2) /* MPICH 5.0.2 fails in MPI_Testall */
                for (int i = 0; i < 2; i++)
                    for (flag = 0; !flag;)
                        MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            else
                for (int i = 0; i < 2; i++)
                    MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            moved(SENT, "partitioned", "MPI_DOUBLE", PARTS * LENGTH);
            moved(RECEIVED, "partitioned", "MPI_DOUBLE", PARTS * LENGTH);
        }
        /* Once more, for nothing: they are not active. */
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
    }
#endif
}

/* As an MPI's own datatypes go: every one of the table, once. */
static void datatypes(void)
{
#define ONCE(datatype)                                                                            \
    MPI_Sendrecv(out, 3, datatype, right, 0, in, 5, datatype, left, 0, comm, MPI_STATUS_IGNORE);  \
    moved(SENT, P2P, #datatype, 3);                                                               \
    moved(RECEIVED, P2P, #datatype, 3)
    _Alignas(16) char out[128] = {0}, in[128];
    ONCE(MPI_CHAR);
    ONCE(MPI_SIGNED_CHAR);
    ONCE(MPI_UNSIGNED_CHAR);
    ONCE(MPI_BYTE);
    ONCE(MPI_SHORT);
    ONCE(MPI_INT);
    ONCE(MPI_UNSIGNED);
    ONCE(MPI_LONG);
    ONCE(MPI_LONG_LONG_INT);
    ONCE(MPI_FLOAT);
    ONCE(MPI_DOUBLE);
    ONCE(MPI_INT8_T);
    ONCE(MPI_INT64_T);
    ONCE(MPI_UINT16_T);
    ONCE(MPI_AINT);
    ONCE(MPI_COUNT);
    ONCE(MPI_OFFSET);
    ONCE(MPI_C_BOOL);
    ONCE(MPI_C_DOUBLE_COMPLEX);
    ONCE(MPI_2INT);
    ONCE(MPI_DOUBLE_INT);
    ONCE(MPI_SHORT_INT);
    ONCE(MPI_LONG_INT);

    /* Packed, and unpacked by the receive. */
    char packed[64];
    int x[5] = {0}, position = 0;
    MPI_Request request;
    MPI_Pack(x, 5, MPI_INT, packed, sizeof packed, &position, comm);
    for (int i = 0; i < 2; i++) {
        MPI_Isend(packed, position, MPI_PACKED, right, 1, comm, &request);
        if (i == 0)
            MPI_Recv(packed + 32, 32, MPI_PACKED, left, 1, comm, MPI_STATUS_IGNORE);
        else
            MPI_Recv(x, 5, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(position == 20);
        moved(SENT, P2P, "MPI_PACKED", 20);
    }
    moved(RECEIVED, P2P, "MPI_PACKED", 20);
    moved(RECEIVED, P2P, "MPI_INT", 5);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    static const int counts[] = {0, 1, 7};
    for (int i = 0; i < 3; i++) {
        sends_int(counts[i]);
        both_ways_int(counts[i]);
#ifdef HAVE_MPI_Send_c
        sends_large(counts[i]);
        both_ways_large(counts[i]);
#endif
    }
    nobody_int();
#ifdef HAVE_MPI_Send_c
    nobody_large();
#endif
    completions(0);
    completions(1);
    persistent_among_others();
    given_up();
    other_ranks();
    partitioned();
    datatypes();
    MPI_Barrier(comm);
    MPI_Finalize();
    return 0;
}
