/* What collective operations move: each one, blocking, nonblocking and persistent, on the world, on
 * parts of it whose ranks are others, and between groups. Needs 2 ranks or more, at most 8. */
#include "moved.h"

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { MAX = 8 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

#define C "collective"

/* Arguments that nobody may look at; volatile, for the compiler looks as well. */
static void *volatile garbage = (void *)8;
#define NO_COUNT (-77)
#define NO_TYPE MPI_DATATYPE_NULL
#define NO_TYPES ((const MPI_Datatype *)garbage)

/* MPICH before 4.2 waits for ever for a collective request that was never started. */
#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40200000
#define WAITS_FOR_EVER 1
#else
#define WAITS_FOR_EVER 0
#endif

/* Before and after, the request is not active: waiting for it moves nothing. */
#define START_AND_WAIT(request)                                                                   \
    do {                                                                                          \
        MPI_Status status_;                                                                       \
        if (!WAITS_FOR_EVER)                                                                      \
            MPI_Wait(&request, &status_);                                                         \
        MPI_Start(&request);                                                                      \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                    \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                    \
        MPI_Request_free(&request);                                                               \
    } while (0)

#ifdef HAVE_MPI_Bcast_init
#define PERSISTENT_CASE(...)                                                                      \
    case PERSISTENT:                                                                              \
        __VA_ARGS__;                                                                              \
        START_AND_WAIT(request_);                                                                 \
        break;
#else
#define PERSISTENT_CASE(...)
#endif

#define ANY_CALL(form, Blocking, Nonblocking, Persistent, ...)                                    \
    do {                                                                                          \
        MPI_Request request_;                                                                     \
        switch (form) {                                                                           \
        case BLOCKING:                                                                            \
            Blocking(__VA_ARGS__);                                                                \
            break;                                                                                \
        case NONBLOCKING:                                                                         \
            Nonblocking(__VA_ARGS__, &request_);                                                  \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                                               \
            break;                                                                                \
        PERSISTENT_CASE(Persistent(__VA_ARGS__, MPI_INFO_NULL, &request_))                        \
        }                                                                                         \
    } while (0)

#define NAME(name) name##_int
#define CALL(form, Name, name, ...)                                                               \
    ANY_CALL(form, MPI_##Name, MPI_I##name, MPI_##Name##_init, __VA_ARGS__)
#define COUNT int
#define PLACE int
#define NO_COUNTS ((const int *)garbage)
#define NO_PLACES ((const int *)garbage)
#include "bandwidth_collectives_forms.h"

#ifdef HAVE_MPI_Bcast_c
#define NAME(name) name##_large
#define CALL(form, Name, name, ...)                                                               \
    ANY_CALL(form, MPI_##Name##_c, MPI_I##name##_c, MPI_##Name##_init_c, __VA_ARGS__)
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define NO_COUNTS ((const MPI_Count *)garbage)
#define NO_PLACES ((const MPI_Aint *)garbage)
#include "bandwidth_collectives_forms.h"
#endif

static void one_group(MPI_Comm comm, int form)
{
    one_group_int(comm, form);
#ifdef HAVE_MPI_Bcast_c
    one_group_large(comm, form);
#endif
}

static void two_groups(MPI_Comm inter, int first, int form)
{
    two_groups_int(inter, first, form);
#ifdef HAVE_MPI_Bcast_c
    two_groups_large(inter, first, form);
#endif
}

/* Several at once: of one process, all of them may be complete from the start. */
static void at_once(MPI_Comm comm)
{
    int size, x[3] = {0}, sums[3], all[3 * MAX], rank;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    MPI_Request requests[4];
    for (int way = 0; way < 3; way++) {
        MPI_Ibcast(x, 3, MPI_INT, 0, comm, &requests[0]);
        MPI_Iallreduce(&rank, &sums[0], 1, MPI_INT, MPI_SUM, comm, &requests[1]);
        MPI_Iallreduce(&rank, &sums[1], 1, MPI_INT, MPI_MAX, comm, &requests[2]);
        MPI_Iallgather(x + 1, 2, MPI_INT, all, 2, MPI_INT, comm, &requests[3]);
        if (way == 0)
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        else if (way == 1)
            for (int i = 3; i >= 0; i--)
                MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        else
            for (int i = 0, index; i < 4; i++)
                MPI_Waitany(4, requests, &index, MPI_STATUS_IGNORE);
        moved(rank == 0 ? SENT : RECEIVED, C, "MPI_INT", 3);
        moved(REDUCED, C, "MPI_INT", 2);
        moved(RECEIVED, C, "MPI_INT", 2);
        moved(SENT, C, "MPI_INT", 2);
        moved(RECEIVED, C, "MPI_INT", 2 * size);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(size >= 2 && size <= MAX);
    MPI_Comm reversed, half, inter;
    MPI_Comm_split(world, 0, -rank, &reversed);
    const int first = rank < (size + 1) / 2;
    MPI_Comm_split(world, first, -rank, &half);
    MPI_Intercomm_create(half, 0, world, first ? size - 1 : (size + 1) / 2 - 1, 7, &inter);
    for (int form = 0; form < FORMS; form++) {
#ifndef HAVE_MPI_Bcast_init
        if (form == PERSISTENT)
            continue;
#endif
        one_group(world, form);
        one_group(reversed, form);
        one_group(half, form);
        two_groups(inter, first, form);
    }
    at_once(world);
    at_once(reversed);
    at_once(MPI_COMM_SELF);
    /* Not counted: no data, or nobody else's. */
    int x = 1, y = 2;
    MPI_Barrier(world);
    MPI_Reduce_local(&x, &y, 1, MPI_INT, MPI_SUM);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
