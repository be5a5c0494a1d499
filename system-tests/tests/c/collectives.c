/* Collective communication: every operation in its blocking, nonblocking and persistent form,
 * on a communicator and on an inter-communicator, with MPI_IN_PLACE where allowed and garbage in
 * the arguments that are significant only at the root; operators made by the program, also one
 * that calls MPI itself. Needs 2 ranks or more, at most 16. */
#include "expect.h"

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { MAX = 16 };

/* Arguments that nobody may look at; volatile, for the compiler looks as well. */
static void *volatile garbage = (void *)8;
#define NO_BUFFER garbage
#define NO_COUNT (-77)
#define NO_COUNTS ((const int *)garbage)
#define NO_TYPE MPI_DATATYPE_NULL
#define NO_TYPES ((const MPI_Datatype *)garbage)

enum {
    BLOCKING,
    NONBLOCKING,
#ifdef HAVE_MPI_Barrier_init
    PERSISTENT,
#endif
    FORMS
};
static const char *const form_names[] = {"blocking", "nonblocking", "persistent"};

#ifdef HAVE_MPI_Barrier_init
#define PERSISTENT_CASE(call)                                                                     \
    case PERSISTENT:                                                                              \
        call;                                                                                     \
        MPI_Start(&request_);                                                                     \
        MPI_Wait(&request_, MPI_STATUS_IGNORE);                                                   \
        MPI_Request_free(&request_);                                                              \
        break;
#else
#define PERSISTENT_CASE(call)
#endif

/* Calls MPI_Name, MPI_Iname or MPI_Name_init with these arguments, the communicator last. */
#define CALL(form, Name, name, ...)                                                               \
    do {                                                                                          \
        MPI_Request request_;                                                                     \
        switch (form) {                                                                           \
        case BLOCKING:                                                                            \
            MPI_##Name(__VA_ARGS__);                                                              \
            break;                                                                                \
        case NONBLOCKING:                                                                         \
            MPI_I##name(__VA_ARGS__, &request_);                                                  \
            MPI_Wait(&request_, MPI_STATUS_IGNORE);                                               \
            break;                                                                                \
        PERSISTENT_CASE(MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_))                 \
        }                                                                                         \
    } while (0)

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;

static void barrier_and_bcast(int form)
{
    int x[4];
    CALL(form, Barrier, barrier, comm);
    for (int root = 0; root < size; root++) {
        for (int i = 0; i < 4; i++)
            x[i] = rank == root ? root + i : -1;
        CALL(form, Bcast, bcast, x, 4, MPI_INT, root, comm);
        for (int i = 0; i < 4; i++)
            CHECK(x[i] == root + i);
    }
    CALL(form, Bcast, bcast, NULL, 0, MPI_INT, 0, comm);
}

static void gather_and_scatter(int form)
{
    int one, all[MAX];
    for (int root = 0; root < size; root++) {
        one = 3 * rank + root;
        if (rank == root)
            CALL(form, Gather, gather, &one, 1, MPI_INT, all, 1, MPI_INT, root, comm);
        else
            CALL(form, Gather, gather, &one, 1, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE, root, comm);
        for (int i = 0; i < size && rank == root; i++)
            CHECK(all[i] == 3 * i + root);
        if (rank == root) {
            memset(all, 0, sizeof all);
            all[root] = one;
            CALL(form, Gather, gather, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 1, MPI_INT, root,
                 comm);
            for (int i = 0; i < size; i++)
                CHECK(all[i] == 3 * i + root);
        } else {
            CALL(form, Gather, gather, &one, 1, MPI_INT, NULL, 0, NO_TYPE, root, comm);
        }

        one = -1;
        if (rank == root)
            CALL(form, Scatter, scatter, all, 1, MPI_INT, &one, 1, MPI_INT, root, comm);
        else
            CALL(form, Scatter, scatter, NO_BUFFER, NO_COUNT, NO_TYPE, &one, 1, MPI_INT, root,
                 comm);
        CHECK(one == 3 * rank + root);
        if (rank == root)
            CALL(form, Scatter, scatter, all, 1, MPI_INT, MPI_IN_PLACE, NO_COUNT, NO_TYPE, root,
                 comm);
        else
            CALL(form, Scatter, scatter, NULL, 0, NO_TYPE, &one, 1, MPI_INT, root, comm);
        CHECK(one == 3 * rank + root);
    }
}

/* Rank i has i + 1 elements; the blocks lie in reverse order with a gap before each. */
static void gatherv_and_scatterv(int form)
{
    int own[MAX], all[MAX * MAX], counts[MAX], places[MAX];
    for (int i = size - 1, at = 1; i >= 0; i--) {
        counts[i] = i + 1;
        places[i] = at;
        at += counts[i] + 1;
    }
    for (int root = 0; root < size; root++) {
        for (int i = 0; i <= rank; i++)
            own[i] = 100 * rank + i;
        memset(all, 0xff, sizeof all);
        if (rank == root)
            CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, all, counts, places, MPI_INT,
                 root, comm);
        else
            CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, NO_BUFFER, NO_COUNTS, NO_COUNTS,
                 NO_TYPE, root, comm);
        for (int i = 0; i < size && rank == root; i++) {
            CHECK(all[places[i] - 1] == -1);
            for (int j = 0; j <= i; j++)
                CHECK(all[places[i] + j] == 100 * i + j);
        }
        if (rank == root) {
            for (int i = 0; i < size; i++)
                if (i != root)
                    all[places[i]] = -2;
            CALL(form, Gatherv, gatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts, places,
                 MPI_INT, root, comm);
            for (int i = 0; i < size; i++)
                CHECK(all[places[i]] == 100 * i);
        } else {
            CALL(form, Gatherv, gatherv, own, rank + 1, MPI_INT, NULL, NULL, NULL, NO_TYPE, root,
                 comm);
        }

        memset(own, 0, sizeof own);
        if (rank == root)
            CALL(form, Scatterv, scatterv, all, counts, places, MPI_INT, own, rank + 1, MPI_INT,
                 root, comm);
        else
            CALL(form, Scatterv, scatterv, NO_BUFFER, NO_COUNTS, NO_COUNTS, NO_TYPE, own, rank + 1,
                 MPI_INT, root, comm);
        for (int i = 0; i <= rank; i++)
            CHECK(own[i] == 100 * rank + i);
        if (rank == root)
            CALL(form, Scatterv, scatterv, all, counts, places, MPI_INT, MPI_IN_PLACE, NO_COUNT,
                 NO_TYPE, root, comm);
        else
            CALL(form, Scatterv, scatterv, NULL, NULL, NULL, NO_TYPE, own, rank + 1, MPI_INT, root,
                 comm);
        for (int i = 0; i <= rank; i++)
            CHECK(own[i] == 100 * rank + i);
    }
}

static void allgather(int form)
{
    int own[MAX], all[MAX * MAX], counts[MAX], places[MAX];
    for (int in_place = 0; in_place < 2; in_place++) {
        memset(all, 0, sizeof all);
        own[0] = all[2 * rank] = 5 * rank;
        own[1] = all[2 * rank + 1] = 5 * rank + 1;
        if (in_place)
            CALL(form, Allgather, allgather, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, 2, MPI_INT,
                 comm);
        else
            CALL(form, Allgather, allgather, own, 2, MPI_INT, all, 2, MPI_INT, comm);
        for (int i = 0; i < 2 * size; i++)
            CHECK(all[i] == 5 * (i / 2) + i % 2);

        for (int i = size - 1, at = 0; i >= 0; i--) {
            counts[i] = i; /* none from rank 0 */
            places[i] = at;
            at += i;
        }
        memset(all, 0, sizeof all);
        for (int i = 0; i < rank; i++)
            own[i] = all[places[rank] + i] = 100 * rank + i;
        if (in_place)
            CALL(form, Allgatherv, allgatherv, MPI_IN_PLACE, NO_COUNT, NO_TYPE, all, counts,
                 places, MPI_INT, comm);
        else
            CALL(form, Allgatherv, allgatherv, own, rank, MPI_INT, all, counts, places, MPI_INT,
                 comm);
        for (int i = 0; i < size; i++)
            for (int j = 0; j < i; j++)
                CHECK(all[places[i] + j] == 100 * i + j);
    }
}

static void alltoall(int form)
{
    int out[MAX], in[MAX], counts[MAX], places[MAX], bytes[MAX];
    MPI_Datatype types[MAX];
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        places[i] = size - 1 - i;
        bytes[i] = places[i] * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int i = 0; i < size; i++) {
            out[i] = 100 * rank + i;
            in[i] = in_place ? out[i] : -1;
        }
        if (in_place)
            CALL(form, Alltoall, alltoall, MPI_IN_PLACE, NO_COUNT, NO_TYPE, in, 1, MPI_INT, comm);
        else
            CALL(form, Alltoall, alltoall, out, 1, MPI_INT, in, 1, MPI_INT, comm);
        for (int i = 0; i < size; i++)
            CHECK(in[i] == 100 * i + rank);

        for (int i = 0; i < size; i++) {
            out[places[i]] = 100 * rank + i;
            in[places[i]] = in_place ? out[places[i]] : -1;
        }
        if (in_place)
            CALL(form, Alltoallv, alltoallv, MPI_IN_PLACE, NO_COUNTS, NO_COUNTS, NO_TYPE, in,
                 counts, places, MPI_INT, comm);
        else
            CALL(form, Alltoallv, alltoallv, out, counts, places, MPI_INT, in, counts, places,
                 MPI_INT, comm);
        for (int i = 0; i < size; i++)
            CHECK(in[places[i]] == 100 * i + rank);

        for (int i = 0; i < size; i++)
            in[places[i]] = in_place ? out[places[i]] : -1;
        if (in_place)
            CALL(form, Alltoallw, alltoallw, MPI_IN_PLACE, NO_COUNTS, NO_COUNTS, NO_TYPES, in,
                 counts, bytes, types, comm);
        else
            CALL(form, Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types,
                 comm);
        for (int i = 0; i < size; i++)
            CHECK(in[places[i]] == 100 * i + rank);
    }
}

static void reduce(int form)
{
    int own[2], sum[2], ranks = size * (size - 1) / 2;
    for (int root = 0; root < size; root++) {
        own[0] = rank;
        own[1] = 1;
        if (rank == root)
            CALL(form, Reduce, reduce, own, sum, 2, MPI_INT, MPI_SUM, root, comm);
        else
            CALL(form, Reduce, reduce, own, NO_BUFFER, 2, MPI_INT, MPI_SUM, root, comm);
        if (rank == root)
            CHECK(sum[0] == ranks && sum[1] == size);
        if (rank == root)
            CALL(form, Reduce, reduce, MPI_IN_PLACE, own, 2, MPI_INT, MPI_SUM, root, comm);
        else
            CALL(form, Reduce, reduce, own, NULL, 2, MPI_INT, MPI_SUM, root, comm);
        if (rank == root)
            CHECK(own[0] == ranks && own[1] == size);
    }

    own[0] = rank + 1;
    own[1] = -rank;
    CALL(form, Allreduce, allreduce, own, sum, 2, MPI_INT, MPI_MAX, comm);
    CHECK(sum[0] == size && sum[1] == 0);
    CALL(form, Allreduce, allreduce, MPI_IN_PLACE, own, 2, MPI_INT, MPI_MIN, comm);
    CHECK(own[0] == 1 && own[1] == 1 - size);
    struct {
        double value;
        int index;
    } mine = {(rank * 7) % 5, rank}, best;
    CALL(form, Allreduce, allreduce, &mine, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    CHECK(best.value == (best.index * 7) % 5 && best.value >= mine.value);

    own[0] = sum[0] = rank + 1;
    CALL(form, Scan, scan, own, &sum[1], 1, MPI_INT, MPI_SUM, comm);
    CALL(form, Scan, scan, MPI_IN_PLACE, sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum[0] == (rank + 1) * (rank + 2) / 2 && sum[1] == sum[0]);
    sum[0] = own[0];
    sum[1] = 0;
    CALL(form, Exscan, exscan, own, &sum[1], 1, MPI_INT, MPI_SUM, comm);
    CALL(form, Exscan, exscan, MPI_IN_PLACE, sum, 1, MPI_INT, MPI_SUM, comm);
    if (rank > 0) /* else undefined */
        CHECK(sum[0] == rank * (rank + 1) / 2 && sum[1] == sum[0]);
}

static void reduce_scatter(int form)
{
    int own[MAX * MAX], result[MAX], counts[MAX], total = 0, before = 0;
    for (int i = 0; i < size; i++) {
        counts[i] = i;
        before += i < rank ? i : 0;
        total += i;
    }
    for (int in_place = 0; in_place < 2; in_place++) {
        for (int i = 0; i < total; i++)
            own[i] = rank + i;
        if (in_place)
            CALL(form, Reduce_scatter, reduce_scatter, MPI_IN_PLACE, own, counts, MPI_INT, MPI_SUM,
                 comm);
        else
            CALL(form, Reduce_scatter, reduce_scatter, own, result, counts, MPI_INT, MPI_SUM,
                 comm);
        for (int i = 0; i < rank; i++)
            CHECK((in_place ? own : result)[i] == size * (size - 1) / 2 + size * (before + i));

        for (int i = 0; i < 2 * size; i++)
            own[i] = rank + i;
        if (in_place)
            CALL(form, Reduce_scatter_block, reduce_scatter_block, MPI_IN_PLACE, own, 2, MPI_INT,
                 MPI_SUM, comm);
        else
            CALL(form, Reduce_scatter_block, reduce_scatter_block, own, result, 2, MPI_INT,
                 MPI_SUM, comm);
        for (int i = 0; i < 2; i++)
            CHECK((in_place ? own : result)[i] == size * (size - 1) / 2 + size * (2 * rank + i));
    }
}

/* Maps x to a * x + b; the second one first. Not commutative. */
struct affine {
    long a, b;
};

static int op_calls, op_size;

static void compose(void *in, void *inout, int *length, MPI_Datatype *type)
{
    struct affine *left = in, *right = inout;
    (void)type;
    for (int i = 0; i < *length; i++) {
        right[i].b += left[i].b * right[i].a;
        right[i].a *= left[i].a;
    }
}

/* Adds integers, and asks MPI for their size. */
static void add_and_ask(void *in, void *inout, int *length, MPI_Datatype *type)
{
    int *left = in, *right = inout;
    MPI_Type_size(*type, &op_size);
    op_calls++;
    for (int i = 0; i < *length; i++)
        right[i] += left[i];
}

static void own_operators(int form)
{
    MPI_Op composition, addition;
    MPI_Datatype map;
    int commutes;
    MPI_Type_contiguous(2, MPI_LONG, &map);
    MPI_Type_commit(&map);
    MPI_Op_create(compose, 0, &composition);
    MPI_Op_create(add_and_ask, 1, &addition);
    MPI_Op_commutative(composition, &commutes);
    CHECK(!commutes);
    MPI_Op_commutative(addition, &commutes);
    CHECK(commutes);
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK(commutes);

    struct affine own = {rank + 2, rank + 1}, all, expected = {1, 0};
    for (int i = 0; i < size; i++) {
        expected.b = expected.b * (i + 2) + i + 1;
        expected.a *= i + 2;
    }
    CALL(form, Allreduce, allreduce, &own, &all, 1, map, composition, comm);
    CHECK(all.a == expected.a && all.b == expected.b);
    CALL(form, Reduce, reduce, &own, &all, 1, map, composition, size - 1, comm);
    if (rank == size - 1)
        CHECK(all.a == expected.a && all.b == expected.b);
    CALL(form, Scan, scan, &own, &all, 1, map, composition, comm);
    if (rank == size - 1)
        CHECK(all.a == expected.a && all.b == expected.b);

    int x = rank, sum, result[3] = {1, 2, 3};
    op_calls = op_size = 0;
    CALL(form, Allreduce, allreduce, &x, &sum, 1, MPI_INT, addition, comm);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Reduce_local((int[]){10, 20, 30}, result, 3, MPI_INT, addition);
    CHECK(result[0] == 11 && result[1] == 22 && result[2] == 33);
    CHECK(op_calls > 0 && op_size == (int)sizeof(int));
    MPI_Reduce_local((int[]){2, 2, 2}, result, 3, MPI_INT, MPI_PROD);
    CHECK(result[0] == 22 && result[2] == 66);
    struct affine second = {3, 4};
    all = (struct affine){5, 6};
    MPI_Reduce_local(&second, &all, 1, map, composition);
    CHECK(all.a == 15 && all.b == 26);

    MPI_Op_free(&composition);
    MPI_Op_free(&addition);
    CHECK(composition == MPI_OP_NULL && addition == MPI_OP_NULL);
    MPI_Type_free(&map);
}

/* Between the even and the odd ranks. */
static void between_groups(int form)
{
    MPI_Comm half, inter;
    int here, there, mine, in[MAX], out[MAX], counts[MAX], places[MAX], bytes[MAX];
    MPI_Datatype types[MAX];
    int odd = rank % 2;
    MPI_Comm_split(comm, odd, rank, &half);
    MPI_Intercomm_create(half, 0, comm, odd ? 0 : 1, 4, &inter);
    MPI_Comm_size(half, &here);
    MPI_Comm_rank(half, &mine);
    MPI_Comm_remote_size(inter, &there);
    for (int i = 0; i < MAX; i++) {
        counts[i] = 1;
        places[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }

    /* From or to the last odd rank, on the other side all even ranks. */
    int last = size / 2 - 1;
    int root = !odd ? last : mine == last ? MPI_ROOT : MPI_PROC_NULL;
    CALL(form, Barrier, barrier, inter);
    int sender = last;
#ifdef MPICH_VERSION
    /* In MPICH 4.0.2 and 5.0.2, if not blocking, only right from rank 0 of the sending group: the
     * receiving group passes on the buffer of its own rank with the number of the root. */
    if (form != BLOCKING)
        sender = 0;
#endif
    in[0] = rank;
    CALL(form, Bcast, bcast, in, 1, MPI_INT,
         !odd ? sender : mine == sender ? MPI_ROOT : MPI_PROC_NULL, inter);
    CHECK(in[0] == (odd ? rank : 2 * sender + 1));

    for (int i = 0; i < size; i++)
        out[i] = 10 * rank + i;
    memset(in, 0xff, sizeof in);
    if (root == MPI_ROOT)
        CALL(form, Gather, gather, NO_BUFFER, NO_COUNT, NO_TYPE, in, 1, MPI_INT, root, inter);
    else if (root == MPI_PROC_NULL)
        CALL(form, Gather, gather, NO_BUFFER, NO_COUNT, NO_TYPE, NO_BUFFER, NO_COUNT, NO_TYPE,
             root, inter);
    else
        CALL(form, Gather, gather, out, 1, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE, root, inter);
    for (int i = 0; i < there && root == MPI_ROOT; i++)
        CHECK(in[i] == 10 * (2 * i));

    memset(in, 0xff, sizeof in);
    if (root == MPI_ROOT)
        CALL(form, Gatherv, gatherv, NO_BUFFER, NO_COUNT, NO_TYPE, in, counts, places, MPI_INT,
             root, inter);
    else if (root == MPI_PROC_NULL)
        CALL(form, Gatherv, gatherv, NO_BUFFER, NO_COUNT, NO_TYPE, NO_BUFFER, NO_COUNTS, NO_COUNTS,
             NO_TYPE, root, inter);
    else
        CALL(form, Gatherv, gatherv, out, 1, MPI_INT, NO_BUFFER, NO_COUNTS, NO_COUNTS, NO_TYPE,
             root, inter);
    for (int i = 0; i < there && root == MPI_ROOT; i++)
        CHECK(in[i] == 10 * (2 * i));

    if (root == MPI_ROOT)
        CALL(form, Scatter, scatter, out, 1, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE, root, inter);
    else if (root == MPI_PROC_NULL)
        CALL(form, Scatter, scatter, NO_BUFFER, NO_COUNT, NO_TYPE, NO_BUFFER, NO_COUNT, NO_TYPE,
             root, inter);
    else
        CALL(form, Scatter, scatter, NO_BUFFER, NO_COUNT, NO_TYPE, in, 1, MPI_INT, root, inter);
    CHECK(odd || in[0] == 10 * (2 * last + 1) + mine);
    in[0] = -1;
    if (root == MPI_ROOT)
        CALL(form, Scatterv, scatterv, out, counts, places, MPI_INT, NO_BUFFER, NO_COUNT, NO_TYPE,
             root, inter);
    else if (root == MPI_PROC_NULL)
        CALL(form, Scatterv, scatterv, NO_BUFFER, NO_COUNTS, NO_COUNTS, NO_TYPE, NO_BUFFER,
             NO_COUNT, NO_TYPE, root, inter);
    else
        CALL(form, Scatterv, scatterv, NO_BUFFER, NO_COUNTS, NO_COUNTS, NO_TYPE, in, 1, MPI_INT,
             root, inter);
    CHECK(odd || in[0] == 10 * (2 * last + 1) + mine);

    /* The sum of all even ranks at the root. */
    in[0] = -1;
    if (root == MPI_ROOT)
        CALL(form, Reduce, reduce, NO_BUFFER, in, 1, MPI_INT, MPI_SUM, root, inter);
    else if (root == MPI_PROC_NULL)
        CALL(form, Reduce, reduce, NO_BUFFER, NO_BUFFER, 1, MPI_INT, MPI_SUM, root, inter);
    else
        CALL(form, Reduce, reduce, &rank, NO_BUFFER, 1, MPI_INT, MPI_SUM, root, inter);
    CHECK(root != MPI_ROOT || in[0] == there * (there - 1));

    /* Without a root, both ways at once. */
    CALL(form, Allgather, allgather, &rank, 1, MPI_INT, in, 1, MPI_INT, inter);
    for (int i = 0; i < there; i++)
        CHECK(in[i] == 2 * i + !odd);
    memset(in, 0xff, sizeof in);
    CALL(form, Allgatherv, allgatherv, &rank, 1, MPI_INT, in, counts, places, MPI_INT, inter);
    for (int i = 0; i < there; i++)
        CHECK(in[i] == 2 * i + !odd);
    CALL(form, Alltoall, alltoall, out, 1, MPI_INT, in, 1, MPI_INT, inter);
    for (int i = 0; i < there; i++)
        CHECK(in[i] == 10 * (2 * i + !odd) + mine);
    memset(in, 0xff, sizeof in);
    CALL(form, Alltoallv, alltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT,
         inter);
    for (int i = 0; i < there; i++)
        CHECK(in[i] == 10 * (2 * i + !odd) + mine);
    memset(in, 0xff, sizeof in);
    CALL(form, Alltoallw, alltoallw, out, counts, bytes, types, in, counts, bytes, types, inter);
    for (int i = 0; i < there; i++)
        CHECK(in[i] == 10 * (2 * i + !odd) + mine);
    CALL(form, Allreduce, allreduce, &rank, in, 1, MPI_INT, MPI_SUM, inter);
    CHECK(in[0] == there * (there - 1) + (odd ? 0 : there));

    /* Both groups have here * there elements. */
    int many[MAX * MAX], block[MAX], shares[MAX];
    for (int i = 0; i < here * there; i++)
        many[i] = i;
    for (int i = 0; i < here; i++)
        shares[i] = there;
    CALL(form, Reduce_scatter_block, reduce_scatter_block, many, block, there, MPI_INT, MPI_SUM,
         inter);
    for (int i = 0; i < there; i++)
        CHECK(block[i] == there * (mine * there + i));
    memset(block, 0, sizeof block);
    CALL(form, Reduce_scatter, reduce_scatter, many, block, shares, MPI_INT, MPI_SUM, inter);
    for (int i = 0; i < there; i++)
        CHECK(block[i] == there * (mine * there + i));

    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

/* Several at once, started and finished together, and again. */
static void overlapping(void)
{
    MPI_Request requests[3];
    int x = rank == 0 ? 7 : 0, sum = 0, all[MAX];
    MPI_Ibcast(&x, 1, MPI_INT, 0, comm, &requests[0]);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(x == 7 && sum == size * (size - 1) / 2 && all[size - 1] == size - 1);
#ifdef HAVE_MPI_Barrier_init
    int own;
    MPI_Bcast_init(&x, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &requests[0]);
    MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]);
    for (int round = 0; round < 10; round++) {
        x = rank == size - 1 ? 100 + round : -1;
        own = rank + round;
        MPI_Startall(3, requests);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        CHECK(x == 100 + round && sum == size * (size - 1) / 2 + size * round);
    }
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
#endif
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    CHECK(size >= 2 && size <= MAX);
    for (int form = 0; form < FORMS; form++) {
        barrier_and_bcast(form);
        gather_and_scatter(form);
        gatherv_and_scatterv(form);
        allgather(form);
        alltoall(form);
        reduce(form);
        reduce_scatter(form);
        own_operators(form);
        between_groups(form);
        if (rank == 0)
            printf("%s ok\n", form_names[form]);
    }
    overlapping();
    if (rank == 0)
        printf("overlapping ok\n");
    MPI_Finalize();
    return 0;
}
