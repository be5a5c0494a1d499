/* Communicators made in all ways, each used a number of times of its own. What a profile must say of each is printed:
 * "on NAME SIZE OTHER_SIZE CALLS", by the first process of each group with the calls of the whole group. */
#include "expect.h"

/* MPI_UNWEIGHTED is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"

enum { COPIES = 5 };

static int rank, size;

/* So many collective operations. */
static void reduce(MPI_Comm comm, int times)
{
    int one = 1, sum;
    for (int i = 0; i < times; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
}

static void use(MPI_Comm comm, const char *name, int times)
{
    int inter, here, members, others = 0;
    if (comm == MPI_COMM_NULL)
        return;
    if (comm != MPI_COMM_WORLD && comm != MPI_COMM_SELF)
        MPI_Comm_set_name(comm, name);
    reduce(comm, times);
    MPI_Comm_rank(comm, &here);
    MPI_Comm_size(comm, &members);
    MPI_Comm_test_inter(comm, &inter);
    if (inter)
        MPI_Comm_remote_size(comm, &others);
    if (here == 0) {
        printf("on %s %d %d %d\n", name, members, others, members * times);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm half, copy, second, three, grid, row, between, again, merged, pair, later, reversed;
    MPI_Comm own, without, ring, last;
    MPI_Group world, group;
    MPI_Request request;
    int few[3] = {0, 2, 3}, odd[2] = {1, 3}, sides[2] = {2, 2}, periods[2] = {0, 0};
    int keep[2] = {0, 1}, left, right;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(size == 4);

    use(MPI_COMM_WORLD, "MPI_COMM_WORLD", 3);
    use(MPI_COMM_SELF, "MPI_COMM_SELF", 2);

    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    use(half, rank % 2 ? "odds" : "evens", rank % 2 ? 5 : 4);
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    use(copy, "copy", 6);
    MPI_Comm_dup(copy, &second);
    use(second, "second", 7);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 3, few, &group);
    MPI_Comm_create(MPI_COMM_WORLD, group, &three);
    use(three, "three", 8);
    MPI_Group_free(&group);
    /* Two of one group and tag: the second one of them is another communicator. */
    MPI_Group_incl(world, 2, odd, &group);
    for (int i = 0; i < 2 && rank % 2; i++) {
        MPI_Comm_create_group(MPI_COMM_WORLD, group, 5, &pair);
        use(pair, i ? "pair2" : "pair1", 9 + i);
        MPI_Comm_free(&pair);
    }
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, periods, 0, &grid);
    use(grid, "grid", 11);
    MPI_Cart_sub(grid, keep, &row);
    use(row, rank < 2 ? "row0" : "row1", rank < 2 ? 12 : 13);

    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank % 2 ? 0 : 1, 3, &between);
    use(between, "between", 14);
    MPI_Comm_dup(between, &again);
    use(again, "again", 15);
    MPI_Intercomm_merge(between, rank % 2, &merged);
    use(merged, "merged", 16);

    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(later, "later", 17);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    use(reversed, "reversed", 18);
    MPI_Comm_split(MPI_COMM_WORLD, rank ? 1 : MPI_UNDEFINED, rank, &without);
    use(without, "without", 19);

    left = (rank + 3) % 4, right = (rank + 1) % 4;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &left, MPI_UNWEIGHTED, 1, &right,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &ring);
    use(ring, "ring", 20);

    /* Of each process its own, and of one more than of the others. */
    MPI_Comm_dup(MPI_COMM_SELF, &own);
    use(own, "own", 21);
    MPI_Comm_free(&own);
    if (rank == 1) {
        MPI_Comm_dup(MPI_COMM_SELF, &own);
        MPI_Comm_free(&own);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &last);
    use(last, "last", 22);

    /* The handle is used again; the communicators have no names. */
    for (int i = 1; i <= COPIES; i++) {
        MPI_Comm temporary;
        MPI_Comm_dup(MPI_COMM_WORLD, &temporary);
        for (int j = 0; j < i; j++)
            MPI_Barrier(temporary);
        MPI_Comm_free(&temporary);
    }

    /* To the right in the ring of reversed ranks: to the left in the world. */
    MPI_Sendrecv(&rank, 1, MPI_INT, (3 - rank + 1) % 4, 0, &left, 1, MPI_INT, (3 - rank + 3) % 4, 0,
                 reversed, MPI_STATUS_IGNORE);
    CHECK(left == right);

    MPI_Comm_free(&half);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&second);
    MPI_Comm_free(&grid);
    MPI_Comm_free(&row);
    MPI_Comm_free(&between);
    MPI_Comm_free(&again);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&later);
    MPI_Comm_free(&reversed);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&last);
    if (three != MPI_COMM_NULL)
        MPI_Comm_free(&three);
    if (without != MPI_COMM_NULL)
        MPI_Comm_free(&without);
    MPI_Finalize();
    return 0;
}
