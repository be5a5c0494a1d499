/* All functions on datatypes without the forms with large counts: constructors, also those that
 * MPI-3.0 removed and mpi.h may still declare, enquiries, decoding, packing and addresses. */

/* Has Open MPI's mpi.h declare what MPI-3.0 removed and its library still has. */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#include "expect.h"

static int rank, size;

struct particle {
    double place[3];
    int kind;
    char name[4];
};

/* Commits the type, checks its size and bounds and that it carries data to oneself, frees it. */
static void use(MPI_Datatype *type, int bytes, MPI_Aint lower, MPI_Aint extent)
{
    int got_size, position = 0;
    MPI_Aint got_lower, got_extent;
    MPI_Count long_size, long_lower, long_extent;
    MPI_Type_commit(type);
    MPI_Type_size(*type, &got_size);
    CHECK(got_size == bytes);
    MPI_Type_size_x(*type, &long_size);
    CHECK(long_size == bytes);
    MPI_Type_get_extent(*type, &got_lower, &got_extent);
    CHECK(got_lower == lower && got_extent == extent);
    MPI_Type_get_extent_x(*type, &long_lower, &long_extent);
    CHECK(long_lower == lower && long_extent == extent);

    char from[4096], to[4096], packed[4096];
    memset(to, 0, sizeof to);
    for (int i = 0; i < 4096; i++)
        from[i] = (char)(i % 113 + 1);
    MPI_Sendrecv(from, 1, *type, rank, 1, packed, bytes, MPI_BYTE, rank, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Unpack(packed, bytes, &position, to, 1, *type, MPI_COMM_WORLD);
    int same = 0;
    for (int i = 0; i < 4096; i++)
        same += to[i] != 0 && to[i] == from[i];
    CHECK(same == bytes);
    MPI_Type_free(type);
    CHECK(*type == MPI_DATATYPE_NULL);
}

static void constructors(void)
{
    MPI_Datatype type, base;
    int lengths[2] = {1, 3}, offsets[2] = {0, 2};
    MPI_Aint bytes[2] = {0, 8};

    MPI_Type_contiguous(5, MPI_INT, &type);
    use(&type, 20, 0, 20);
    MPI_Type_vector(3, 2, 4, MPI_INT, &type);
    use(&type, 24, 0, 40);
    MPI_Type_create_hvector(3, 2, 16, MPI_INT, &type);
    use(&type, 24, 0, 40);
    MPI_Type_indexed(2, lengths, offsets, MPI_INT, &type);
    use(&type, 16, 0, 20);
    MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &type);
    use(&type, 16, 0, 20);
    MPI_Type_create_indexed_block(2, 2, offsets, MPI_INT, &type);
    use(&type, 16, 0, 16);
    MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &type);
    use(&type, 16, 0, 16);
    MPI_Type_create_resized(MPI_INT, -4, 24, &type);
    use(&type, 4, -4, 24);
    MPI_Type_dup(MPI_DOUBLE, &type);
    use(&type, 8, 0, 8);

    struct particle one;
    MPI_Aint start, places[3];
    int counts[3] = {3, 1, 4};
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_INT, MPI_CHAR};
    MPI_Get_address(&one, &start);
    MPI_Get_address(one.place, &places[0]);
    MPI_Get_address(&one.kind, &places[1]);
    MPI_Get_address(one.name, &places[2]);
    for (int i = 0; i < 3; i++)
        places[i] = MPI_Aint_diff(places[i], start);
    CHECK(MPI_Aint_add(start, places[1]) == (MPI_Aint)&one.kind);
    MPI_Type_create_struct(3, counts, places, types, &type);
    use(&type, 32, 0, sizeof one);

    int whole[2] = {6, 8}, part[2] = {2, 3}, from[2] = {1, 4};
    MPI_Type_create_subarray(2, whole, part, from, MPI_ORDER_C, MPI_INT, &type);
    use(&type, 24, 0, 192);
    int sizes[2] = {8, 8}, grid[2] = {2, 2};
    int distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
    int arguments[2] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
    MPI_Type_create_darray(4, rank % 4, 2, sizes, distributions, arguments, grid, MPI_ORDER_C,
                           MPI_INT, &type);
    use(&type, 64, 0, 256);

    MPI_Type_vector(2, 1, 2, MPI_INT, &base);
    MPI_Type_contiguous(3, base, &type);
    MPI_Type_free(&base);
    use(&type, 24, 0, 36);
}

/* The functions that MPI-3.0 removed; the header of the standard ABI does not declare them. */
static void removed(void)
{
#if defined(HAVE_MPI_Address) && !defined(MPI_H_ABI)
    int lengths[2] = {1, 3}, value = 0;
    MPI_Aint bytes[2] = {0, 8}, place, got;
    MPI_Datatype type, types[2] = {MPI_INT, MPI_INT};
    MPI_Type_hvector(3, 2, 16, MPI_INT, &type);
    use(&type, 24, 0, 40);
    MPI_Type_hindexed(2, lengths, bytes, MPI_INT, &type);
    use(&type, 16, 0, 20);
    MPI_Type_struct(2, lengths, bytes, types, &type);
    MPI_Type_extent(type, &got);
    CHECK(got == 20);
    MPI_Type_lb(type, &got);
    CHECK(got == 0);
    MPI_Type_ub(type, &got);
    CHECK(got == 20);
    use(&type, 16, 0, 20);
    MPI_Address(&value, &place);
    MPI_Get_address(&value, &got);
    CHECK(place == got);
#endif
}

static void enquiries(void)
{
    MPI_Datatype type, inner, types[1], match;
    int offsets[2] = {3, 1}, blocks[2] = {1, 1};
    int integers, addresses, count, combiner, numbers[8], length;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Aint lower, extent, displacements[1];
    MPI_Count long_lower, long_extent;

    MPI_Type_create_resized(MPI_SHORT, 0, 8, &inner);
    MPI_Type_indexed(2, blocks, offsets, inner, &type);
    MPI_Type_get_true_extent(type, &lower, &extent);
    CHECK(lower == 8 && extent == 18);
    MPI_Type_get_true_extent_x(type, &long_lower, &long_extent);
    CHECK(long_lower == 8 && long_extent == 18);

    MPI_Type_get_envelope(type, &integers, &addresses, &count, &combiner);
    CHECK(integers == 5 && addresses == 0 && count == 1 && combiner == MPI_COMBINER_INDEXED);
    MPI_Type_get_contents(type, 8, 1, 1, numbers, displacements, types);
    CHECK(numbers[0] == 2 && numbers[1] == 1 && numbers[2] == 1);
    CHECK(numbers[3] == 3 && numbers[4] == 1);
    MPI_Type_get_envelope(types[0], &integers, &addresses, &count, &combiner);
    CHECK(integers == 0 && addresses == 2 && count == 1 && combiner == MPI_COMBINER_RESIZED);
    MPI_Type_free(&types[0]);
    MPI_Type_get_envelope(MPI_INT, &integers, &addresses, &count, &combiner);
    CHECK(combiner == MPI_COMBINER_NAMED);

    MPI_Type_set_name(type, "every other short");
    MPI_Type_get_name(type, name, &length);
    CHECK(length == 17 && strcmp(name, "every other short") == 0);
    MPI_Type_get_name(MPI_INT, name, &length);
    CHECK(strcmp(name, "MPI_INT") == 0);
    MPI_Type_free(&type);
    MPI_Type_free(&inner);

    /* Not to be had in an MPI without Fortran; not to be freed. */
    int works[4];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    works[0] = MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 4, &match) == MPI_SUCCESS;
    works[1] = MPI_Type_create_f90_real(6, 30, &match) == MPI_SUCCESS;
    works[2] = MPI_Type_create_f90_integer(9, &match) == MPI_SUCCESS;
    works[3] = MPI_Type_create_f90_complex(12, MPI_UNDEFINED, &match) == MPI_SUCCESS;
#ifdef HAVE_MPI_Type_get_value_index
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &match);
    CHECK(match == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_CHAR, MPI_CHAR, &match);
    CHECK(match == MPI_DATATYPE_NULL);
#endif
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    if (rank == 0)
        printf("Fortran types: match %d, real %d, integer %d, complex %d\n", works[0], works[1],
               works[2], works[3]);
}

static void packing(void)
{
    int bytes, more, position = 0, number = 40 + rank, got;
    double fraction = 0.25 * rank, got_fraction;
    char packed[256];
    MPI_Pack_size(1, MPI_INT, MPI_COMM_WORLD, &bytes);
    MPI_Pack_size(1, MPI_DOUBLE, MPI_COMM_WORLD, &more);
    CHECK(bytes >= 4 && more >= 8 && bytes + more <= (int)sizeof packed);
    MPI_Pack(&number, 1, MPI_INT, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Pack(&fraction, 1, MPI_DOUBLE, packed, sizeof packed, &position, MPI_COMM_WORLD);
    MPI_Sendrecv_replace(packed, position, MPI_PACKED, (rank + 1) % size, 2,
                         (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const int from = (rank + size - 1) % size, length = position;
    position = 0;
    MPI_Unpack(packed, length, &position, &got, 1, MPI_INT, MPI_COMM_WORLD);
    MPI_Unpack(packed, length, &position, &got_fraction, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    CHECK(got == 40 + from && got_fraction == 0.25 * from && position == length);

    MPI_Aint external, place = 0;
    MPI_Pack_external_size("external32", 1, MPI_INT, &external);
    CHECK(external == 4);
    MPI_Pack_external("external32", &number, 1, MPI_INT, packed, sizeof packed, &place);
    CHECK(place == 4 && packed[0] == 0 && packed[3] == number);
    place = 0;
    MPI_Unpack_external("external32", packed, 4, &place, &got, 1, MPI_INT);
    CHECK(got == number);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    constructors();
    removed();
    enquiries();
    packing();
    MPI_Finalize();
    if (rank == 0)
        printf("all types as they should be\n");
    return 0;
}
