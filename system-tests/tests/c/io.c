/* All functions on files: every form of read and write (at an offset, at the file pointer, at the
 * shared one; alone or collective; blocking, nonblocking or split), views, pointers, and what can
 * be asked of a file and set. The forms with large counts are elsewhere. */
#include "expect.h"

enum { COUNT = 64 };

static const char file_name[] = "io-test.data";
static int rank, size;
static MPI_File file;
static long long checksum;

/* Errors on files are not fatal by default. */
#define OK(call) CHECK((call) == MPI_SUCCESS)

static void fill(int *data, int round)
{
    for (int i = 0; i < COUNT; i++)
        data[i] = round * 1000000 + rank * 1000 + i;
}

/* What was read is what this rank, or the rank given, has written in that round. */
static void check_from(const int *data, int round, int from)
{
    for (int i = 0; i < COUNT; i++) {
        CHECK(data[i] == round * 1000000 + from * 1000 + i);
        checksum += data[i];
    }
}

static void check_status(MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    CHECK(count == COUNT);
}

static void wait_for(MPI_Request *request)
{
    MPI_Status status;
    OK(MPI_Wait(request, &status));
    check_status(&status);
}

/* Makes the collective writes of all ranks visible to all. */
static void settle(void)
{
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
}

/* Reads and writes at explicit offsets: blocks of the ranks in their order. */
static void at_offsets(void)
{
    int out[COUNT], in[COUNT];
    const MPI_Offset mine = (MPI_Offset)rank * COUNT;
    MPI_Status status;
    MPI_Request request;
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));

    fill(out, 1);
    OK(MPI_File_write_at(file, mine, out, COUNT, MPI_INT, &status));
    check_status(&status);
    OK(MPI_File_read_at(file, mine, in, COUNT, MPI_INT, &status));
    check_status(&status);
    check_from(in, 1, rank);

    fill(out, 2);
    OK(MPI_File_write_at_all(file, mine, out, COUNT, MPI_INT, &status));
    check_status(&status);
    settle();
    const int next = (rank + 1) % size;
    OK(MPI_File_read_at_all(file, (MPI_Offset)next * COUNT, in, COUNT, MPI_INT, &status));
    check_status(&status);
    check_from(in, 2, next);
    MPI_Barrier(MPI_COMM_WORLD);

    fill(out, 3);
    OK(MPI_File_iwrite_at(file, mine, out, COUNT, MPI_INT, &request));
    wait_for(&request);
    OK(MPI_File_iread_at(file, mine, in, COUNT, MPI_INT, &request));
    wait_for(&request);
    check_from(in, 3, rank);

    fill(out, 4);
    OK(MPI_File_write_at_all_begin(file, mine, out, COUNT, MPI_INT));
    OK(MPI_File_write_at_all_end(file, out, &status));
    check_status(&status);
    settle();
    OK(MPI_File_read_at_all_begin(file, mine, in, COUNT, MPI_INT));
    OK(MPI_File_read_at_all_end(file, in, &status));
    check_status(&status);
    check_from(in, 4, rank);

#ifdef HAVE_MPI_File_iwrite_at_all
    fill(out, 5);
    OK(MPI_File_iwrite_at_all(file, mine, out, COUNT, MPI_INT, &request));
    wait_for(&request);
    settle();
    OK(MPI_File_iread_at_all(file, mine, in, COUNT, MPI_INT, &request));
    wait_for(&request);
    check_from(in, 5, rank);
#endif
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Reads and writes at the file pointer, in a view in which the ranks' blocks alternate. */
static void at_pointer(void)
{
    int out[COUNT], in[COUNT];
    MPI_Status status;
    MPI_Request request;
    MPI_Datatype block, every;
    MPI_Type_contiguous(8, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(int) * 8 * size, &every);
    MPI_Type_commit(&every);
    const MPI_Offset start = (MPI_Offset)rank * 8 * sizeof(int);
    OK(MPI_File_set_view(file, start, MPI_INT, every, "native", MPI_INFO_NULL));

    MPI_Offset displacement, position;
    MPI_Datatype etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING];
    OK(MPI_File_get_view(file, &displacement, &etype, &filetype, representation));
    CHECK(displacement == start && strcmp(representation, "native") == 0);
    int integers, addresses, types, combiner;
    MPI_Type_get_envelope(filetype, &integers, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&filetype);
    OK(MPI_File_get_byte_offset(file, 8, &position));
    CHECK(position == start + (MPI_Offset)sizeof(int) * 8 * size);

    fill(out, 6);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write(file, out, COUNT, MPI_INT, &status));
    check_status(&status);
    OK(MPI_File_get_position(file, &position));
    CHECK(position == COUNT);
    OK(MPI_File_seek(file, -COUNT, MPI_SEEK_CUR));
    OK(MPI_File_read(file, in, COUNT, MPI_INT, &status));
    check_status(&status);
    check_from(in, 6, rank);

    fill(out, 7);
    OK(MPI_File_write_all(file, out, COUNT, MPI_INT, &status));
    check_status(&status);
    OK(MPI_File_seek(file, COUNT, MPI_SEEK_SET));
    OK(MPI_File_read_all(file, in, COUNT, MPI_INT, &status));
    check_status(&status);
    check_from(in, 7, rank);

    fill(out, 8);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_iwrite(file, out, COUNT, MPI_INT, &request));
    wait_for(&request);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_iread(file, in, COUNT, MPI_INT, &request));
    wait_for(&request);
    check_from(in, 8, rank);

    fill(out, 9);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_write_all_begin(file, out, COUNT, MPI_INT));
    OK(MPI_File_write_all_end(file, out, &status));
    check_status(&status);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_read_all_begin(file, in, COUNT, MPI_INT));
    OK(MPI_File_read_all_end(file, in, &status));
    check_status(&status);
    check_from(in, 9, rank);

#ifdef HAVE_MPI_File_iwrite_all
    fill(out, 10);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_iwrite_all(file, out, COUNT, MPI_INT, &request));
    wait_for(&request);
    OK(MPI_File_seek(file, 0, MPI_SEEK_SET));
    OK(MPI_File_iread_all(file, in, COUNT, MPI_INT, &request));
    wait_for(&request);
    check_from(in, 10, rank);
#endif
    MPI_Type_free(&every);
    MPI_Type_free(&block);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Back to the start of the file, for all ranks together. */
static void rewind_shared(void)
{
    settle();
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every block is as some rank has written it, whichever comes first. */
static void check_any(const int *data, int round)
{
    check_from(data, round, data[0] / 1000 % 1000);
}

/* Reads and writes at the shared file pointer. */
static void at_shared_pointer(void)
{
    int out[COUNT], in[COUNT];
    MPI_Status status;
    MPI_Request request;
    MPI_Offset position;
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    rewind_shared();

    fill(out, 11);
    OK(MPI_File_write_shared(file, out, COUNT, MPI_INT, &status));
    check_status(&status);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(file, &position));
    CHECK(position == (MPI_Offset)size * COUNT);
    rewind_shared();
    OK(MPI_File_read_shared(file, in, COUNT, MPI_INT, &status));
    check_status(&status);
    check_any(in, 11);
    rewind_shared();

    fill(out, 12);
    OK(MPI_File_iwrite_shared(file, out, COUNT, MPI_INT, &request));
    wait_for(&request);
    rewind_shared();
    OK(MPI_File_iread_shared(file, in, COUNT, MPI_INT, &request));
    wait_for(&request);
    check_any(in, 12);
    rewind_shared();

    fill(out, 13);
    OK(MPI_File_write_ordered(file, out, COUNT, MPI_INT, &status));
    check_status(&status);
    rewind_shared();
    OK(MPI_File_read_ordered(file, in, COUNT, MPI_INT, &status));
    check_status(&status);
    check_from(in, 13, rank);
    rewind_shared();

    fill(out, 14);
    OK(MPI_File_write_ordered_begin(file, out, COUNT, MPI_INT));
    OK(MPI_File_write_ordered_end(file, out, &status));
    check_status(&status);
    rewind_shared();
    OK(MPI_File_read_ordered_begin(file, in, COUNT, MPI_INT));
    OK(MPI_File_read_ordered_end(file, in, &status));
    check_status(&status);
    check_from(in, 14, rank);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* What can be asked of a file, and set. */
static void properties(void)
{
    int mode, flag, members, result;
    OK(MPI_File_get_amode(file, &mode));
    CHECK(mode == (MPI_MODE_CREATE | MPI_MODE_RDWR));

    MPI_Group group, world;
    OK(MPI_File_get_group(file, &group));
    MPI_Group_size(group, &members);
    CHECK(members == size);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &result);
    CHECK(result == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);

    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "access_style", "read_once,sequential");
    OK(MPI_File_set_info(file, info));
    MPI_Info_free(&info);
    OK(MPI_File_get_info(file, &info));
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_free(&info);

    OK(MPI_File_set_atomicity(file, 1));
    OK(MPI_File_get_atomicity(file, &flag));
    CHECK(flag);
    OK(MPI_File_set_atomicity(file, 0));
    OK(MPI_File_get_atomicity(file, &flag));
    CHECK(!flag);

    MPI_Aint extent;
    OK(MPI_File_get_type_extent(file, MPI_INT, &extent));
    CHECK(extent == sizeof(int));

    MPI_Offset bytes;
    OK(MPI_File_set_size(file, 1000));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_preallocate(file, 5000));
    OK(MPI_File_get_size(file, &bytes));
    CHECK(bytes == 5000);

    MPI_Errhandler handler;
    OK(MPI_File_get_errhandler(file, &handler));
    CHECK(handler == MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    OK(MPI_File_set_errhandler(file, MPI_ERRORS_RETURN));
}

static int extent_of(MPI_Datatype datatype, MPI_Aint *extent, void *extra_state)
{
    (void)extra_state;
    MPI_Aint lower;
    return MPI_Type_get_extent(datatype, &lower, extent);
}

/* A data representation of one's own: can be registered once; MPIs need not be able to use it. */
static void representations(void)
{
    /* Errors that belong to no object are raised on one of these, depending on the MPI. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int first = MPI_Register_datarep("ours", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                                     extent_of, NULL);
    int second = MPI_Register_datarep("ours", MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL,
                                      extent_of, NULL);
    if (rank == 0)
        printf("representation: first %s, second %s\n", first == MPI_SUCCESS ? "works" : "fails",
               second == MPI_SUCCESS ? "works" : "fails");
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* Opening what is not there fails, and so does deleting it. */
static void missing_file(void)
{
    MPI_File none;
    MPI_Errhandler handler;
    int class;
    OK(MPI_File_get_errhandler(MPI_FILE_NULL, &handler));
    OK(MPI_File_set_errhandler(MPI_FILE_NULL, handler));
    MPI_Errhandler_free(&handler);
    MPI_Error_class(MPI_File_open(MPI_COMM_SELF, "not-there/file", MPI_MODE_RDONLY, MPI_INFO_NULL,
                                  &none), &class);
    CHECK(class == MPI_ERR_NO_SUCH_FILE);
    MPI_Error_class(MPI_File_delete("not-there/file", MPI_INFO_NULL), &class);
    CHECK(class == MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file));
    at_offsets();
    at_pointer();
    at_shared_pointer();
    properties();
    OK(MPI_File_close(&file));
    CHECK(file == MPI_FILE_NULL);
    representations();
    missing_file();

    long long total;
    MPI_Reduce(&checksum, &total, 1, MPI_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_File_delete(file_name, MPI_INFO_NULL));
        printf("sum of all that was read: %lld\n", total);
    }
    MPI_Finalize();
    return 0;
}
