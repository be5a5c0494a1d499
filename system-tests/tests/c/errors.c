/* Erroneous calls under MPI_ERRORS_RETURN. Rank 0 prints the class of each error; MPI libraries
 * differ in what they find wrong and in what they call it, but a tool must change nothing. Every
 * call fails before it communicates. Needs 2 ranks or more. */
#include "expect.h"

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

static int rank, size;
static const MPI_Comm comm = MPI_COMM_WORLD;

static const struct {
    int class;
    const char *name;
} classes[] = {
#define CLASS(name) {name, #name}
    CLASS(MPI_SUCCESS),       CLASS(MPI_ERR_BUFFER),      CLASS(MPI_ERR_COUNT),
    CLASS(MPI_ERR_TYPE),      CLASS(MPI_ERR_TAG),         CLASS(MPI_ERR_COMM),
    CLASS(MPI_ERR_RANK),      CLASS(MPI_ERR_REQUEST),     CLASS(MPI_ERR_ROOT),
    CLASS(MPI_ERR_GROUP),     CLASS(MPI_ERR_OP),          CLASS(MPI_ERR_TOPOLOGY),
    CLASS(MPI_ERR_DIMS),      CLASS(MPI_ERR_ARG),         CLASS(MPI_ERR_UNKNOWN),
    CLASS(MPI_ERR_TRUNCATE),  CLASS(MPI_ERR_OTHER),       CLASS(MPI_ERR_INTERN),
    CLASS(MPI_ERR_PENDING),   CLASS(MPI_ERR_IN_STATUS),   CLASS(MPI_ERR_ACCESS),
    CLASS(MPI_ERR_AMODE),     CLASS(MPI_ERR_BAD_FILE),    CLASS(MPI_ERR_FILE),
    CLASS(MPI_ERR_INFO),      CLASS(MPI_ERR_INFO_KEY),    CLASS(MPI_ERR_INFO_NOKEY),
    CLASS(MPI_ERR_IO),        CLASS(MPI_ERR_INFO_VALUE),  CLASS(MPI_ERR_KEYVAL),
    CLASS(MPI_ERR_NO_MEM),    CLASS(MPI_ERR_NO_SUCH_FILE), CLASS(MPI_ERR_SIZE),
    CLASS(MPI_ERR_UNSUPPORTED_OPERATION), CLASS(MPI_ERR_WIN), CLASS(MPI_ERR_DISP),
    CLASS(MPI_ERR_LOCKTYPE),  CLASS(MPI_ERR_ASSERT),      CLASS(MPI_ERR_RMA_CONFLICT),
    CLASS(MPI_ERR_RMA_SYNC),  CLASS(MPI_ERR_RMA_RANGE),
#ifdef MPI_ERR_ERRHANDLER
    CLASS(MPI_ERR_ERRHANDLER),
#endif
};

static void show(const char *call, int code)
{
    const char *name = "another class";
    int class = -1;
    CHECK(MPI_Error_class(code, &class) == MPI_SUCCESS);
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].class == class)
            name = classes[i].name;
    if (rank == 0)
        printf("%s: %s\n", call, name);
}

/* Makes the call, and shows it with its outcome. */
#define TRY(...) show(#__VA_ARGS__, __VA_ARGS__)

static void point_to_point(void)
{
    int x[4] = {0}, flag;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Datatype uncommitted;
    TRY(MPI_Send(x, 1, MPI_INT, size, 0, comm));
    TRY(MPI_Send(x, 1, MPI_INT, -77, 0, comm));
    TRY(MPI_Send(x, 1, MPI_INT, MPI_ANY_SOURCE, 0, comm));
    TRY(MPI_Send(x, 1, MPI_INT, 0, -77, comm));
    TRY(MPI_Send(x, 1, MPI_INT, 0, MPI_ANY_TAG, comm));
    TRY(MPI_Send(x, -1, MPI_INT, 0, 0, comm));
    TRY(MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, comm));
    TRY(MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    TRY(MPI_Send(NULL, 1, MPI_INT, rank, 0, comm));
    TRY(MPI_Ssend(x, 1, MPI_INT, size, 0, comm));
    TRY(MPI_Bsend(x, 1, MPI_INT, size, 0, comm));
    TRY(MPI_Rsend(x, -1, MPI_INT, 0, 0, comm));
    TRY(MPI_Recv(x, 1, MPI_INT, size, 0, comm, &status));
    TRY(MPI_Recv(x, 1, MPI_INT, 0, -77, comm, &status));
    TRY(MPI_Recv(x, -1, MPI_INT, 0, 0, comm, &status));
    TRY(MPI_Recv(x, 1, MPI_DATATYPE_NULL, 0, 0, comm, MPI_STATUS_IGNORE));
    TRY(MPI_Recv(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL, &status));
    TRY(MPI_Isend(x, 1, MPI_INT, size, 0, comm, &request));
    TRY(MPI_Irecv(x, -1, MPI_INT, 0, 0, comm, &request));
    TRY(MPI_Send_init(x, 1, MPI_INT, 0, -77, comm, &request));
    TRY(MPI_Recv_init(x, 1, MPI_DATATYPE_NULL, 0, 0, comm, &request));
    TRY(MPI_Sendrecv(x, 1, MPI_INT, size, 0, x + 1, 1, MPI_INT, 0, 0, comm, &status));
    TRY(MPI_Sendrecv_replace(x, -1, MPI_INT, 0, 0, 0, 0, comm, &status));
    TRY(MPI_Probe(size, 0, comm, &status));
    TRY(MPI_Iprobe(0, -77, comm, &flag, &status));
    TRY(MPI_Mprobe(0, -77, comm, &message, &status));
    MPI_Type_contiguous(2, MPI_INT, &uncommitted);
    TRY(MPI_Send(x, 1, uncommitted, 0, 0, comm));
    MPI_Type_free(&uncommitted);

    TRY(MPI_Wait(&request, &status)); /* null, which is no error */
    TRY(MPI_Test(&request, &flag, &status));
    TRY(MPI_Start(&request));
    TRY(MPI_Startall(1, &request));
    TRY(MPI_Cancel(&request));
    TRY(MPI_Request_free(&request));
    TRY(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE));
#ifndef OPEN_MPI /* which aborts, as if there were no error handler */
    TRY(MPI_Mrecv(x, 1, MPI_INT, &message, &status));
#endif

    MPI_Isend(x, 4, MPI_INT, rank, 0, comm, &request);
    TRY(MPI_Recv(x, 1, MPI_INT, rank, 0, comm, &status));
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void collectives(void)
{
    int x[2] = {0}, y[2] = {0};
    double d = 0, e;
    MPI_Op op = MPI_OP_NULL;
    MPI_Request request;
    TRY(MPI_Bcast(x, 1, MPI_INT, size, comm));
    TRY(MPI_Bcast(x, 1, MPI_INT, -77, comm));
    TRY(MPI_Bcast(x, -1, MPI_INT, 0, comm));
    TRY(MPI_Bcast(x, 1, MPI_DATATYPE_NULL, 0, comm));
    TRY(MPI_Bcast(x, 1, MPI_INT, 0, MPI_COMM_NULL));
    TRY(MPI_Barrier(MPI_COMM_NULL));
    TRY(MPI_Ibcast(x, 1, MPI_INT, size, comm, &request));
    TRY(MPI_Ibarrier(MPI_COMM_NULL, &request));
    TRY(MPI_Gather(x, 1, MPI_INT, y, 1, MPI_INT, size, comm));
    TRY(MPI_Scatter(x, 1, MPI_INT, y, 1, MPI_INT, -77, comm));
    TRY(MPI_Allgather(x, -1, MPI_INT, y, 1, MPI_INT, comm));
    TRY(MPI_Alltoall(x, 1, MPI_INT, y, 1, MPI_DATATYPE_NULL, comm));
    TRY(MPI_Reduce(x, y, 1, MPI_INT, MPI_SUM, size, comm));
    TRY(MPI_Allreduce(x, y, 1, MPI_INT, MPI_OP_NULL, comm));
    TRY(MPI_Allreduce(&d, &e, 1, MPI_DOUBLE, MPI_BAND, comm));
    TRY(MPI_Scan(x, y, 1, MPI_INT, MPI_OP_NULL, comm));
    TRY(MPI_Reduce_local(x, y, 1, MPI_INT, MPI_OP_NULL));
    TRY(MPI_Op_free(&op));
    op = MPI_SUM;
    TRY(MPI_Op_free(&op));
}

/* Requests that a tool may want to look at: there are none, or they fail, one of several. */
static void requests(void)
{
    /* The last three have values: behind the MPI-5 ABI, MPICH 5.0.2 follows what they say after an error, too. */
    int x[4] = {0}, y[4], indices[3], flag = 0, index = MPI_UNDEFINED, count = 0;
    MPI_Request none = MPI_REQUEST_NULL, some[3];
    MPI_Status statuses[3];
    TRY(MPI_Wait(NULL, &statuses[0]));
    TRY(MPI_Test(NULL, &flag, MPI_STATUS_IGNORE));
#ifndef MPI_H_ABI /* MPICH 5.0.2 looks into null arrays behind the MPI-5 ABI */
    TRY(MPI_Waitall(2, NULL, MPI_STATUSES_IGNORE));
    TRY(MPI_Waitany(2, NULL, &index, MPI_STATUS_IGNORE));
    TRY(MPI_Testsome(2, NULL, &count, indices, MPI_STATUSES_IGNORE));
#endif
    TRY(MPI_Testall(-1, &none, &flag, MPI_STATUSES_IGNORE));
    TRY(MPI_Testany(-1, &none, &index, &flag, MPI_STATUS_IGNORE));
    TRY(MPI_Waitsome(-1, &none, &count, indices, MPI_STATUSES_IGNORE));
    TRY(MPI_Start(NULL));
    TRY(MPI_Startall(-1, &none));
    TRY(MPI_Request_free(NULL));
    TRY(MPI_Isend(x, 1, MPI_INT, size, 0, comm, &none));
    TRY(MPI_Isend(x, 1, MPI_INT, rank, 0, comm, NULL));

    /* The one in the middle is too short, in several ways to wait. */
    for (int way = 0; way < 6; way++) {
        for (int i = 0; i < 3; i++)
            MPI_Irecv(y + i, 1, MPI_INT, rank, i, comm, &some[i]);
        for (int i = 0; i < 3; i++)
            MPI_Send(x, i == 1 ? 2 : 1, MPI_INT, rank, i, comm);
        switch (way) {
        case 0:
            TRY(MPI_Waitall(3, some, statuses));
            break;
        case 1:
            TRY(MPI_Waitall(3, some, MPI_STATUSES_IGNORE));
            break;
        case 2:
            TRY(MPI_Testall(3, some, &flag, statuses));
            break;
        case 3:
            TRY(MPI_Wait(&some[1], MPI_STATUS_IGNORE));
            break;
        case 4:
            TRY(MPI_Test(&some[1], &flag, &statuses[1]));
            break;
        case 5:
            TRY(MPI_Waitsome(3, some, &count, indices, statuses));
            break;
        }
        /* Known difference: where the program ignores statuses, MPICH completes all; where a tool
         * that watches completion has statuses for it, MPICH may leave some pending. MPI allows
         * both. */
        for (int i = 0; i < 3; i++) {
            int code = MPI_SUCCESS, left = some[i] != MPI_REQUEST_NULL;
            if (left || way == 1)
                code = MPI_Wait(&some[i], MPI_STATUS_IGNORE);
            if (left && way != 1)
                show("what is left", code);
        }
    }
}

/* Counts, ranks and datatypes in the arrays of collective operations, and in other buffers that a
 * tool may take apart. */
static void buffers(void)
{
    int x[64] = {0}, y[64], zeros[64] = {0}, negative[64];
    MPI_Datatype none[64];
    MPI_Request request;
    for (int i = 0; i < 64; i++) {
        negative[i] = -1;
        none[i] = MPI_DATATYPE_NULL;
    }
    TRY(MPI_Bcast(x, 1, MPI_INT, MPI_PROC_NULL, comm));
    TRY(MPI_Bcast(x, 1, MPI_INT, MPI_ROOT, comm));
    TRY(MPI_Allgatherv(x, 1, MPI_DATATYPE_NULL, y, zeros, zeros, MPI_INT, comm));
    TRY(MPI_Alltoallv(x, negative, zeros, MPI_DATATYPE_NULL, y, negative, zeros, MPI_INT, comm));
    TRY(MPI_Alltoallw(x, zeros, zeros, none, y, zeros, zeros, none, MPI_COMM_NULL));
    TRY(MPI_Reduce_scatter(x, y, negative, MPI_INT, MPI_SUM, comm));
    TRY(MPI_Reduce_scatter_block(x, y, 1, MPI_INT, MPI_OP_NULL, comm));
    TRY(MPI_Exscan(x, y, 1, MPI_INT, MPI_OP_NULL, comm));
    TRY(MPI_Iallreduce(x, y, 1, MPI_INT, MPI_OP_NULL, comm, &request));
    TRY(MPI_Igatherv(x, 1, MPI_INT, y, zeros, zeros, MPI_INT, size, comm, &request));
    TRY(MPI_Neighbor_alltoall(x, 1, MPI_INT, y, 1, MPI_INT, MPI_COMM_NULL));
    TRY(MPI_Get(x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
    TRY(MPI_Accumulate(x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, MPI_WIN_NULL));
    TRY(MPI_Compare_and_swap(x, x, y, MPI_INT, 0, 0, MPI_WIN_NULL));
#ifdef HAVE_MPI_Bcast_init
    TRY(MPI_Bcast_init(x, 1, MPI_INT, size, comm, MPI_INFO_NULL, &request));
#endif
#if defined HAVE_MPI_Psend_init && !defined OPEN_MPI /* which aborts */
    TRY(MPI_Psend_init(x, 2, 1, MPI_INT, size, 0, comm, MPI_INFO_NULL, &request));
#endif
#ifdef HAVE_MPI_Send_c
    TRY(MPI_Send_c(x, -1, MPI_INT, 0, 0, comm));
    TRY(MPI_Recv_c(x, 1, MPI_INT, size, 0, comm, MPI_STATUS_IGNORE));
    TRY(MPI_Allreduce_c(x, y, 1, MPI_INT, MPI_OP_NULL, comm));
#endif
#ifndef MPI_H_ABI /* MPICH 5.0.2 crashes on a null file behind the MPI-5 ABI */
    TRY(MPI_File_write(MPI_FILE_NULL, x, 1, MPI_INT, MPI_STATUS_IGNORE));
    TRY(MPI_File_iread_at(MPI_FILE_NULL, 0, x, 1, MPI_INT, &request));
    TRY(MPI_File_read_all_end(MPI_FILE_NULL, x, MPI_STATUS_IGNORE));
#endif
}

static void communicators_and_groups(void)
{
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group group = MPI_GROUP_NULL, all;
    int n, ranks[2] = {0, size}, twice[2] = {0, 0};
    char name[MPI_MAX_OBJECT_NAME];
    TRY(MPI_Comm_rank(MPI_COMM_NULL, &n));
    TRY(MPI_Comm_size(MPI_COMM_NULL, &n));
    TRY(MPI_Comm_dup(MPI_COMM_NULL, &made));
    TRY(MPI_Comm_free(&made));
    made = MPI_COMM_WORLD;
    TRY(MPI_Comm_free(&made));
    TRY(MPI_Comm_remote_size(comm, &n));
    TRY(MPI_Comm_split(comm, -77, 0, &made));
    TRY(MPI_Comm_split_type(comm, -77, 0, MPI_INFO_NULL, &made));
    TRY(MPI_Comm_create(comm, MPI_GROUP_NULL, &made));
    TRY(MPI_Comm_get_name(MPI_COMM_NULL, name, &n));
    TRY(MPI_Comm_compare(comm, MPI_COMM_NULL, &n));
    TRY(MPI_Comm_test_inter(MPI_COMM_NULL, &n));
    TRY(MPI_Group_size(MPI_GROUP_NULL, &n));
    TRY(MPI_Group_free(&group));
    MPI_Comm_group(comm, &all);
    TRY(MPI_Group_incl(all, 2, ranks, &group));
    TRY(MPI_Group_incl(all, 2, twice, &group));
    TRY(MPI_Group_union(all, MPI_GROUP_NULL, &group));
#ifndef OPEN_MPI /* which crashes */
    TRY(MPI_Group_translate_ranks(all, 2, ranks, all, twice));
#endif
    MPI_Group_free(&all);
    TRY(MPI_Group_free(&all)); /* a second time: the handle is null now */
    MPI_Comm_dup(MPI_COMM_SELF, &made);
    MPI_Comm old = made;
    MPI_Comm_free(&made);
    TRY(MPI_Comm_free(&made));
#ifdef MPICH_VERSION /* Open MPI looks into the freed memory */
    TRY(MPI_Comm_rank(old, &n));
    TRY(MPI_Comm_free(&old));
#else
    (void)old;
#endif
}

static void topologies(void)
{
    MPI_Comm made, line;
    int dims[2] = {size, 2}, periods[2] = {0, 0}, n, coords[2] = {size, 0};
    TRY(MPI_Cart_create(comm, 2, dims, periods, 0, &made));
    TRY(MPI_Cart_create(comm, -1, dims, periods, 0, &made));
    TRY(MPI_Cartdim_get(comm, &n));
    TRY(MPI_Graph_neighbors_count(comm, 0, &n));
    TRY(MPI_Dist_graph_neighbors_count(comm, &n, &n, &n));
    dims[0] = size + 1;
    dims[1] = 0;
    TRY(MPI_Dims_create(size, 2, dims));
    TRY(MPI_Cart_create(MPI_COMM_NULL, 1, dims, periods, 0, &made));
    MPI_Cart_create(MPI_COMM_SELF, 1, (int[]){1}, periods, 0, &line);
    TRY(MPI_Cart_coords(line, 1, 1, coords));
    TRY(MPI_Cart_shift(line, -77, 1, &n, &n));
    TRY(MPI_Neighbor_allgather(&n, 1, MPI_INT, coords, 1, MPI_INT, comm));
    MPI_Comm_free(&line);
}

static void datatypes(void)
{
    MPI_Datatype made = MPI_DATATYPE_NULL, old;
    MPI_Aint extent, bound;
    int n, x = 0, position = 0;
    char packed[16];
    TRY(MPI_Type_contiguous(-1, MPI_INT, &made));
    TRY(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &made));
    TRY(MPI_Type_vector(1, -1, 1, MPI_INT, &made));
    TRY(MPI_Type_size(MPI_DATATYPE_NULL, &n));
    TRY(MPI_Type_get_extent(MPI_DATATYPE_NULL, &bound, &extent));
    made = MPI_DATATYPE_NULL;
    TRY(MPI_Type_commit(&made));
    TRY(MPI_Type_free(&made));
    made = MPI_INT;
    TRY(MPI_Type_free(&made));
    TRY(MPI_Pack(&x, 1, MPI_INT, packed, 2, &position, comm));
    TRY(MPI_Pack_size(-1, MPI_INT, comm, &n));
    MPI_Type_contiguous(2, MPI_INT, &made);
    MPI_Type_commit(&made);
    old = made;
    MPI_Type_free(&made);
    TRY(MPI_Type_free(&made));
#ifdef MPICH_VERSION /* Open MPI looks into the freed memory */
    TRY(MPI_Type_size(old, &n));
#else
    (void)old;
#endif
}

static void infos_and_attributes(void)
{
    MPI_Info info = MPI_INFO_NULL;
    char value[16], long_key[2 * MPI_MAX_INFO_KEY];
    void *attribute;
    int flag, key = MPI_KEYVAL_INVALID;
    memset(long_key, 'k', sizeof long_key);
    long_key[sizeof long_key - 1] = 0;
    TRY(MPI_Info_set(info, "key", "value"));
    TRY(MPI_Info_free(&info));
    MPI_Info_create(&info);
    TRY(MPI_Info_set(info, "", "value"));
    TRY(MPI_Info_set(info, long_key, "value"));
    TRY(MPI_Info_delete(info, "missing"));
    TRY(MPI_Info_get_nthkey(info, 3, long_key));
    TRY(MPI_Info_get(info, "missing", 15, value, &flag)); /* no error */
    MPI_Info_free(&info);
    TRY(MPI_Info_free(&info));
    TRY(MPI_Comm_get_attr(comm, MPI_KEYVAL_INVALID, &attribute, &flag));
    TRY(MPI_Comm_set_attr(comm, MPI_KEYVAL_INVALID, &flag));
    TRY(MPI_Comm_set_attr(comm, MPI_TAG_UB, &flag));
    TRY(MPI_Comm_free_keyval(&key));
    TRY(MPI_Type_get_attr(MPI_DATATYPE_NULL, MPI_KEYVAL_INVALID, &attribute, &flag));
}

static void windows_and_files(void)
{
    MPI_Win win = MPI_WIN_NULL;
    MPI_File file = MPI_FILE_NULL;
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    int x = 0;
    TRY(MPI_Win_fence(0, MPI_WIN_NULL));
    TRY(MPI_Win_free(&win));
    TRY(MPI_Put(&x, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_WIN_NULL));
    TRY(MPI_Win_create(&x, -1, 1, MPI_INFO_NULL, comm, &win));
    TRY(MPI_Win_create(&x, sizeof x, 0, MPI_INFO_NULL, comm, &win));
    TRY(MPI_File_open(comm, "no/such/file", MPI_MODE_RDONLY, MPI_INFO_NULL, &file));
    TRY(MPI_File_open(comm, "file", MPI_MODE_RDONLY | MPI_MODE_CREATE, MPI_INFO_NULL, &file));
#ifndef MPI_H_ABI /* MPICH 5.0.2 crashes on a null file behind the MPI-5 ABI */
    MPI_Offset offset;
    TRY(MPI_File_close(&file));
    TRY(MPI_File_get_position(MPI_FILE_NULL, &offset));
#endif
    TRY(MPI_File_delete("no/such/file", MPI_INFO_NULL));
    TRY(MPI_Errhandler_free(&handler));
    TRY(MPI_Comm_set_errhandler(comm, MPI_ERRHANDLER_NULL));
}

static int handled;

static void handle(MPI_Comm *where, int *code, ...)
{
    int class;
    CHECK(*where == comm);
    CHECK(MPI_Error_class(*code, &class) == MPI_SUCCESS);
    handled++;
}

/* Classes and codes of the program's own, and a handler of its own. */
static void own_errors(void)
{
    int class, code, length, x = 0;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Errhandler handler;
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "an error of our own");
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "an error of our own") == 0);
    TRY(code);
    TRY(MPI_Comm_call_errhandler(comm, code));

    MPI_Comm_create_errhandler(handle, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    TRY(MPI_Send(&x, 1, MPI_INT, size, 0, comm));
    CHECK(handled == 1);
    MPI_Comm_call_errhandler(comm, code);
    CHECK(handled == 2);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Errhandler_free(&handler);
    TRY(MPI_Send(&x, 1, MPI_INT, size, 0, comm));
    CHECK(handled == 2);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN); /* also what has no communicator */
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    point_to_point();
    collectives();
    requests();
    buffers();
    communicators_and_groups();
    topologies();
    datatypes();
    infos_and_attributes();
    windows_and_files();
    own_errors();
    MPI_Barrier(comm);
    MPI_Finalize();
    return 0;
}
