/* Loops over calls of MPI by one process, whose instructions callgrind counts: one loop with each name that follows, or all
   loops. What it counts is what is between begin() and the end of a loop. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/callgrind.h>

#define WARM 300
static int rounds;
static MPI_Comm world, other, turns[2];
static char out[64], in[64], later[64];
/* A receive whose message comes last. */
static MPI_Request pending;

/* The file of the counts has the loop's name behind its counts. */
static __attribute__((noinline)) void end(const char *name)
{
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_DUMP_STATS_AT(name);
}

/* A body is called in a loop to warm up, and then in one that is counted: the same calls, from the same places. */
#define LOOP(name, ...)                                                                                                         \
    static __attribute__((noinline)) void name(int argc, char **argv)                                                           \
    {                                                                                                                           \
        int is_wanted = argc < 3;                                                                                               \
        for (int i = 2; i < argc; i++) is_wanted |= !strcmp(argv[i], #name);                                                    \
        if (!is_wanted) return;                                                                                                 \
        for (int i = -WARM; i < rounds; i++) {                                                                                  \
            if (i == 0) CALLGRIND_TOGGLE_COLLECT;                                                                               \
            __VA_ARGS__                                                                                                             \
        }                                                                                                                       \
        end(#name);                                                                                                             \
    }

LOOP(wtime, MPI_Wtime();)
LOOP(comm_rank, { int rank; MPI_Comm_rank(world, &rank); })
LOOP(type_size, { int size; MPI_Type_size(MPI_INT, &size); })
LOOP(send_to_nobody, MPI_Send(out, 8, MPI_CHAR, MPI_PROC_NULL, 0, world);)
LOOP(recv_from_nobody, MPI_Recv(in, 8, MPI_CHAR, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);)
LOOP(sendrecv_with_nobody,
     MPI_Sendrecv(out, 8, MPI_CHAR, MPI_PROC_NULL, 0, in, 8, MPI_CHAR, MPI_PROC_NULL, 0, world, MPI_STATUS_IGNORE);)
LOOP(iprobe, { int flag; MPI_Iprobe(0, 7, world, &flag, MPI_STATUS_IGNORE); })
LOOP(sendrecv_to_itself, MPI_Sendrecv(out, 8, MPI_CHAR, 0, 0, in, 8, MPI_CHAR, 0, 0, world, MPI_STATUS_IGNORE);)
LOOP(irecv_send_wait, {
    MPI_Request request;
    MPI_Irecv(in, 8, MPI_CHAR, 0, 0, world, &request);
    MPI_Send(out, 8, MPI_CHAR, 0, 0, world);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
})
LOOP(irecv_isend_waitall, {
    MPI_Request requests[2];
    MPI_Irecv(in, 8, MPI_CHAR, 0, 0, world, &requests[0]);
    MPI_Isend(out, 8, MPI_CHAR, 0, 0, world, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
})
LOOP(irecv_isend_two_waits, {
    MPI_Request requests[2];
    MPI_Irecv(in, 8, MPI_CHAR, 0, 0, world, &requests[0]);
    MPI_Isend(out, 8, MPI_CHAR, 0, 0, world, &requests[1]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
})
LOOP(isend_wait_to_nobody, {
    MPI_Request request;
    MPI_Isend(out, 8, MPI_CHAR, MPI_PROC_NULL, 0, world, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
})
LOOP(four_sends_in_turn, MPI_Send(out, 8, MPI_CHAR, MPI_PROC_NULL, i & 3, world);)
LOOP(test, { int flag; MPI_Test(&pending, &flag, MPI_STATUS_IGNORE); })
LOOP(barrier, MPI_Barrier(world);)
LOOP(barrier_of_two_in_turn, MPI_Barrier(turns[i & 1]);)
LOOP(bcast, MPI_Bcast(out, 8, MPI_CHAR, 0, world);)
LOOP(allreduce, { int value = 1, sum; MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, world); })
LOOP(reduce, { int value = 1, sum; MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, world); })
LOOP(gather, { int value = 1, all; MPI_Gather(&value, 1, MPI_INT, &all, 1, MPI_INT, 0, world); })

int main(int argc, char **argv)
{
    rounds = atoi(argv[1]);
    MPI_Init(NULL, NULL);
    world = MPI_COMM_WORLD;
    MPI_Comm_dup(world, &other);
    turns[0] = world;
    turns[1] = other;
    wtime(argc, argv);
    comm_rank(argc, argv);
    type_size(argc, argv);
    send_to_nobody(argc, argv);
    recv_from_nobody(argc, argv);
    sendrecv_with_nobody(argc, argv);
    iprobe(argc, argv);
    sendrecv_to_itself(argc, argv);
    irecv_send_wait(argc, argv);
    irecv_isend_waitall(argc, argv);
    irecv_isend_two_waits(argc, argv);
    isend_wait_to_nobody(argc, argv);
    four_sends_in_turn(argc, argv);
    MPI_Irecv(later, 8, MPI_CHAR, 0, 9, world, &pending);
    test(argc, argv);
    MPI_Send(out, 8, MPI_CHAR, 0, 9, world);
    MPI_Wait(&pending, MPI_STATUS_IGNORE);
    barrier(argc, argv);
    barrier_of_two_in_turn(argc, argv);
    bcast(argc, argv);
    allreduce(argc, argv);
    reduce(argc, argv);
    gather(argc, argv);
    MPI_Comm_free(&other);
    MPI_Finalize();
    puts("over");
    return 0;
}
