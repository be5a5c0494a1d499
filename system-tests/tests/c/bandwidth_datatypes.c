/* What data of derived datatypes are made of: those of every constructor, inside each other, received
 * whole and in part, freed before the data arrive, and others by the handle of one that is gone.
 * Each rank sends to itself. */
#include "moved.h"

#pragma GCC diagnostic ignored "-Wstringop-overflow"

#define P2P "point-to-point"

static const MPI_Comm self = MPI_COMM_SELF;
static _Alignas(16) char out[1 << 16], in[1 << 16];

/* What an element is made of. */
struct part {
    const char *name;
    int number;
};

static void both(const struct part *parts, int times)
{
    for (; parts->name; parts++) {
        moved(SENT, P2P, parts->name, (unsigned long)times * parts->number);
        moved(RECEIVED, P2P, parts->name, (unsigned long)times * parts->number);
    }
}

/* Sends some elements of the datatype blocking, nonblocking and persistent, and frees it while it is
 * in use; the receive has room for more. */
static void use(MPI_Datatype type, const struct part *parts)
{
    MPI_Request requests[2];
    MPI_Type_commit(&type);
    MPI_Sendrecv(out, 3, type, 0, 0, in, 5, type, 0, 0, self, MPI_STATUS_IGNORE);
    both(parts, 3);
    MPI_Irecv(in, 4, type, 0, 0, self, &requests[0]);
    MPI_Isend(out, 2, type, 0, 0, self, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    both(parts, 2);
    MPI_Recv_init(in, 4, type, 0, 0, self, &requests[0]);
    MPI_Send_init(out, 1, type, 0, 0, self, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    both(parts, 1);
    MPI_Startall(2, requests);
    MPI_Type_free(&type);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    both(parts, 1);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

#define PARTS(...) ((const struct part[]){__VA_ARGS__, {NULL, 0}})

static void constructors(void)
{
    MPI_Datatype type;
    const int lengths[3] = {1, 3, 2}, places[3] = {0, 2, 6};
    const MPI_Aint bytes[3] = {0, 16, 48};
    const int sizes[2] = {4, 5}, sub_sizes[2] = {2, 3}, starts[2] = {1, 1};
    MPI_Type_contiguous(4, MPI_INT, &type);
    use(type, PARTS({"MPI_INT", 4}));
    MPI_Type_contiguous(0, MPI_INT, &type);
    use(type, PARTS({"MPI_INT", 0}));
    MPI_Type_vector(3, 2, 4, MPI_SHORT, &type);
    use(type, PARTS({"MPI_SHORT", 6}));
    MPI_Type_create_hvector(2, 3, 40, MPI_FLOAT, &type);
    use(type, PARTS({"MPI_FLOAT", 6}));
    MPI_Type_indexed(3, lengths, places, MPI_LONG, &type);
    use(type, PARTS({"MPI_LONG", 6}));
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &type);
    use(type, PARTS({"MPI_INT", 6}));
    MPI_Type_create_indexed_block(3, 2, places, MPI_CHAR, &type);
    use(type, PARTS({"MPI_CHAR", 6}));
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_DOUBLE, &type);
    use(type, PARTS({"MPI_DOUBLE", 6}));
    MPI_Type_create_subarray(2, sizes, sub_sizes, starts, MPI_ORDER_C, MPI_INT, &type);
    use(type, PARTS({"MPI_INT", 6}));
    const int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_NONE};
    const int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, MPI_DISTRIBUTE_DFLT_DARG};
    const int grid[2] = {2, 1};
    MPI_Type_create_darray(2, 1, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_INT,
                           &type);
    use(type, PARTS({"MPI_INT", 10}));
    MPI_Type_create_resized(MPI_INT, -4, 24, &type);
    use(type, PARTS({"MPI_INT", 1}));
    MPI_Type_dup(MPI_DOUBLE, &type);
    use(type, PARTS({"MPI_DOUBLE", 1}));
    const MPI_Datatype mixed[3] = {MPI_CHAR, MPI_DOUBLE, MPI_INT};
    MPI_Type_create_struct(3, lengths, bytes, mixed, &type);
    use(type, PARTS({"MPI_CHAR", 1}, {"MPI_DOUBLE", 3}, {"MPI_INT", 2}));
    MPI_Type_create_struct(1, lengths + 1, bytes, mixed + 1, &type);
    use(type, PARTS({"MPI_DOUBLE", 3}));
    const MPI_Datatype same[3] = {MPI_INT, MPI_INT, MPI_INT};
    MPI_Type_create_struct(3, lengths, bytes, same, &type);
    use(type, PARTS({"MPI_INT", 6}));
    const int none[3] = {0, 3, 0};
    MPI_Type_create_struct(3, none, bytes, mixed, &type);
    use(type, PARTS({"MPI_DOUBLE", 3}));
    MPI_Type_contiguous(2, MPI_DOUBLE_INT, &type);
    use(type, PARTS({"MPI_DOUBLE_INT", 2}));
#ifdef HAVE_MPI_Type_contiguous_c
    const MPI_Count large_lengths[3] = {1, 3, 2}, large_places[3] = {0, 2, 6};
    const MPI_Count large_bytes[3] = {0, 16, 48};
    const MPI_Count large_sizes[2] = {4, 5}, large_sub[2] = {2, 3}, large_starts[2] = {1, 1};
    MPI_Type_contiguous_c(4, MPI_INT, &type);
    use(type, PARTS({"MPI_INT", 4}));
    MPI_Type_vector_c(3, 2, 4, MPI_SHORT, &type);
    use(type, PARTS({"MPI_SHORT", 6}));
    MPI_Type_create_hvector_c(2, 3, 40, MPI_FLOAT, &type);
    use(type, PARTS({"MPI_FLOAT", 6}));
    MPI_Type_indexed_c(3, large_lengths, large_places, MPI_LONG, &type);
    use(type, PARTS({"MPI_LONG", 6}));
    MPI_Type_create_hindexed_c(3, large_lengths, large_bytes, MPI_INT, &type);
    use(type, PARTS({"MPI_INT", 6}));
    MPI_Type_create_indexed_block_c(3, 2, large_places, MPI_CHAR, &type);
    use(type, PARTS({"MPI_CHAR", 6}));
    MPI_Type_create_hindexed_block_c(3, 2, large_bytes, MPI_DOUBLE, &type);
    use(type, PARTS({"MPI_DOUBLE", 6}));
    MPI_Type_create_subarray_c(2, large_sizes, large_sub, large_starts, MPI_ORDER_C, MPI_INT,
                               &type);
    use(type, PARTS({"MPI_INT", 6}));
    MPI_Type_create_resized_c(MPI_INT, -4, 24, &type);
    use(type, PARTS({"MPI_INT", 1}));
    MPI_Type_create_struct_c(3, large_lengths, large_bytes, mixed, &type);
    use(type, PARTS({"MPI_CHAR", 1}, {"MPI_DOUBLE", 3}, {"MPI_INT", 2}));
#endif
}

/* Datatypes of datatypes, whose own are freed at once; two that differ only far inside. */
static void nested(void)
{
    MPI_Datatype ints, doubles, two_ints, three_doubles, both_types[2], type, again;
    const int ones[2] = {1, 2};
    const MPI_Aint bytes[2] = {0, 256};
    MPI_Type_vector(2, 1, 2, MPI_INT, &ints);
    MPI_Type_vector(2, 1, 2, MPI_DOUBLE, &doubles);
    MPI_Type_contiguous(2, ints, &two_ints);
    MPI_Type_contiguous(3, doubles, &three_doubles);
    both_types[0] = two_ints;
    both_types[1] = three_doubles;
    MPI_Type_create_struct(2, ones, bytes, both_types, &type);
    MPI_Type_free(&ints);
    MPI_Type_free(&doubles);
    MPI_Type_free(&two_ints);
    MPI_Type_free(&three_doubles);
    /* The same twice, and more beside it. */
    both_types[0] = type;
    both_types[1] = MPI_BYTE;
    MPI_Type_create_struct(2, ones, (const MPI_Aint[]){0, 1024}, both_types, &again);
    MPI_Type_contiguous(2, again, &both_types[1]);
    MPI_Type_free(&again);
    use(both_types[1], PARTS({"MPI_INT", 2 * 4}, {"MPI_DOUBLE", 2 * 12}, {"MPI_BYTE", 2 * 2}));
    MPI_Type_dup(type, &again);
    MPI_Type_free(&type);
    use(again, PARTS({"MPI_INT", 4}, {"MPI_DOUBLE", 12}));
}

/* Part of an element: what of its type map the message had. */
static void in_part(void)
{
    MPI_Datatype type;
    const int lengths[2] = {2, 3};
    const MPI_Aint bytes[2] = {0, 16};
    MPI_Request request;
    MPI_Type_create_struct(2, lengths, bytes, (const MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
    MPI_Type_commit(&type);
    /* An int alone; two ints and a double, which are sent as what they are. */
    MPI_Isend(out, 1, MPI_INT, 0, 0, self, &request);
    moved(SENT, P2P, "MPI_INT", 1);
    MPI_Recv(in, 2, type, 0, 0, self, MPI_STATUS_IGNORE);
    moved(RECEIVED, P2P, "MPI_INT", 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Datatype begin;
    MPI_Type_create_struct(2, (const int[]){2, 1}, bytes,
                           (const MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &begin);
    MPI_Type_commit(&begin);
    MPI_Irecv(in, 2, type, 0, 0, self, &request);
    MPI_Send(out, 1, begin, 0, 0, self);
    MPI_Type_free(&type);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    moved(SENT, P2P, "MPI_INT", 2);
    moved(SENT, P2P, "MPI_DOUBLE", 1);
    moved(RECEIVED, P2P, "MPI_INT", 2);
    moved(RECEIVED, P2P, "MPI_DOUBLE", 1);
    MPI_Type_free(&begin);
}

/* One after another, of other contents: MPI gives the handle of the one before. */
static void handles_again(void)
{
    static const struct {
        const char *name;
        MPI_Datatype type;
    } kinds[3] = {{"MPI_INT", MPI_INT}, {"MPI_DOUBLE", MPI_DOUBLE}, {"MPI_CHAR", MPI_CHAR}};
    for (int i = 0; i < 30; i++) {
        MPI_Datatype type;
        MPI_Type_contiguous(1 + i % 4, kinds[i % 3].type, &type);
        MPI_Type_commit(&type);
        MPI_Sendrecv(out, 2, type, 0, 0, in, 2, type, 0, 0, self, MPI_STATUS_IGNORE);
        MPI_Type_free(&type);
        both(PARTS({kinds[i % 3].name, 2 * (1 + i % 4)}), 1);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    constructors();
    nested();
    in_part();
    handles_again();
    MPI_Finalize();
    return 0;
}
