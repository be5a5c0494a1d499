/* What neighbourhood collectives move: on a line, which has ends, on a graph, and on a distributed
 * graph whose processes have other numbers of sources than of destinations. Needs 3 ranks or more,
 * at most 8. */
#include "moved.h"

/* MPI_UNWEIGHTED is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

enum { MAX = 16 };
enum { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

#define N "neighborhood"

#ifdef HAVE_MPI_Neighbor_allgather_init
#define PERSISTENT_CASE(...)                                                                      \
    case PERSISTENT:                                                                              \
        __VA_ARGS__;                                                                              \
        MPI_Start(&request_);                                                                     \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);                                                   \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);                                                   \
        MPI_Request_free(&request_);                                                              \
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

/* Ints in blocks of two, or of as many as the receiver's rank and one more. There are `in` places for
 * sources and `out` for destinations; a rank of -1 is nobody. */
#define EXCHANGE(name, CALL, COUNT, PLACE)                                                        \
    static void name(MPI_Comm comm, int form, int in, const int *from, int out, const int *to)    \
    {                                                                                             \
        int given[MAX * MAX] = {0}, got[MAX * MAX], rank, sources = 0, destinations = 0;          \
        int sends = 0, receives = 0;                                                              \
        COUNT out_counts[MAX], in_counts[MAX];                                                    \
        PLACE out_places[MAX], in_places[MAX];                                                    \
        MPI_Aint out_bytes[MAX], in_bytes[MAX];                                                   \
        MPI_Datatype types[MAX];                                                                  \
        MPI_Comm_rank(comm, &rank);                                                               \
        for (int i = 0; i < MAX; i++) {                                                           \
            types[i] = MPI_INT;                                                                   \
            out_counts[i] = in_counts[i] = 0;                                                     \
            out_places[i] = in_places[i] = i * MAX;                                               \
            out_bytes[i] = in_bytes[i] = i * MAX * (MPI_Aint)sizeof(int);                         \
        }                                                                                         \
        for (int i = 0; i < in; i++) {                                                            \
            /* Nobody's place has a count, too. */                                                \
            in_counts[i] = rank + 1;                                                              \
            sources += from[i] >= 0;                                                              \
            receives += from[i] >= 0 ? rank + 1 : 0;                                              \
        }                                                                                         \
        for (int i = 0; i < out; i++) {                                                           \
            out_counts[i] = to[i] >= 0 ? to[i] + 1 : 5;                                           \
            destinations += to[i] >= 0;                                                           \
            sends += to[i] >= 0 ? to[i] + 1 : 0;                                                  \
        }                                                                                         \
        CALL(form, allgather, given, 2, MPI_INT, got, 2, MPI_INT, comm);                          \
        moved(SENT, N, "MPI_INT", destinations > 0 ? 2 : 0);                                      \
        moved(RECEIVED, N, "MPI_INT", 2 * sources);                                               \
        CALL(form, alltoall, given, 3, MPI_INT, got, 3, MPI_INT, comm);                           \
        moved(SENT, N, "MPI_INT", 3 * destinations);                                              \
        moved(RECEIVED, N, "MPI_INT", 3 * sources);                                               \
        CALL(form, alltoallv, given, out_counts, out_places, MPI_INT, got, in_counts, in_places,  \
             MPI_INT, comm);                                                                      \
        CALL(form, alltoallw, given, out_counts, out_bytes, types, got, in_counts, in_bytes,      \
             types, comm);                                                                        \
        moved(SENT, N, "MPI_INT", 2 * sends);                                                     \
        moved(RECEIVED, N, "MPI_INT", 2 * receives);                                              \
        /* From rank i, i + 1 elements. */                                                        \
        receives = 0;                                                                             \
        for (int i = 0; i < in; i++) {                                                            \
            in_counts[i] = from[i] >= 0 ? from[i] + 1 : 7;                                        \
            receives += from[i] >= 0 ? from[i] + 1 : 0;                                           \
        }                                                                                         \
        CALL(form, allgatherv, given, rank + 1, MPI_INT, got, in_counts, in_places, MPI_INT,      \
             comm);                                                                               \
        moved(SENT, N, "MPI_INT", destinations > 0 ? rank + 1 : 0);                               \
        moved(RECEIVED, N, "MPI_INT", receives);                                                  \
    }

#define CALL_INT(form, name, ...)                                                                 \
    ANY_CALL(form, MPI_Neighbor_##name, MPI_Ineighbor_##name, MPI_Neighbor_##name##_init,         \
             __VA_ARGS__)
EXCHANGE(exchange_int, CALL_INT, int, int)

#ifdef HAVE_MPI_Neighbor_allgather_c
#define CALL_LARGE(form, name, ...)                                                               \
    ANY_CALL(form, MPI_Neighbor_##name##_c, MPI_Ineighbor_##name##_c,                             \
             MPI_Neighbor_##name##_init_c, __VA_ARGS__)
EXCHANGE(exchange_large, CALL_LARGE, MPI_Count, MPI_Aint)
#endif

static void exchange(MPI_Comm comm, int in, const int *from, int out, const int *to)
{
    for (int form = 0; form < FORMS; form++) {
#ifndef HAVE_MPI_Neighbor_allgather_init
        if (form == PERSISTENT)
            continue;
#endif
        exchange_int(comm, form, in, from, out, to);
#ifdef HAVE_MPI_Neighbor_allgather_c
        exchange_large(comm, form, in, from, out, to);
#endif
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    CHECK(size >= 3 && size <= 8);
    MPI_Comm comm;

    /* A line, of ranks in reverse order; a second dimension with nobody in it. */
    MPI_Comm reversed;
    int dims[2] = {size, 1}, periods[2] = {0, 0}, here;
    MPI_Comm_split(world, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &here);
    MPI_Cart_create(reversed, 2, dims, periods, 0, &comm);
    const int both[4] = {here - 1, here == size - 1 ? -1 : here + 1, -1, -1};
    exchange(comm, 4, both, 4, both);
    MPI_Comm_free(&comm);
    /* A ring. */
    periods[0] = 1;
    MPI_Cart_create(reversed, 1, dims, periods, 0, &comm);
    const int ring[2] = {(here + size - 1) % size, (here + 1) % size};
    exchange(comm, 2, ring, 2, ring);
    MPI_Comm_free(&comm);
    MPI_Comm_free(&reversed);

    /* A star around rank 0. */
    int index[8], edges[16], others[8];
    const int zero = 0;
    for (int i = 0; i < size; i++) {
        index[i] = size - 1 + i;
        edges[i == 0 ? 0 : size - 2 + i] = 0;
    }
    for (int i = 1; i < size; i++)
        edges[i - 1] = others[i - 1] = i;
    MPI_Graph_create(world, size, index, edges, 0, &comm);
    if (rank == 0)
        exchange(comm, size - 1, others, size - 1, others);
    else
        exchange(comm, 1, &zero, 1, &zero);
    MPI_Comm_free(&comm);

    /* From the two before to the two behind. */
    const int from[2] = {(rank + size - 1) % size, (rank + size - 2) % size};
    const int to[2] = {(rank + 1) % size, (rank + 2) % size};
    MPI_Dist_graph_create_adjacent(world, 2, from, MPI_UNWEIGHTED, 2, to, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &comm);
    exchange(comm, 2, from, 2, to);
    MPI_Comm_free(&comm);

    /* Rank 0 sends to all others, and gets something from rank 1 only. */
    const int sources = 1, targets = rank == 0 ? size - 1 : rank == 1 ? 1 : 0;
    const int from_one = rank == 0 ? 1 : 0;
    const int *destinations = rank == 0 ? others : &zero;
    MPI_Dist_graph_create_adjacent(world, sources, &from_one, MPI_UNWEIGHTED, targets, destinations,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm);
    exchange(comm, sources, &from_one, targets, destinations);
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
