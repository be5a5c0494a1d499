/* Point-to-point communication: every send mode, receives, probes, combined calls, persistent
 * requests, every form of completion, cancelling, status queries and send buffers; with
 * MPI_PROC_NULL, wildcards, ignored statuses, null requests, derived datatypes, MPI_BOTTOM and
 * truncation errors. Needs 2 ranks or more. */
#include "expect.h"

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
#define HAVE_MPICH_4_0 1
#else
#define HAVE_MPICH_4_0 0
#endif

enum { SMALL = 16, LARGE = 200000 };

static int rank, size, left, right;
static const MPI_Comm comm = MPI_COMM_WORLD;

static void passed(const char *section)
{
    MPI_Barrier(comm);
    if (rank == 0)
        printf("%s ok\n", section);
}

static void fill(int *buffer, int count, int from)
{
    for (int i = 0; i < count; i++)
        buffer[i] = from * 7 + i;
}

/* Whether the buffer is what that rank filled. */
static int filled(const int *buffer, int count, int from)
{
    for (int i = 0; i < count; i++)
        if (buffer[i] != from * 7 + i)
            return 0;
    return 1;
}

static void check_status(const MPI_Status *status, int source, int tag, int count)
{
    int got = -1;
    MPI_Get_count(status, MPI_INT, &got);
    CHECK(status->MPI_SOURCE == source && status->MPI_TAG == tag && got == count);
}

/* All blocking sends, to the right, with message sizes from nothing to rendezvous. */
static void blocking(void)
{
    static const int counts[] = {0, 1, SMALL, LARGE};
    int *out = malloc(LARGE * sizeof(int)), *in = malloc(LARGE * sizeof(int));
    int room = LARGE * (int)sizeof(int) + MPI_BSEND_OVERHEAD;
    void *attached = malloc(room), *detached;
    MPI_Buffer_attach(attached, room);
    fill(out, LARGE, rank);
    for (int i = 0; i < 4; i++) {
        for (int mode = 0; mode < 4; mode++) {
            int count = counts[i], tag = 10 * i + mode;
            MPI_Request request;
            MPI_Status status;
            memset(in, 0xff, LARGE * sizeof(int));
            MPI_Irecv(in, count, MPI_INT, left, tag, comm, &request);
            MPI_Barrier(comm);
            switch (mode) {
            case 0: MPI_Send(out, count, MPI_INT, right, tag, comm); break;
            case 1: MPI_Bsend(out, count, MPI_INT, right, tag, comm); break;
            case 2: MPI_Ssend(out, count, MPI_INT, right, tag, comm); break;
            case 3: MPI_Rsend(out, count, MPI_INT, right, tag, comm); break;
            }
            MPI_Wait(&request, &status);
            CHECK(request == MPI_REQUEST_NULL);
            check_status(&status, left, tag, count);
            CHECK(filled(in, count, left));
        }
    }
    MPI_Buffer_detach(&detached, &room);
    CHECK(detached == attached && room == LARGE * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    free(attached);

    /* Ordered pairs, no nonblocking call: even ranks send first. A null buffer of no elements. */
    for (int odd = 0; odd < 2; odd++) {
        if (rank % 2 == odd && right != 0) {
            MPI_Send(NULL, 0, MPI_INT, right, 5, comm);
            MPI_Ssend(out, SMALL, MPI_INT, right, 6, comm);
        } else if (rank % 2 != odd && rank != 0) {
            MPI_Status status;
            MPI_Recv(NULL, 0, MPI_INT, left, 5, comm, &status);
            check_status(&status, left, 5, 0);
            MPI_Recv(in, LARGE, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            check_status(&status, left, 6, SMALL);
        }
    }
    free(out);
    free(in);
    passed("blocking");
}

/* Nonblocking and persistent sends of all modes, all under way at once. */
static void nonblocking(void)
{
    int out[SMALL], in[4][SMALL];
    int room = 4 * (SMALL * (int)sizeof(int) + MPI_BSEND_OVERHEAD);
    void *attached = malloc(room), *detached;
    MPI_Request requests[8];
    MPI_Status statuses[8];
    MPI_Buffer_attach(attached, room);
    fill(out, SMALL, rank);

    for (int i = 0; i < 4; i++)
        MPI_Irecv(in[i], SMALL, MPI_INT, left, i, comm, &requests[i]);
    MPI_Barrier(comm);
    MPI_Isend(out, 1, MPI_INT, right, 0, comm, &requests[4]);
    MPI_Ibsend(out, 2, MPI_INT, right, 1, comm, &requests[5]);
    MPI_Issend(out, 3, MPI_INT, right, 2, comm, &requests[6]);
    MPI_Irsend(out, 4, MPI_INT, right, 3, comm, &requests[7]);
    MPI_Waitall(8, requests, statuses);
    for (int i = 0; i < 4; i++) {
        check_status(&statuses[i], left, i, i + 1);
        CHECK(filled(in[i], i + 1, left));
        CHECK(requests[i] == MPI_REQUEST_NULL && requests[i + 4] == MPI_REQUEST_NULL);
    }

    for (int i = 0; i < 4; i++)
        MPI_Recv_init(in[i], SMALL, MPI_INT, left, i, comm, &requests[i]);
    MPI_Send_init(out, 1, MPI_INT, right, 0, comm, &requests[4]);
    MPI_Bsend_init(out, 2, MPI_INT, right, 1, comm, &requests[5]);
    MPI_Ssend_init(out, 3, MPI_INT, right, 2, comm, &requests[6]);
    MPI_Rsend_init(out, 4, MPI_INT, right, 3, comm, &requests[7]);
    MPI_Wait(&requests[0], &statuses[0]); /* inactive: done, with the empty status */
    check_status(&statuses[0], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    for (int round = 0; round < 5; round++) {
        memset(in, 0, sizeof in);
        for (int i = 0; i < SMALL; i++)
            out[i] = rank * 100 + round;
        MPI_Startall(4, requests);
        MPI_Barrier(comm);
        if (round % 2 == 0)
            MPI_Startall(4, requests + 4);
        else
            for (int i = 4; i < 8; i++)
                MPI_Start(&requests[i]);
        MPI_Waitall(8, requests, statuses);
        for (int i = 0; i < 4; i++) {
            check_status(&statuses[i], left, i, i + 1);
            CHECK(in[i][i] == left * 100 + round && in[i][i + 1] == 0);
            CHECK(requests[i] != MPI_REQUEST_NULL);
        }
    }
    for (int i = 0; i < 8; i++) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    MPI_Buffer_detach(&detached, &room);
    free(attached);

    /* A request that nobody waits for. */
    MPI_Isend(out, SMALL, MPI_INT, right, 9, comm, &requests[0]);
    MPI_Request_free(&requests[0]);
    MPI_Recv(in[0], SMALL, MPI_INT, left, 9, comm, MPI_STATUS_IGNORE);
    passed("nonblocking and persistent");
}

static void probes(void)
{
    int out[SMALL], in[SMALL], flag = 0;
    MPI_Request sends[4], receive;
    MPI_Message message;
    MPI_Status status;
    fill(out, SMALL, rank);
    for (int i = 0; i < 4; i++)
        MPI_Isend(out, SMALL - i, MPI_INT, right, i, comm, &sends[i]);

    MPI_Probe(left, 0, comm, &status);
    check_status(&status, left, 0, SMALL);
    MPI_Probe(left, 0, comm, MPI_STATUS_IGNORE);
    MPI_Recv(in, SMALL, MPI_INT, status.MPI_SOURCE, status.MPI_TAG, comm, MPI_STATUS_IGNORE);

    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, comm, &flag, &status);
    check_status(&status, left, 1, SMALL - 1);
    MPI_Iprobe(left, 1, comm, &flag, MPI_STATUS_IGNORE);
    CHECK(flag);
    MPI_Recv(in, SMALL, MPI_INT, left, 1, comm, MPI_STATUS_IGNORE);

    MPI_Mprobe(left, 2, comm, &message, &status);
    check_status(&status, left, 2, SMALL - 2);
    MPI_Mrecv(in, SMALL, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL && filled(in, SMALL - 2, left));
    check_status(&status, left, 2, SMALL - 2);

    for (flag = 0; !flag;)
        MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, &message, &status);
    check_status(&status, left, 3, SMALL - 3);
    MPI_Imrecv(in, SMALL, MPI_INT, &message, &receive);
    CHECK(message == MPI_MESSAGE_NULL);
    MPI_Wait(&receive, &status);
    check_status(&status, left, 3, SMALL - 3);
    MPI_Waitall(4, sends, MPI_STATUSES_IGNORE);

    /* Nothing is there. */
    MPI_Iprobe(MPI_ANY_SOURCE, 77, comm, &flag, &status);
    CHECK(!flag);
    MPI_Improbe(left, 77, comm, &flag, &message, MPI_STATUS_IGNORE);
    CHECK(!flag);
    passed("probes");
}

static void combined(void)
{
    int out[SMALL], in[SMALL];
    MPI_Status status;
    fill(out, SMALL, rank);
    MPI_Sendrecv(out, SMALL, MPI_INT, right, 1, in, SMALL, MPI_INT, left, 1, comm, &status);
    check_status(&status, left, 1, SMALL);
    CHECK(filled(in, SMALL, left));
    MPI_Sendrecv(out, 3, MPI_INT, right, 2, in, SMALL, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(NULL, 0, MPI_INT, right, 3, NULL, 0, MPI_INT, left, 3, comm, &status);
    check_status(&status, left, 3, 0);
    MPI_Sendrecv_replace(out, SMALL, MPI_INT, right, 4, left, 4, comm, &status);
    check_status(&status, left, 4, SMALL);
    CHECK(filled(out, SMALL, left));
    MPI_Sendrecv_replace(out, SMALL, MPI_INT, left, 4, right, 4, comm, MPI_STATUS_IGNORE);
    CHECK(filled(out, SMALL, rank));
#ifdef HAVE_MPI_Isendrecv
    MPI_Request requests[2];
    MPI_Status statuses[2];
    int replaced[SMALL];
    fill(replaced, SMALL, rank);
    MPI_Isendrecv(out, SMALL, MPI_INT, right, 5, in, SMALL, MPI_INT, left, 5, comm, &requests[0]);
    MPI_Isendrecv_replace(replaced, SMALL, MPI_INT, right, 6, left, 6, comm, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(filled(in, SMALL, left) && filled(replaced, SMALL, left));
#endif
    passed("combined");
}

/* Starts n receives from the left, tags 0 to n - 1, and the sends that match them; the last
 * request of the array is null. */
static void start_exchange(int n, int *out, int *in, MPI_Request *receives, MPI_Request *sends)
{
    for (int i = 0; i < n; i++) {
        out[i] = 10 * rank + i;
        in[i] = -1;
        MPI_Irecv(&in[i], 1, MPI_INT, left, i, comm, &receives[i]);
    }
    for (int i = 0; i < n; i++)
        MPI_Isend(&out[i], 1, MPI_INT, right, i, comm, &sends[i]);
    receives[n] = sends[n] = MPI_REQUEST_NULL;
}

static void end_exchange(int n, const int *in, const MPI_Request *receives, MPI_Request *sends)
{
    for (int i = 0; i < n; i++) {
        CHECK(in[i] == 10 * left + i);
        CHECK(receives[i] == MPI_REQUEST_NULL);
    }
    MPI_Waitall(n + 1, sends, MPI_STATUSES_IGNORE);
}

static void completion(void)
{
    enum { N = 5 };
    int out[N], in[N], indices[N + 1], index, flag, done, count;
    MPI_Request receives[N + 1], sends[N + 1];
    MPI_Status status, statuses[N + 1];

    for (int ignore = 0; ignore < 2; ignore++) {
        MPI_Status *one = ignore ? MPI_STATUS_IGNORE : &status;
        MPI_Status *all = ignore ? MPI_STATUSES_IGNORE : statuses;

        start_exchange(N, out, in, receives, sends);
        for (int i = 0; i <= N; i++)
            MPI_Wait(&receives[i], one);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (int i = 0; i <= N; i++)
            for (flag = 0; !flag;)
                MPI_Test(&receives[i], &flag, one);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (int i = 0; i < N; i++) {
            MPI_Waitany(N + 1, receives, &index, one);
            CHECK(index >= 0 && index < N);
            if (!ignore)
                check_status(&status, left, index, 1);
        }
        MPI_Waitany(N + 1, receives, &index, one);
        CHECK(index == MPI_UNDEFINED);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (done = 0; done < N;) {
            MPI_Testany(N + 1, receives, &index, &flag, one);
            done += flag && index != MPI_UNDEFINED;
        }
        MPI_Testany(N + 1, receives, &index, &flag, one);
        CHECK(flag && index == MPI_UNDEFINED);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (done = 0; done < N; done += count) {
            MPI_Waitsome(N + 1, receives, &count, indices, all);
            CHECK(count >= 1);
            for (int i = 0; i < count && !ignore; i++)
                check_status(&statuses[i], left, indices[i], 1);
        }
        MPI_Waitsome(N + 1, receives, &count, indices, all);
        CHECK(count == MPI_UNDEFINED);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (done = 0; done < N; done += count)
            MPI_Testsome(N + 1, receives, &count, indices, all);
        MPI_Testsome(N + 1, receives, &count, indices, all);
        CHECK(count == MPI_UNDEFINED);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (flag = 0; !flag;)
            MPI_Testall(N + 1, receives, &flag, all);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        MPI_Waitall(N + 1, receives, all);
        for (int i = 0; i < N && !ignore; i++)
            check_status(&statuses[i], left, i, 1);
        if (!ignore)
            check_status(&statuses[N], MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
        end_exchange(N, in, receives, sends);

        start_exchange(N, out, in, receives, sends);
        for (int i = 0; i < N; i++) {
            for (flag = 0; !flag;)
                MPI_Request_get_status(receives[i], &flag, one);
            CHECK(receives[i] != MPI_REQUEST_NULL);
        }
        MPI_Waitall(N, receives, all);
        end_exchange(N, in, receives, sends);

#ifdef HAVE_MPI_Request_get_status_all
        start_exchange(N, out, in, receives, sends);
        for (flag = 0; !flag;)
            MPI_Request_get_status_any(N + 1, receives, &index, &flag, one);
        CHECK(index >= 0 && index < N && receives[index] != MPI_REQUEST_NULL);
        for (count = 0; count < 1;)
            MPI_Request_get_status_some(N + 1, receives, &count, indices, all);
        for (flag = 0; !flag;)
            MPI_Request_get_status_all(N + 1, receives, &flag, all);
        CHECK(receives[0] != MPI_REQUEST_NULL);
        MPI_Waitall(N, receives, all);
        end_exchange(N, in, receives, sends);
#endif
    }

    /* Nothing to wait for. */
    receives[0] = receives[1] = MPI_REQUEST_NULL;
    MPI_Wait(&receives[0], &status);
    check_status(&status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0);
    MPI_Test(&receives[0], &flag, &status);
    CHECK(flag);
    MPI_Request_get_status(MPI_REQUEST_NULL, &flag, &status);
    CHECK(flag);
    MPI_Waitall(2, receives, MPI_STATUSES_IGNORE);
    MPI_Waitall(0, NULL, MPI_STATUSES_IGNORE);
    MPI_Testall(0, NULL, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
    MPI_Waitany(0, NULL, &index, MPI_STATUS_IGNORE);
    CHECK(index == MPI_UNDEFINED);
    MPI_Waitsome(0, NULL, &count, NULL, MPI_STATUSES_IGNORE);
    CHECK(count == MPI_UNDEFINED);
    passed("completion");
}

static void cancelling(void)
{
    int in, flag;
    MPI_Request request;
    MPI_Status status;
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 98, comm, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);

    MPI_Recv_init(&in, 1, MPI_INT, left, 99, comm, &request);
    MPI_Start(&request);
    MPI_Cancel(&request);
    for (flag = 0; !flag;)
        MPI_Test(&request, &flag, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(comm); /* no message before all have cancelled */
    MPI_Start(&request);
    MPI_Send(&rank, 1, MPI_INT, right, 99, comm);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag && in == left);
    MPI_Request_free(&request);
    passed("cancelling");
}

static void statuses(void)
{
    int out[4] = {0, 1, 2, 3}, in[4], count, flag;
    MPI_Count elements;
    MPI_Datatype pair;
    MPI_Status status;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);

    MPI_Sendrecv(out, 3, MPI_INT, right, 0, in, 2, pair, left, 0, comm, &status);
    MPI_Get_count(&status, pair, &count);
    CHECK(count == MPI_UNDEFINED);
    MPI_Get_elements(&status, pair, &count);
    CHECK(count == 3);
    MPI_Get_elements_x(&status, pair, &elements);
    CHECK(elements == 3);
    MPI_Sendrecv(out, 4, MPI_INT, right, 0, in, 2, pair, left, 0, comm, &status);
    MPI_Get_count(&status, pair, &count);
    CHECK(count == 2);

    MPI_Status_set_elements(&status, MPI_INT, 5);
    MPI_Get_elements(&status, pair, &count);
    CHECK(count == 5);
    MPI_Status_set_elements_x(&status, MPI_INT, 9);
    MPI_Get_elements_x(&status, MPI_INT, &elements);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK(elements == 9 && count == 9);
    MPI_Status_set_cancelled(&status, 1);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Status_set_cancelled(&status, 0);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
#ifdef HAVE_MPI_Status_get_source
    int source, tag, error;
    MPI_Status_set_source(&status, 17);
    MPI_Status_set_tag(&status, 18);
    MPI_Status_set_error(&status, MPI_ERR_TAG);
    MPI_Status_get_source(&status, &source);
    MPI_Status_get_tag(&status, &tag);
    MPI_Status_get_error(&status, &error);
    CHECK(source == 17 && tag == 18 && error == MPI_ERR_TAG);
#endif
    MPI_Type_free(&pair);
    passed("statuses");
}

/* Every call that takes a rank, with MPI_PROC_NULL. */
static void proc_null(void)
{
    int x = 42, flag;
    MPI_Request requests[10];
    MPI_Status status;
    MPI_Message message;
    MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Bsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Ssend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Rsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm);
    MPI_Recv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Isend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[0]);
    MPI_Ibsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[1]);
    MPI_Issend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[2]);
    MPI_Irsend(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[3]);
    MPI_Irecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[4]);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    MPI_Send_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[0]);
    MPI_Bsend_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[1]);
    MPI_Ssend_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[2]);
    MPI_Rsend_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[3]);
    MPI_Recv_init(&x, 1, MPI_INT, MPI_PROC_NULL, 0, comm, &requests[4]);
    MPI_Startall(5, requests);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 5; i++)
        MPI_Request_free(&requests[i]);
    MPI_Probe(MPI_PROC_NULL, 0, comm, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Iprobe(MPI_PROC_NULL, 0, comm, &flag, &status);
    CHECK(flag);
    MPI_Mprobe(MPI_PROC_NULL, 0, comm, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    MPI_Mrecv(&x, 1, MPI_INT, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
    MPI_Improbe(MPI_PROC_NULL, 0, comm, &flag, &message, &status);
    CHECK(flag && message == MPI_MESSAGE_NO_PROC);
    MPI_Imrecv(&x, 1, MPI_INT, &message, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Sendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &flag, 1, MPI_INT, MPI_PROC_NULL, 0, comm,
                 &status);
    MPI_Sendrecv_replace(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, comm, &status);
    check_status(&status, MPI_PROC_NULL, MPI_ANY_TAG, 0);
#if defined HAVE_MPI_Isendrecv && !HAVE_MPICH_4_0 /* which crashes */
    MPI_Isendrecv(&x, 1, MPI_INT, MPI_PROC_NULL, 0, &flag, 1, MPI_INT, MPI_PROC_NULL, 0, comm,
                  &requests[0]);
    MPI_Isendrecv_replace(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_PROC_NULL, 0, comm, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
#endif
    CHECK(x == 42);
    passed("MPI_PROC_NULL");
}

/* Rank 0 receives from whoever comes; the order is free, the set is not. */
static void wildcards(void)
{
    if (rank == 0) {
        long sources = 0, tags = 0, expected = 0;
        for (int i = 0; i < 3 * (size - 1); i++) {
            int x;
            MPI_Status status;
            MPI_Recv(&x, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
            CHECK(x == status.MPI_SOURCE * 1000 + status.MPI_TAG);
            sources += status.MPI_SOURCE;
            tags += status.MPI_TAG;
        }
        for (int i = 1; i < size; i++)
            expected += 3 * i;
        CHECK(sources == expected && tags == 6 * (size - 1));
    } else {
        for (int tag = 1; tag <= 3; tag++) {
            int x = rank * 1000 + tag;
            MPI_Send(&x, 1, MPI_INT, 0, tag, comm);
        }
    }
    passed("wildcards");
}

/* Types with holes, with an extent that is not the size, and with absolute addresses. */
static void datatypes(void)
{
    double matrix[8][8], column[8], first, second;
    char letters[12];
    MPI_Datatype strided, one_column, absolute;
    MPI_Status status;
    int count;
    for (int i = 0; i < 64; i++)
        matrix[i / 8][i % 8] = rank * 64 + i;

    /* Two neighbouring columns of the matrix, as two elements whose extent is one double. */
    MPI_Type_vector(8, 1, 8, MPI_DOUBLE, &strided);
    MPI_Type_create_resized(strided, 0, sizeof(double), &one_column);
    MPI_Type_commit(&one_column);
    double two_columns[16];
    MPI_Sendrecv(&matrix[0][3], 2, one_column, right, 0, two_columns, 16, MPI_DOUBLE, left, 0,
                 comm, &status);
    MPI_Get_count(&status, MPI_DOUBLE, &count);
    CHECK(count == 16);
    for (int i = 0; i < 16; i++)
        CHECK(two_columns[i] == left * 64 + i % 8 * 8 + 3 + i / 8);
    for (int i = 0; i < 8; i++)
        column[i] = 1000 * rank + i;
    MPI_Sendrecv(column, 8, MPI_DOUBLE, right, 0, &matrix[0][5], 1, one_column, left, 0, comm,
                 MPI_STATUS_IGNORE);
    for (int i = 0; i < 64; i++)
        CHECK(matrix[i / 8][i % 8] == (i % 8 == 5 ? 1000 * left + i / 8 : rank * 64 + i));

    /* Variables anywhere in memory, from MPI_BOTTOM. */
    int lengths[3] = {1, 1, 12};
    MPI_Aint places[3];
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_DOUBLE, MPI_CHAR};
    MPI_Get_address(&first, &places[0]);
    MPI_Get_address(&second, &places[1]);
    MPI_Get_address(letters, &places[2]);
    MPI_Type_create_struct(3, lengths, places, types, &absolute);
    MPI_Type_commit(&absolute);
    first = rank + 0.5;
    second = -rank;
    memcpy(letters, "abcdefghijk", 12);
    letters[0] = (char)('A' + rank % 26);
    MPI_Sendrecv_replace(MPI_BOTTOM, 1, absolute, right, 1, left, 1, comm, MPI_STATUS_IGNORE);
    CHECK(first == left + 0.5 && second == -left);
    CHECK(letters[0] == 'A' + left % 26 && strcmp(letters + 1, "bcdefghijk") == 0);
    MPI_Request request;
    MPI_Irecv(MPI_BOTTOM, 1, absolute, right, 2, comm, &request);
    double data[2] = {left + 0.5, -left};
    char packed[64];
    int position = 0;
    MPI_Pack(data, 2, MPI_DOUBLE, packed, sizeof packed, &position, comm);
    MPI_Pack("ABCDEFGHIJK", 12, MPI_CHAR, packed, sizeof packed, &position, comm);
    MPI_Send(packed, position, MPI_PACKED, left, 2, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(first == rank + 0.5 && strcmp(letters, "ABCDEFGHIJK") == 0);

    MPI_Type_free(&strided);
    MPI_Type_free(&one_column);
    MPI_Type_free(&absolute);
    passed("datatypes");
}

/* The class of an error code. */
static int class_of(int code)
{
    int class;
    MPI_Error_class(code, &class);
    return class;
}

static void truncation(void)
{
    int out[SMALL] = {0}, in[SMALL];
    MPI_Request requests[3];
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Isend(out, SMALL, MPI_INT, right, 0, comm, &requests[0]);
    CHECK(class_of(MPI_Recv(in, 1, MPI_INT, left, 0, comm, &statuses[0])) == MPI_ERR_TRUNCATE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);

    MPI_Irecv(in, 1, MPI_INT, left, 0, comm, &requests[0]);
    MPI_Irecv(in + 8, 8, MPI_INT, left, 1, comm, &requests[1]);
    MPI_Barrier(comm);
    MPI_Send(out, 8, MPI_INT, right, 1, comm);
    MPI_Isend(out, SMALL, MPI_INT, right, 0, comm, &requests[2]);
    MPI_Barrier(comm);
    CHECK(class_of(MPI_Waitall(2, requests, statuses)) == MPI_ERR_IN_STATUS);
    CHECK(class_of(statuses[0].MPI_ERROR) == MPI_ERR_TRUNCATE);
    if (statuses[1].MPI_ERROR == MPI_ERR_PENDING)
        MPI_Wait(&requests[1], &statuses[1]);
    else
        CHECK(statuses[1].MPI_ERROR == MPI_SUCCESS);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
    passed("truncation");
}

#ifdef HAVE_MPI_Buffer_flush
static void bsend_ring(MPI_Comm ring)
{
    int here, ranks, in[SMALL], out[SMALL];
    MPI_Comm_rank(ring, &here);
    MPI_Comm_size(ring, &ranks);
    fill(out, SMALL, here);
    MPI_Bsend(out, SMALL, MPI_INT, (here + 1) % ranks, 3, ring);
    MPI_Recv(in, SMALL, MPI_INT, (here + ranks - 1) % ranks, 3, ring, MPI_STATUS_IGNORE);
    CHECK(filled(in, SMALL, (here + ranks - 1) % ranks));
}

/* The buffers of MPI-4.1: of the process, of a communicator, of a session. */
static void buffers(void)
{
    enum { ROOM = 4096 + MPI_BSEND_OVERHEAD };
    char *own = malloc(ROOM);
    void *detached;
    int bytes;
    MPI_Request request;

    MPI_Buffer_attach(own, ROOM);
    bsend_ring(comm);
    MPI_Buffer_flush();
    MPI_Buffer_iflush(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == own && bytes == ROOM);
    MPI_Buffer_attach(MPI_BUFFER_AUTOMATIC, 0);
    bsend_ring(comm);
    MPI_Buffer_detach(&detached, &bytes);
    CHECK(detached == MPI_BUFFER_AUTOMATIC && bytes == 0);

    MPI_Comm duplicate;
    MPI_Comm_dup(comm, &duplicate);
    MPI_Comm_attach_buffer(duplicate, own, ROOM);
    bsend_ring(duplicate);
    MPI_Comm_flush_buffer(duplicate);
    MPI_Comm_iflush_buffer(duplicate, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_detach_buffer(duplicate, &detached, &bytes);
    CHECK(detached == own && bytes == ROOM);
    MPI_Comm_free(&duplicate);

    MPI_Session session;
    MPI_Group group;
    MPI_Comm of_session;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "p2p", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &of_session);
    MPI_Session_attach_buffer(session, own, ROOM);
    bsend_ring(of_session);
    MPI_Session_flush_buffer(session);
    MPI_Session_iflush_buffer(session, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Session_detach_buffer(session, &detached, &bytes);
    CHECK(detached == own && bytes == ROOM);
    MPI_Comm_free(&of_session);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
    free(own);
}
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    blocking();
    nonblocking();
    probes();
    combined();
    completion();
    cancelling();
    statuses();
    proc_null();
    wildcards();
    datatypes();
    truncation();
#ifdef HAVE_MPI_Buffer_flush
    buffers();
    passed("buffers");
#endif
    MPI_Finalize();
    return 0;
}
