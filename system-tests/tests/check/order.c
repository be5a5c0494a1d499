/* What mpi-strict and mpi-perturb change, and what they must not: `./order NAME`. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, size;

/* Both send first. It works as long as MPI takes the messages before anybody receives them. */
static void buffered(void)
{
    int sent = rank, got = -1, other = size - 1 - rank;
    alarm(4);
    MPI_Send(&sent, 1, MPI_INT, other, 3, MPI_COMM_WORLD); /* LEANS */
    MPI_Recv(&got, 1, MPI_INT, other, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("%d got %d\n", rank, got);
}

/* The root leaves a broadcast early, and sends what the other rank wants before it comes to the broadcast. */
static void early(void)
{
    int value = rank, got = -1;
    alarm(4);
    if (rank == 0) {
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD); /* EARLY */
        MPI_Send(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&got, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    printf("%d has %d\n", rank, value);
}

/* Sends of all kinds and collective operations, on communicators of several kinds: nothing depends on the order. */
static void right(void)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size, values[64], all[64], sum = 0;
    MPI_Comm half, duplicate, between;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, 0, &half);
    MPI_Comm_dup(half, &duplicate);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &between);
    for (int round = 0; round < 20; round++) {
        values[0] = 100 * round + rank;
        MPI_Irecv(all, 1, MPI_INT, before, round, MPI_COMM_WORLD, requests);
        if (round % 2)
            MPI_Send(values, 1, MPI_INT, next, round, MPI_COMM_WORLD), requests[1] = MPI_REQUEST_NULL;
        else
            MPI_Isend(values, 1, MPI_INT, next, round, MPI_COMM_WORLD, requests + 1);
        MPI_Waitall(2, requests, statuses);
        MPI_Allreduce(all, values, 1, MPI_INT, MPI_SUM, duplicate);
        MPI_Bcast(values, 1, MPI_INT, 0, half);
        MPI_Allgather(values, 1, MPI_INT, all, 1, MPI_INT, between);
        MPI_Gather(values, 1, MPI_INT, all, 1, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Bcast(all, size, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; i < size; i++) sum = sum * 31 + all[i];
    }
    MPI_Send_init(values, 1, MPI_INT, next, 77, MPI_COMM_WORLD, requests);
    MPI_Recv_init(all, 1, MPI_INT, MPI_ANY_SOURCE, 77, MPI_COMM_WORLD, requests + 1);
    for (int round = 0; round < 3; round++) {
        values[0] = 7 * rank + round;
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, statuses);
        sum = sum * 31 + all[0];
    }
    MPI_Request_free(requests);
    MPI_Request_free(requests + 1);
    /* From anybody, in any order: the sum is the same. */
    for (int i = 0; rank == 0 && i < 2 * (size - 1); i++) {
        MPI_Status status;
        MPI_Recv(values, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        /* The two messages of a rank come in their order. */
        static int seen[64];
        if (values[0] != status.MPI_SOURCE * 10 + seen[status.MPI_SOURCE]++) printf("wrong order\n");
        sum += values[0];
    }
    for (int i = 0; rank != 0 && i < 2; i++) {
        int value = rank * 10 + i;
        MPI_Send(&value, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&duplicate);
    MPI_Comm_free(&half);
    printf("%d: %d\n", rank, sum);
}

/* Who is first? All messages are there when rank 0 looks, and have come in the order of the ranks. */
static void race(void)
{
    char order[64] = "";
    int who;
    if (rank != 0) {
        MPI_Recv(&who, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&rank, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Send(&rank, 1, MPI_INT, 0, 6, MPI_COMM_WORLD);
    }
    for (int from = 1; rank == 0 && from < size; from++) {
        MPI_Send(&from, 1, MPI_INT, from, 4, MPI_COMM_WORLD);
        MPI_Recv(&who, 1, MPI_INT, from, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Recv(&who, 1, MPI_INT, MPI_ANY_SOURCE, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* RACE */
        sprintf(order + strlen(order), " %d", who);
    }
    if (rank == 0) printf("order%s\n", order);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(name, "buffered")) buffered();
    if (!strcmp(name, "early")) early();
    if (!strcmp(name, "right")) right();
    if (!strcmp(name, "race")) race();
    MPI_Finalize();
    return 0;
}
