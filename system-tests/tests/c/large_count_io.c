/* The functions on files with large counts (those that end in _c). Needs 2 ranks or more. */
#include "expect.h"

#ifdef HAVE_MPI_File_write_c

enum { N = 16 };

static int rank, size;
static char file_name[64];
static MPI_File file;

/* Errors on files are not fatal by default. */
#define OK(call) CHECK((call) == MPI_SUCCESS)

static void fill(int *data, int round)
{
    for (int i = 0; i < N; i++)
        data[i] = 10000 * round + 100 * rank + i;
}

static void check_from(const int *data, int round, int from)
{
    for (int i = 0; i < N; i++)
        CHECK(data[i] == 10000 * round + 100 * from + i);
}

/* What one rank has written, all see after this. */
static void settle(void)
{
    OK(MPI_File_sync(file));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_sync(file));
}

/* To an own place at the individual pointer, and with everybody the shared one to the start. */
static void rewind_all(void)
{
    settle();
    OK(MPI_File_seek(file, (MPI_Offset)N * rank, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(file, 0, MPI_SEEK_SET));
    MPI_Barrier(MPI_COMM_WORLD);
}

enum { PLAIN, NONBLOCKING, SPLIT };

static void finish(int form, MPI_Request *request, MPI_Status *status)
{
    MPI_Count count;
    if (form == NONBLOCKING)
        MPI_Wait(request, status);
    MPI_Get_count_c(status, MPI_INT, &count);
    CHECK(count == N);
}

/* Writes and reads with each kind of position; round tells the data apart. */
static void at_offsets(int form, int collective, int round)
{
    const MPI_Offset place = (MPI_Offset)N * rank;
    int out[N], in[N];
    MPI_Request request;
    MPI_Status status;
    fill(out, round);
    memset(in, 0, sizeof in);
    if (form == SPLIT) {
        OK(MPI_File_write_at_all_begin_c(file, place, out, N, MPI_INT));
        OK(MPI_File_write_at_all_end(file, out, &status));
    } else if (form == NONBLOCKING) {
        OK(collective ? MPI_File_iwrite_at_all_c(file, place, out, N, MPI_INT, &request)
                      : MPI_File_iwrite_at_c(file, place, out, N, MPI_INT, &request));
    } else {
        OK(collective ? MPI_File_write_at_all_c(file, place, out, N, MPI_INT, &status)
                      : MPI_File_write_at_c(file, place, out, N, MPI_INT, &status));
    }
    finish(form, &request, &status);
    settle();
    int other = (rank + 1) % size;
    const MPI_Offset there = (MPI_Offset)N * other;
    if (form == SPLIT) {
        OK(MPI_File_read_at_all_begin_c(file, there, in, N, MPI_INT));
        OK(MPI_File_read_at_all_end(file, in, &status));
    } else if (form == NONBLOCKING) {
        OK(collective ? MPI_File_iread_at_all_c(file, there, in, N, MPI_INT, &request)
                      : MPI_File_iread_at_c(file, there, in, N, MPI_INT, &request));
    } else {
        OK(collective ? MPI_File_read_at_all_c(file, there, in, N, MPI_INT, &status)
                      : MPI_File_read_at_c(file, there, in, N, MPI_INT, &status));
    }
    finish(form, &request, &status);
    check_from(in, round, other);
    settle();
}

static void at_own_pointer(int form, int collective, int round)
{
    int out[N], in[N];
    MPI_Request request;
    MPI_Status status;
    fill(out, round);
    memset(in, 0, sizeof in);
    rewind_all();
    if (form == SPLIT) {
        OK(MPI_File_write_all_begin_c(file, out, N, MPI_INT));
        OK(MPI_File_write_all_end(file, out, &status));
    } else if (form == NONBLOCKING) {
        OK(collective ? MPI_File_iwrite_all_c(file, out, N, MPI_INT, &request)
                      : MPI_File_iwrite_c(file, out, N, MPI_INT, &request));
    } else {
        OK(collective ? MPI_File_write_all_c(file, out, N, MPI_INT, &status)
                      : MPI_File_write_c(file, out, N, MPI_INT, &status));
    }
    finish(form, &request, &status);
    rewind_all();
    if (form == SPLIT) {
        OK(MPI_File_read_all_begin_c(file, in, N, MPI_INT));
        OK(MPI_File_read_all_end(file, in, &status));
    } else if (form == NONBLOCKING) {
        OK(collective ? MPI_File_iread_all_c(file, in, N, MPI_INT, &request)
                      : MPI_File_iread_c(file, in, N, MPI_INT, &request));
    } else {
        OK(collective ? MPI_File_read_all_c(file, in, N, MPI_INT, &status)
                      : MPI_File_read_c(file, in, N, MPI_INT, &status));
    }
    finish(form, &request, &status);
    check_from(in, round, rank);
    settle();
}

/* In the order of the ranks, or as they come: then each block is read by someone. */
static void at_shared_pointer(int form, int ordered, int round)
{
    int out[N], in[N];
    MPI_Request request;
    MPI_Status status;
    fill(out, round);
    memset(in, 0, sizeof in);
    rewind_all();
    if (form == SPLIT) {
        OK(MPI_File_write_ordered_begin_c(file, out, N, MPI_INT));
        OK(MPI_File_write_ordered_end(file, out, &status));
    } else if (form == NONBLOCKING) {
        OK(MPI_File_iwrite_shared_c(file, out, N, MPI_INT, &request));
    } else {
        OK(ordered ? MPI_File_write_ordered_c(file, out, N, MPI_INT, &status)
                   : MPI_File_write_shared_c(file, out, N, MPI_INT, &status));
    }
    finish(form, &request, &status);
    rewind_all();
    if (form == SPLIT) {
        OK(MPI_File_read_ordered_begin_c(file, in, N, MPI_INT));
        OK(MPI_File_read_ordered_end(file, in, &status));
    } else if (form == NONBLOCKING) {
        OK(MPI_File_iread_shared_c(file, in, N, MPI_INT, &request));
    } else {
        OK(ordered ? MPI_File_read_ordered_c(file, in, N, MPI_INT, &status)
                   : MPI_File_read_shared_c(file, in, N, MPI_INT, &status));
    }
    finish(form, &request, &status);
    int from = (in[0] - 10000 * round) / 100, sum;
    CHECK(from >= 0 && from < size && (!ordered || from == rank));
    check_from(in, round, from);
    MPI_Allreduce(&from, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    settle();
}

static int extent_of(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    MPI_Aint lower;
    (void)state;
    return MPI_Type_get_extent(type, &lower, extent);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int number = (int)getpid(), round = 0;
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
    snprintf(file_name, sizeof file_name, "large-count-io.%d", number);
    OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                     &file));
    OK(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));

    for (int collective = 0; collective < 2; collective++) {
        for (int form = PLAIN; form <= NONBLOCKING; form++) {
            at_offsets(form, collective, ++round);
            at_own_pointer(form, collective, ++round);
        }
        at_shared_pointer(PLAIN, collective, ++round);
    }
    at_shared_pointer(NONBLOCKING, 0, ++round);
    at_offsets(SPLIT, 1, ++round);
    at_own_pointer(SPLIT, 1, ++round);
    at_shared_pointer(SPLIT, 1, ++round);

    MPI_Count extent;
    OK(MPI_File_get_type_extent_c(file, MPI_INT, &extent));
    CHECK(extent == sizeof(int));
    OK(MPI_Register_datarep_c("own representation", MPI_CONVERSION_FN_NULL_C,
                              MPI_CONVERSION_FN_NULL_C, extent_of, NULL));
    OK(MPI_File_close(&file));
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        OK(MPI_File_delete(file_name, MPI_INFO_NULL));
        printf("files ok\n");
    }
    MPI_Finalize();
    return 0;
}

#else

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        printf("no large counts\n");
    MPI_Finalize();
    return 0;
}

#endif
