/* Messages between processes in all ways, of sizes that tell them apart. What a matrix must say is printed by the
 * process that sends: "from SOURCE to DESTINATION FUNCTION MESSAGES BYTES" with ranks of the world, and by the one that
 * receives: "at DESTINATION from SOURCE FUNCTION MESSAGES BYTES". Four ranks; each expectation is by hand. */
#include "expect.h"

/* MPI_UNWEIGHTED is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

enum { THREADS = 8, ROUNDS = 50 };

static int rank, size;
static char data[4096], room[4096];

static void sent(int from, int to, const char *function, int messages, int bytes)
{
    printf("from %d to %d %s %d %d\n", from, to, function, messages, bytes);
}

static void received(int at, int from, const char *function, int messages, int bytes)
{
    printf("at %d from %d %s %d %d\n", at, from, function, messages, bytes);
}

/* Rank r sends r + 1 bytes to the next one in a ring, and receives from the one before. */
static void world(void)
{
    int next = (rank + 1) % 4, before = (rank + 3) % 4;
    MPI_Request request;
    MPI_Irecv(room, 100, MPI_CHAR, before, 1, MPI_COMM_WORLD, &request);
    MPI_Send(data, rank + 1, MPI_CHAR, next, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sent(rank, next, "MPI_Send", 1, rank + 1);
    received(rank, before, "MPI_Irecv", 1, before + 1);
    /* To nobody, and nothing. */
    MPI_Send(data, 50, MPI_CHAR, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Sendrecv(data, 0, MPI_CHAR, next, 2, room, 100, MPI_CHAR, before, 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    sent(rank, next, "MPI_Sendrecv", 1, 0);
    received(rank, before, "MPI_Sendrecv", 1, 0);
    /* In one direction only. */
    MPI_Sendrecv_replace(data, 3, MPI_INT, rank == 0 ? 2 : MPI_PROC_NULL, 3,
                         rank == 2 ? 0 : MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        sent(0, 2, "MPI_Sendrecv_replace", 1, 12);
    if (rank == 2)
        received(2, 0, "MPI_Sendrecv_replace", 1, 12);
    /* A receive that is cancelled is no message. */
    MPI_Irecv(room, 100, MPI_CHAR, before, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

/* Odd and even ranks, each in reversed order: rank 0 of the even ones is rank 2 of the world. */
static void reversed(void)
{
    MPI_Comm half;
    int here, peer = (rank + 2) % 4;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_rank(half, &here);
    CHECK(here == (rank < 2));
    if (here == 0) {
        MPI_Ssend(data, 20, MPI_INT, 1, 0, half);
        sent(rank, peer, "MPI_Ssend", 1, 80);
    } else {
        /* Less than there is room for. */
        MPI_Request request;
        MPI_Irecv(room, 1000, MPI_INT, MPI_ANY_SOURCE, 0, half, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        received(rank, peer, "MPI_Irecv", 1, 80);
    }
    /* A receive that outlives its communicator. */
    MPI_Request request;
    MPI_Irecv(room, 1000, MPI_CHAR, here ? 0 : MPI_ANY_SOURCE, 5, half, &request);
    MPI_Request answer;
    MPI_Isend(data, 7, MPI_CHAR, 1 - here, 5, half, &answer);
    sent(rank, peer, "MPI_Isend", 1, 7);
    MPI_Comm_free(&half);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Wait(&answer, MPI_STATUS_IGNORE);
    received(rank, peer, "MPI_Irecv", 1, 7);
}

/* Low ranks and high ones, high ones in reversed order: remote rank 0 of the low ones is rank 3. */
static void between(void)
{
    MPI_Comm half, inter;
    int high = rank / 2, peer, here;
    MPI_Comm_split(MPI_COMM_WORLD, high, high ? -rank : rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, high ? 0 : 3, 9, &inter);
    MPI_Comm_rank(half, &here);
    peer = high ? here : 3 - here;
    /* Each with the remote process of its own rank: 0 with 3, 1 with 2. */
    CHECK(peer == 3 - rank);
    if (high) {
        MPI_Send(data, 200 + rank, MPI_CHAR, here, 0, inter);
        sent(rank, peer, "MPI_Send", 1, 200 + rank);
    } else {
        MPI_Recv(room, 1000, MPI_CHAR, MPI_ANY_SOURCE, 0, inter, MPI_STATUS_IGNORE);
        received(rank, peer, "MPI_Recv", 1, 200 + peer);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* From anybody: all send to rank 0. */
static void any_source(void)
{
    if (rank > 0) {
        for (int tag = 0; tag < 4; tag++)
            MPI_Send(data, 10 * rank + tag, MPI_CHAR, 0, 20 + tag, MPI_COMM_WORLD);
        sent(rank, 0, "MPI_Send", 4, 40 * rank + 6);
        return;
    }
    for (int i = 0; i < 3; i++) {
        MPI_Request request, requests[1];
        MPI_Message message;
        MPI_Status status;
        int flag = 0, index, done = 0;
        MPI_Recv(room, 100, MPI_CHAR, MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Irecv(room, 100, MPI_CHAR, MPI_ANY_SOURCE, 21, MPI_COMM_WORLD, &requests[0]);
        MPI_Waitany(1, requests, &index, MPI_STATUS_IGNORE);
        MPI_Mprobe(MPI_ANY_SOURCE, 22, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(room, 100, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, 23, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(room, 100, MPI_CHAR, &message, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    for (int from = 1; from < 4; from++) {
        received(0, from, "MPI_Recv", 1, 10 * from);
        received(0, from, "MPI_Irecv", 1, 10 * from + 1);
        received(0, from, "MPI_Mrecv", 1, 10 * from + 2);
        received(0, from, "MPI_Imrecv", 1, 10 * from + 3);
    }
}

/* A message that is matched in a communicator with other ranks than the world. */
static void matched(void)
{
    MPI_Comm all;
    MPI_Message message;
    MPI_Status status;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &all);
    if (rank == 1) {
        MPI_Send(data, 33, MPI_CHAR, 0, 4, all);
        sent(1, 3, "MPI_Send", 1, 33);
    } else if (rank == 3) {
        MPI_Mprobe(MPI_ANY_SOURCE, 4, all, &message, &status);
        MPI_Comm_free(&all);
        MPI_Mrecv(room, 100, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        received(3, 1, "MPI_Mrecv", 1, 33);
        MPI_Mprobe(MPI_PROC_NULL, 4, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(room, 100, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
    if (rank != 3)
        MPI_Comm_free(&all);
}

/* Three times the same, to the other one of a pair; and what is never started. */
static void persistent(void)
{
    MPI_Request requests[3];
    int peer = rank ^ 1;
    MPI_Send_init(data, 30, MPI_CHAR, peer, 6, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(room, 100, MPI_CHAR, rank < 2 ? peer : MPI_ANY_SOURCE, 6, MPI_COMM_WORLD,
                  &requests[1]);
    MPI_Send_init(data, 30, MPI_CHAR, 0, 6, MPI_COMM_WORLD, &requests[2]);
    for (int i = 0; i < 3; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
    sent(rank, peer, "MPI_Send_init", 3, 90);
    received(rank, peer, "MPI_Recv_init", 3, 90);
}

/* A grid of 2 by 2 with borders: of the four blocks two go to neighbours. */
static void grid(void)
{
    MPI_Comm comm;
    int sides[2] = {2, 2}, periods[2] = {0, 0}, x = rank % 2, y = rank / 2;
    int other_row = rank + (y ? -2 : 2), other_column = rank + (x ? -1 : 1);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &comm);
    MPI_Neighbor_alltoall(data, 5, MPI_INT, room, 5, MPI_INT, comm);
    sent(rank, other_row, "MPI_Neighbor_alltoall", 1, 20);
    sent(rank, other_column, "MPI_Neighbor_alltoall", 1, 20);
    received(rank, other_row, "MPI_Neighbor_alltoall", 1, 20);
    received(rank, other_column, "MPI_Neighbor_alltoall", 1, 20);
    MPI_Neighbor_allgather(data, 6, MPI_CHAR, room, 6, MPI_CHAR, comm);
    /* What goes to all neighbours alike counts once. */
    sent(rank, -1, "MPI_Neighbor_allgather", 1, 6);
    received(rank, other_row, "MPI_Neighbor_allgather", 1, 6);
    received(rank, other_column, "MPI_Neighbor_allgather", 1, 6);
    MPI_Comm_free(&comm);
}

/* A directed ring of reversed ranks, to the next but one too, with blocks of two sizes. */
static void graph(void)
{
    MPI_Comm all, comm;
    MPI_Request request;
    int here = 3 - rank;
    int sources[2] = {(here + 3) % 4, (here + 2) % 4}, next[2] = {(here + 1) % 4, (here + 2) % 4};
    int counts[2] = {8, 9}, places[2] = {0, 100};
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &all);
    MPI_Dist_graph_create_adjacent(all, 2, sources, MPI_UNWEIGHTED, 2, next, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    MPI_Ineighbor_alltoallv(data, counts, places, MPI_CHAR, room, counts, places, MPI_CHAR, comm,
                            &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++) {
        sent(rank, 3 - next[i], "MPI_Ineighbor_alltoallv", 1, counts[i]);
        received(rank, 3 - sources[i], "MPI_Ineighbor_alltoallv", 1, counts[i]);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_free(&all);
    /* A graph that each process knows whole: a line. */
    int index[4] = {1, 3, 5, 6}, edges[6] = {1, 0, 2, 1, 3, 2};
    MPI_Graph_create(MPI_COMM_WORLD, 4, index, edges, 0, &comm);
    MPI_Neighbor_alltoall(data, 2, MPI_CHAR, room, 2, MPI_CHAR, comm);
    for (int i = rank ? index[rank - 1] : 0; i < index[rank]; i++) {
        sent(rank, edges[i], "MPI_Neighbor_alltoall", 1, 2);
        received(rank, edges[i], "MPI_Neighbor_alltoall", 1, 2);
    }
    MPI_Comm_free(&comm);
}

/* Puts and gets, in windows of the world and of reversed ranks. */
static void windows(void)
{
    static int memory[100];
    MPI_Comm all;
    MPI_Win win;
    int here = 3 - rank, next = (rank + 1) % 4, below = (rank + 3) % 4;
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Put(data, 4, MPI_INT, next, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    sent(rank, next, "MPI_Put", 1, 16);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &all);
    MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, all, &win);
    MPI_Comm_free(&all);
    MPI_Win_fence(0, win);
    MPI_Get(room, 5, MPI_INT, (here + 1) % 4, 0, 5, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(data, 6, MPI_INT, (here + 1) % 4, 0, 6, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
    received(rank, below, "MPI_Get", 1, 20);
    sent(rank, below, "MPI_Accumulate", 1, 24);
}

/* Of collective operations nobody says who gets what. */
static void collective(void)
{
    int one = 1, sum;
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    sent(rank, -1, "MPI_Allreduce", 1, 4);
    received(rank, -1, "MPI_Allreduce", 1, 4);
    MPI_Bcast(data, 40, MPI_CHAR, 2, MPI_COMM_WORLD);
    if (rank == 2)
        sent(rank, -1, "MPI_Bcast", 1, 40);
    else
        received(rank, -1, "MPI_Bcast", 1, 40);
}

static void *talk(void *number)
{
    int thread = *(int *)number, peer = rank ^ 2, got;
    for (int round = 0; round < ROUNDS; round++) {
        MPI_Request requests[2];
        MPI_Irecv(&got, 1, MPI_INT, peer, 100 + thread, MPI_COMM_WORLD, &requests[0]);
        MPI_Issend(&round, 1, MPI_INT, peer, 100 + thread, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    return NULL;
}

static void threads(int level)
{
    int number = level == MPI_THREAD_MULTIPLE ? THREADS : 0, peer = rank ^ 2;
    pthread_t all[THREADS];
    int numbers[THREADS];
    for (int i = 0; i < number; i++) {
        numbers[i] = i;
        pthread_create(&all[i], NULL, talk, &numbers[i]);
    }
    for (int i = 0; i < number; i++)
        pthread_join(all[i], NULL);
    if (number) {
        sent(rank, peer, "MPI_Issend", THREADS * ROUNDS, 4 * THREADS * ROUNDS);
        received(rank, peer, "MPI_Irecv", THREADS * ROUNDS, 4 * THREADS * ROUNDS);
    }
}

int main(int argc, char **argv)
{
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 4);
    world();
    reversed();
    between();
    any_source();
    matched();
    persistent();
    grid();
    graph();
    windows();
    collective();
    threads(level);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
