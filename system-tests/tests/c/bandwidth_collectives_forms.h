/* The part of bandwidth_collectives.c that is there for int counts and for MPI_Count: CALL(form, …)
 * calls the function's form, COUNT and PLACE are the types of its arrays. What a process gives to an
 * operation counts once, what it gets, all of it; what stays in place does not. */

/* On a communicator of one group; `rank` and `size` are there. */
static void NAME(one_group)(MPI_Comm comm, int form)
{
    int rank, size, in_place;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int own[4 * MAX] = {0}, all[4 * MAX * MAX] = {0};
    COUNT counts[MAX];
    PLACE places[MAX], bytes[MAX];
    MPI_Datatype types[MAX], mixed[MAX];
    /* Rank i has i + 1 elements, where each has its own number. */
    int before = 0, total = size * (size + 1) / 2;
    for (int i = 0; i < size; i++) {
        counts[i] = i + 1;
        places[i] = before;
        bytes[i] = before * (PLACE)sizeof(int);
        types[i] = MPI_INT;
        before += i + 1;
    }

    for (int root = 0; root < size; root++) {
        const int is_root = rank == root;
        CALL(form, Bcast, bcast, own, 3, MPI_INT, root, comm);
        moved(is_root ? SENT : RECEIVED, C, "MPI_INT", 3);
        CALL(form, Bcast, bcast, own, 0, MPI_INT, root, comm);

        CALL(form, Gather, gather, own, 2, MPI_INT, all, 2, MPI_INT, root, comm);
        moved(SENT, C, "MPI_INT", 2);
        moved(RECEIVED, C, "MPI_INT", is_root ? 2 * size : 0);
        if (is_root)
            CALL(form, Gather, gather, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 2, MPI_INT, root,
                 comm);
        else
            CALL(form, Gather, gather, own, 2, MPI_INT, NULL, NO_COUNT, NO_TYPE, root, comm);
        moved(SENT, C, "MPI_INT", is_root ? 0 : 2);
        moved(RECEIVED, C, "MPI_INT", is_root ? 2 * (size - 1) : 0);

        if (is_root)
            CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, all, counts, places, MPI_INT,
                 root, comm);
        else
            CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, NULL, NO_COUNTS, NO_PLACES,
                 NO_TYPE, root, comm);
        moved(SENT, C, "MPI_INT", rank + 1);
        moved(RECEIVED, C, "MPI_INT", is_root ? total : 0);
        if (is_root)
            CALL(form, Gatherv, gatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts, places,
                 MPI_INT, root, comm);
        else
            CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, NULL, NO_COUNTS, NO_PLACES,
                 NO_TYPE, root, comm);
        moved(SENT, C, "MPI_INT", is_root ? 0 : rank + 1);
        moved(RECEIVED, C, "MPI_INT", is_root ? total - (rank + 1) : 0);

        CALL(form, Scatter, scatter, all, 2, MPI_INT, own, 2, MPI_INT, root, comm);
        moved(SENT, C, "MPI_INT", is_root ? 2 * size : 0);
        moved(RECEIVED, C, "MPI_INT", 2);
        if (is_root)
            CALL(form, Scatter, scatter, all, 2, MPI_INT, MPI_IN_PLACE, NO_COUNT, NO_TYPE, root,
                 comm);
        else
            CALL(form, Scatter, scatter, NULL, NO_COUNT, NO_TYPE, own, 2, MPI_INT, root, comm);
        moved(SENT, C, "MPI_INT", is_root ? 2 * (size - 1) : 0);
        moved(RECEIVED, C, "MPI_INT", is_root ? 0 : 2);

        if (is_root)
            CALL(form, Scatterv, scatterv, all, counts, places, MPI_INT, own, rank + 1, MPI_INT,
                 root, comm);
        else
            CALL(form, Scatterv, scatterv, NULL, NO_COUNTS, NO_PLACES, NO_TYPE, own, rank + 1,
                 MPI_INT, root, comm);
        moved(SENT, C, "MPI_INT", is_root ? total : 0);
        moved(RECEIVED, C, "MPI_INT", rank + 1);
        if (is_root)
            CALL(form, Scatterv, scatterv, all, counts, places, MPI_INT, MPI_IN_PLACE, NO_COUNT,
                 NO_TYPE, root, comm);
        else
            CALL(form, Scatterv, scatterv, NULL, NO_COUNTS, NO_PLACES, NO_TYPE, own, rank + 1,
                 MPI_INT, root, comm);
        moved(SENT, C, "MPI_INT", is_root ? total - (rank + 1) : 0);
        moved(RECEIVED, C, "MPI_INT", is_root ? 0 : rank + 1);

        CALL(form, Reduce, reduce, own, is_root ? all : NULL, 2, MPI_INT, MPI_SUM, root, comm);
        moved(REDUCED, C, "MPI_INT", 2);
        moved(RECEIVED, C, "MPI_INT", is_root ? 2 : 0);
        if (is_root)
            CALL(form, Reduce, reduce, MPI_IN_PLACE, own, 3, MPI_INT, MPI_SUM, root, comm);
        else
            CALL(form, Reduce, reduce, own, NULL, 3, MPI_INT, MPI_SUM, root, comm);
        moved(REDUCED, C, "MPI_INT", 3);
        moved(RECEIVED, C, "MPI_INT", is_root ? 3 : 0);
    }

    for (in_place = 0; in_place < 2; in_place++) {
        /* One's own block is there already. */
        const int others = in_place ? size - 1 : size, mine = in_place ? rank + 1 : 0;
        if (in_place) {
            CALL(form, Allgather, allgather, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 2, MPI_INT,
                 comm);
            CALL(form, Allgatherv, allgatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts,
                 places, MPI_INT, comm);
        } else {
            CALL(form, Allgather, allgather, own, 2, MPI_INT, all, 2, MPI_INT, comm);
            CALL(form, Allgatherv, allgatherv, own, rank + 1, MPI_INT, all, counts, places,
                 MPI_INT, comm);
        }
        moved(SENT, C, "MPI_INT", 2 + rank + 1);
        moved(RECEIVED, C, "MPI_INT", 2 * others + total - mine);

        if (in_place)
            CALL(form, Alltoall, alltoall, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 3, MPI_INT, comm);
        else
            CALL(form, Alltoall, alltoall, all + 4 * MAX, 3, MPI_INT, all, 3, MPI_INT, comm);
        moved(SENT, C, "MPI_INT", 3 * others);
        moved(RECEIVED, C, "MPI_INT", 3 * others);
    }

    /* To rank i, i + 1 elements: rank + 1 from each. In place both must be the same: one. */
    COUNT same[MAX], ones[MAX];
    PLACE same_places[MAX], same_bytes[MAX], one_places[MAX], one_bytes[MAX];
    for (int i = 0; i < size; i++) {
        same[i] = rank + 1;
        same_places[i] = i * (rank + 1);
        same_bytes[i] = same_places[i] * (PLACE)sizeof(int);
        ones[i] = 1;
        one_places[i] = i;
        one_bytes[i] = i * (PLACE)sizeof(double);
        mixed[i] = (i + rank) % 2 ? MPI_FLOAT : MPI_DOUBLE;
    }
    CALL(form, Alltoallv, alltoallv, all, counts, places, MPI_INT, all + 4 * MAX, same,
         same_places, MPI_INT, comm);
    moved(SENT, C, "MPI_INT", total);
    moved(RECEIVED, C, "MPI_INT", size * (rank + 1));
    CALL(form, Alltoallv, alltoallv, MPI_IN_PLACE, NO_COUNTS, NO_PLACES, NO_TYPE, all, ones,
         one_places, MPI_INT, comm);
    moved(SENT, C, "MPI_INT", size - 1);
    moved(RECEIVED, C, "MPI_INT", size - 1);
    CALL(form, Alltoallw, alltoallw, all, counts, bytes, types, all + 4 * MAX, same,
         same_bytes, types, comm);
    moved(SENT, C, "MPI_INT", total);
    moved(RECEIVED, C, "MPI_INT", size * (rank + 1));
    /* Between two ranks the datatype is the same, whoever sends. */
    CALL(form, Alltoallw, alltoallw, all, ones, one_bytes, mixed, all + 4 * MAX,
         ones, one_bytes, mixed, comm);
    /* MPICH 4.0.2 takes one for the other if it does not block. */
    const int again = !IS_MPICH_4_0 || form == BLOCKING;
    if (again)
        CALL(form, Alltoallw, alltoallw, MPI_IN_PLACE, NO_COUNTS, NO_PLACES, NO_TYPES, all, ones,
             one_bytes, mixed, comm);
    for (int i = 0; i < size; i++) {
        const char *name = (i + rank) % 2 ? "MPI_FLOAT" : "MPI_DOUBLE";
        moved(SENT, C, name, 1 + (again && i != rank));
        moved(RECEIVED, C, name, 1 + (again && i != rank));
    }

    for (in_place = 0; in_place < 2; in_place++) {
        void *from = in_place ? MPI_IN_PLACE : (void *)own;
        CALL(form, Allreduce, allreduce, from, all, 3, MPI_INT, MPI_MAX, comm);
        CALL(form, Scan, scan, from, all, 2, MPI_INT, MPI_SUM, comm);
        CALL(form, Exscan, exscan, from, all, 1, MPI_INT, MPI_SUM, comm);
        moved(REDUCED, C, "MPI_INT", 3 + 2 + 1);
        moved(RECEIVED, C, "MPI_INT", 3 + 2 + (rank > 0));
        CALL(form, Reduce_scatter, reduce_scatter, in_place ? MPI_IN_PLACE : (void *)all,
             all + 4 * MAX, counts, MPI_INT, MPI_SUM, comm);
        moved(REDUCED, C, "MPI_INT", total);
        moved(RECEIVED, C, "MPI_INT", rank + 1);
        CALL(form, Reduce_scatter_block, reduce_scatter_block,
             in_place ? MPI_IN_PLACE : (void *)all, all + 4 * MAX, 2, MPI_INT, MPI_SUM, comm);
        moved(REDUCED, C, "MPI_INT", 2 * size);
        moved(RECEIVED, C, "MPI_INT", 2);
    }
    struct {
        double value;
        int index;
    } pair = {1, 2}, best;
    CALL(form, Allreduce, allreduce, &pair, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    moved(REDUCED, C, "MPI_DOUBLE_INT", 1);
    moved(RECEIVED, C, "MPI_DOUBLE_INT", 1);
}

/* Between two groups: the group of world rank 0, with `here` processes, and the others. */
static void NAME(two_groups)(MPI_Comm inter, int first, int form)
{
    int rank, here, there;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &here);
    MPI_Comm_remote_size(inter, &there);
    int own[4 * MAX] = {0}, all[4 * MAX * MAX] = {0};
    COUNT counts[MAX], given[MAX];
    PLACE places[MAX], given_places[MAX], bytes[MAX], given_bytes[MAX];
    MPI_Datatype types[MAX];
    for (int i = 0; i < MAX; i++)
        types[i] = MPI_INT;
    int total = 0;
    for (int i = 0; i < there; i++) {
        counts[i] = i + 1;
        places[i] = total;
        bytes[i] = total * (PLACE)sizeof(int);
        given[i] = rank + 1;
        given_places[i] = i * (rank + 1);
        given_bytes[i] = given_places[i] * (PLACE)sizeof(int);
        total += i + 1;
    }
    /* The root is the last process of one group, then of the other. */
    for (int way = 0; way < 2; way++) {
        const int in_root_group = first == (way == 0);
        const int is_root = in_root_group && rank == here - 1;
        const int root = is_root ? MPI_ROOT : in_root_group ? MPI_PROC_NULL : there - 1;
        const int gives = !in_root_group;
        CALL(form, Bcast, bcast, own, 3, MPI_INT, root, inter);
        moved(SENT, C, "MPI_INT", is_root ? 3 : 0);
        moved(RECEIVED, C, "MPI_INT", gives ? 3 : 0);
        CALL(form, Gather, gather, own, 2, MPI_INT, all, 2, MPI_INT, root, inter);
        moved(SENT, C, "MPI_INT", gives ? 2 : 0);
        moved(RECEIVED, C, "MPI_INT", is_root ? 2 * there : 0);
        CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, all, counts, places, MPI_INT, root,
             inter);
        moved(SENT, C, "MPI_INT", gives ? rank + 1 : 0);
        moved(RECEIVED, C, "MPI_INT", is_root ? total : 0);
        CALL(form, Scatter, scatter, all, 2, MPI_INT, own, 2, MPI_INT, root, inter);
        moved(SENT, C, "MPI_INT", is_root ? 2 * there : 0);
        moved(RECEIVED, C, "MPI_INT", gives ? 2 : 0);
        CALL(form, Scatterv, scatterv, all, counts, places, MPI_INT, own, rank + 1, MPI_INT, root,
             inter);
        moved(SENT, C, "MPI_INT", is_root ? total : 0);
        moved(RECEIVED, C, "MPI_INT", gives ? rank + 1 : 0);
        CALL(form, Reduce, reduce, own, all, 2, MPI_INT, MPI_SUM, root, inter);
        moved(REDUCED, C, "MPI_INT", gives ? 2 : 0);
        moved(RECEIVED, C, "MPI_INT", is_root ? 2 : 0);
    }
    CALL(form, Allgather, allgather, own, 2, MPI_INT, all, 2, MPI_INT, inter);
    moved(SENT, C, "MPI_INT", 2);
    moved(RECEIVED, C, "MPI_INT", 2 * there);
    CALL(form, Allgatherv, allgatherv, own, rank + 1, MPI_INT, all, counts, places, MPI_INT,
         inter);
    moved(SENT, C, "MPI_INT", rank + 1);
    moved(RECEIVED, C, "MPI_INT", total);
    CALL(form, Alltoall, alltoall, all, 3, MPI_INT, all + 4 * MAX, 3, MPI_INT, inter);
    moved(SENT, C, "MPI_INT", 3 * there);
    moved(RECEIVED, C, "MPI_INT", 3 * there);
    CALL(form, Alltoallv, alltoallv, all, counts, places, MPI_INT, all + 4 * MAX, given,
         given_places, MPI_INT, inter);
    CALL(form, Alltoallw, alltoallw, all, counts, bytes, types, all + 4 * MAX, given,
         given_bytes, types, inter);
    moved(SENT, C, "MPI_INT", 2 * total);
    moved(RECEIVED, C, "MPI_INT", 2 * there * (rank + 1));
    CALL(form, Allreduce, allreduce, own, all, 3, MPI_INT, MPI_SUM, inter);
    moved(REDUCED, C, "MPI_INT", 3);
    moved(RECEIVED, C, "MPI_INT", 3);
    /* As many elements from both groups, here * there, in as many blocks as the own group has. */
    CALL(form, Reduce_scatter_block, reduce_scatter_block, all, own, there, MPI_INT, MPI_SUM,
         inter);
    moved(REDUCED, C, "MPI_INT", here * there);
    moved(RECEIVED, C, "MPI_INT", there);
    COUNT blocks[MAX];
    for (int i = 0; i < here; i++)
        blocks[i] = there + (i == 0 ? -(here - 1) : 1);
    if (there < here - 1)
        for (int i = 0; i < here; i++)
            blocks[i] = there;
    CALL(form, Reduce_scatter, reduce_scatter, all, own, blocks, MPI_INT, MPI_SUM, inter);
    moved(REDUCED, C, "MPI_INT", here * there);
    moved(RECEIVED, C, "MPI_INT", blocks[rank]);
}

#undef NAME
#undef CALL
#undef COUNT
#undef PLACE
#undef NO_PLACES
#undef NO_COUNTS
