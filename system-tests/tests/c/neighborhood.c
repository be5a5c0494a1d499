/* Process topologies (Cartesian, graph, distributed graph) and every neighborhood collective on
 * each of them, in the blocking, nonblocking and persistent form. Needs 2 to 9 ranks. */
#include "expect.h"

/* MPI_UNWEIGHTED and MPI_WEIGHTS_EMPTY are no arrays. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

enum { MAX = 9, DEGREES = 8 };

enum {
    BLOCKING,
    NONBLOCKING,
#ifdef HAVE_MPI_Neighbor_allgather_init
    PERSISTENT,
#endif
    FORMS
};

#ifdef HAVE_MPI_Neighbor_allgather_init
#define PERSISTENT_CASE(call)                                                                     \
    case PERSISTENT:                                                                              \
        call;                                                                                     \
        for (int start_ = 0; start_ < 2; start_++) {                                              \
            MPI_Start(&request_);                                                                 \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                                               \
        }                                                                                         \
        MPI_Request_free(&request_);                                                              \
        break;
#else
#define PERSISTENT_CASE(call)
#endif

/* Calls MPI_Neighbor_x, MPI_Ineighbor_x or MPI_Neighbor_x_init, the communicator last. */
#define CALL(form, x, ...)                                                                        \
    do {                                                                                          \
        MPI_Request request_;                                                                     \
        switch (form) {                                                                           \
        case BLOCKING:                                                                            \
            MPI_Neighbor_##x(__VA_ARGS__);                                                        \
            break;                                                                                \
        case NONBLOCKING:                                                                         \
            MPI_Ineighbor_##x(__VA_ARGS__, &request_);                                            \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                                               \
            break;                                                                                \
        PERSISTENT_CASE(MPI_Neighbor_##x##_init(__VA_ARGS__, MPI_INFO_NULL, &request_))           \
        }                                                                                         \
    } while (0)

static int rank, size;

/* All neighborhood collectives on a communicator where this rank has these neighbors, and no
 * neighbor twice, or only one all over. MPI_PROC_NULL leaves its part of the buffer alone. */
static void exchange(MPI_Comm comm, int sources, const int *from, int targets, const int *to)
{
    int here, out[DEGREES], in[DEGREES], counts[DEGREES], places[DEGREES];
    MPI_Aint bytes[DEGREES];
    MPI_Datatype types[DEGREES];
    CHECK(sources <= DEGREES && targets <= DEGREES);
    MPI_Comm_rank(comm, &here);
    for (int i = 0; i < DEGREES; i++) {
        counts[i] = 1;
        places[i] = DEGREES - 1 - i;
        bytes[i] = places[i] * (MPI_Aint)sizeof(int);
        types[i] = MPI_INT;
    }
    for (int form = 0; form < FORMS; form++) {
        memset(in, 0xff, sizeof in);
        CALL(form, allgather, &here, 1, MPI_INT, in, 1, MPI_INT, comm);
        for (int i = 0; i < DEGREES; i++)
            CHECK(in[i] == (i < sources && from[i] != MPI_PROC_NULL ? from[i] : -1));
        memset(in, 0xff, sizeof in);
        CALL(form, allgatherv, &here, 1, MPI_INT, in, counts, places, MPI_INT, comm);
        for (int i = 0; i < sources; i++)
            CHECK(in[places[i]] == (from[i] != MPI_PROC_NULL ? from[i] : -1));

        for (int i = 0; i < targets; i++)
            out[i] = 100 * here + to[i];
        memset(in, 0xff, sizeof in);
        CALL(form, alltoall, out, 1, MPI_INT, in, 1, MPI_INT, comm);
        for (int i = 0; i < DEGREES; i++)
            CHECK(in[i] ==
                  (i < sources && from[i] != MPI_PROC_NULL ? 100 * from[i] + here : -1));
        for (int i = 0; i < targets; i++)
            out[places[i]] = 200 * here + to[i];
        for (int w = 0; w < 2; w++) {
            memset(in, 0xff, sizeof in);
            if (w)
                CALL(form, alltoallw, out, counts, bytes, types, in, counts, bytes, types, comm);
            else
                CALL(form, alltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT,
                     comm);
            for (int i = 0; i < sources; i++)
                CHECK(in[places[i]] == (from[i] != MPI_PROC_NULL ? 200 * from[i] + here : -1));
        }
    }
}

static void cartesian(void)
{
    int dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2], other[2], kind, count, place, here;
    MPI_Comm grid, row;
    MPI_Dims_create(size, 2, dims);
    CHECK(dims[0] * dims[1] == size && dims[0] >= dims[1]);
    int fixed[3] = {0, 1, 0};
    MPI_Dims_create(size, 3, fixed);
    CHECK(fixed[1] == 1 && fixed[0] * fixed[2] == size);
    MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &place);
    CHECK(place >= 0 && place < size);

    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    MPI_Topo_test(grid, &kind);
    CHECK(kind == MPI_CART);
    MPI_Cartdim_get(grid, &count);
    CHECK(count == 2);
    MPI_Cart_get(grid, 2, dims, periods, coords);
    MPI_Cart_coords(grid, rank, 2, other);
    CHECK(coords[0] == other[0] && coords[1] == other[1] && !periods[0] && !periods[1]);
    CHECK(coords[0] * dims[1] + coords[1] == rank);
    MPI_Cart_rank(grid, coords, &place);
    CHECK(place == rank);
    int neighbors[4];
    MPI_Cart_shift(grid, 0, 1, &neighbors[0], &neighbors[1]);
    MPI_Cart_shift(grid, 1, 1, &neighbors[2], &neighbors[3]);
    CHECK(neighbors[0] == (coords[0] > 0 ? rank - dims[1] : MPI_PROC_NULL));
    CHECK(neighbors[3] == (coords[1] < dims[1] - 1 ? rank + 1 : MPI_PROC_NULL));
    exchange(grid, 4, neighbors, 4, neighbors);

    MPI_Cart_sub(grid, (int[]){0, 1}, &row);
    MPI_Comm_size(row, &count);
    MPI_Comm_rank(row, &here);
    CHECK(count == dims[1] && here == coords[1]);
    int row_neighbors[2];
    MPI_Cart_shift(row, 0, 1, &row_neighbors[0], &row_neighbors[1]);
    exchange(row, 2, row_neighbors, 2, row_neighbors);
    MPI_Comm_free(&row);
    MPI_Comm_free(&grid);

    /* A ring; with 2 ranks both neighbors are the same one. */
    periods[0] = 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &neighbors[0], &neighbors[1]);
    CHECK(neighbors[0] == (rank + size - 1) % size && neighbors[1] == (rank + 1) % size);
    exchange(grid, 2, neighbors, 2, neighbors);
    MPI_Cart_rank(grid, (int[]){-1}, &place);
    CHECK(place == size - 1);
    MPI_Comm_free(&grid);

    /* Of one rank less, who has no communicator; and of no dimension. */
    int less = size - 1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &less, periods, 0, &grid);
    CHECK((grid == MPI_COMM_NULL) == (rank == size - 1));
    if (grid != MPI_COMM_NULL)
        MPI_Comm_free(&grid);
    MPI_Topo_test(MPI_COMM_WORLD, &kind);
    CHECK(kind == MPI_UNDEFINED);
}

/* A star around rank 0. */
static void graph(void)
{
    int index[MAX], edges[2 * MAX], place, kind, nodes, count, neighbors[DEGREES * 2];
    MPI_Comm star;
    CHECK(size <= MAX);
    for (int i = 0; i < size; i++) {
        index[i] = size - 1 + i;
        edges[i == 0 ? 0 : size - 2 + i] = 0;
    }
    for (int i = 1; i < size; i++)
        edges[i - 1] = i;
    MPI_Graph_map(MPI_COMM_WORLD, size, index, edges, &place);
    CHECK(place >= 0 && place < size);
    MPI_Graph_create(MPI_COMM_WORLD, size, index, edges, 0, &star);
    MPI_Topo_test(star, &kind);
    CHECK(kind == MPI_GRAPH);
    MPI_Graphdims_get(star, &nodes, &count);
    CHECK(nodes == size && count == 2 * (size - 1));
    memset(index, 0, sizeof index);
    memset(edges, 0xff, sizeof edges);
    MPI_Graph_get(star, MAX, 2 * MAX, index, edges);
    CHECK(index[0] == size - 1 && index[size - 1] == 2 * (size - 1));
    CHECK(edges[size - 2] == size - 1);
    MPI_Graph_neighbors_count(star, rank, &count);
    CHECK(count == (rank == 0 ? size - 1 : 1));
    MPI_Graph_neighbors(star, rank, DEGREES, neighbors);
    CHECK(neighbors[0] == (rank == 0));
    exchange(star, count, neighbors, count, neighbors);
    MPI_Comm_free(&star);
}

/* Each rank receives from the one before it and sends to the one after it, with weights. */
static void distributed_graph(void)
{
    int before = (rank + size - 1) % size, after = (rank + 1) % size;
    int in, out, weighted, kind, one = 1, source, target, source_weight, target_weight;
    MPI_Comm ring;
    for (int way = 0; way < 4; way++) {
        int weight = 5 + rank, weight_before = 5 + before;
        switch (way) {
        case 0:
            MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight_before, 1, &after,
                                           &weight, MPI_INFO_NULL, 0, &ring);
            break;
        case 1:
            MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, MPI_UNWEIGHTED, 1, &after,
                                           MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
            break;
        case 2: /* each tells of the edge that the next one has */
            weight = 5 + after;
            target = (after + 1) % size;
            MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &after, &one, &target, &weight, MPI_INFO_NULL,
                                  0, &ring);
            break;
        case 3:
            MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &after, MPI_UNWEIGHTED,
                                  MPI_INFO_NULL, 0, &ring);
            break;
        }
        MPI_Topo_test(ring, &kind);
        CHECK(kind == MPI_DIST_GRAPH);
        MPI_Dist_graph_neighbors_count(ring, &in, &out, &weighted);
        CHECK(in == 1 && out == 1 && !!weighted == (way % 2 == 0));
        if (weighted) {
            MPI_Dist_graph_neighbors(ring, 1, &source, &source_weight, 1, &target, &target_weight);
            CHECK(source_weight == 5 + before && target_weight == 5 + rank);
        } else {
            MPI_Dist_graph_neighbors(ring, 1, &source, MPI_UNWEIGHTED, 1, &target, MPI_UNWEIGHTED);
        }
        CHECK(source == before && target == after);
        exchange(ring, 1, &source, 1, &target);
        MPI_Comm_free(&ring);
    }

    /* Only rank 0 has edges, to all others. */
    int targets[DEGREES], zero = 0;
    for (int i = 1; i < size; i++)
        targets[i - 1] = i;
    if (rank == 0)
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, size - 1,
                                       targets, targets, MPI_INFO_NULL, 0, &ring);
    else
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, &rank, 0, NULL, MPI_WEIGHTS_EMPTY,
                                       MPI_INFO_NULL, 0, &ring);
#if !defined MPICH_NUMVERSION || MPICH_NUMVERSION >= 40100000
    /* In MPICH 4.0.2, alltoallw sends nothing from a rank that receives nothing. */
    exchange(ring, rank == 0 ? 0 : 1, &zero, rank == 0 ? size - 1 : 0, targets);
#endif
    MPI_Comm_free(&ring);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    cartesian();
    if (rank == 0)
        printf("Cartesian ok\n");
    graph();
    if (rank == 0)
        printf("graph ok\n");
    distributed_graph();
    if (rank == 0)
        printf("distributed graph ok\n");
    MPI_Finalize();
    return 0;
}
