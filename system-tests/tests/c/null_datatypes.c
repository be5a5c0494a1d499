/* No data of no datatype: MPI_DATATYPE_NULL, and a handle that has been freed, with count 0. MPICH takes both
 * in most functions; Open MPI refuses. Whichever it is, the program prints what each call returned and how
 * often the error handlers ran: a tool changes nothing of it. Runs on 1 rank, by messages to itself. */
#include "moved.h"

#pragma GCC diagnostic ignored "-Wstringop-overflow"

#define P2P "point-to-point"

static int handled, passed, refused;
static MPI_Comm comm;

/* Asked at run time: the header of MPI-5's standard ABI is everybody's, and does not say whose library runs. */
static int is_mpich(void)
{
    static char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length;
    MPI_Get_library_version(version, &length);
    return strstr(version, "MPICH") != NULL;
}

static void on_comm(MPI_Comm *c, int *code, ...) { handled++; }
static void on_file(MPI_File *f, int *code, ...) { handled++; }
static void on_win(MPI_Win *w, int *code, ...) { handled++; }

static int outcome(const char *call, int line, int before, int code)
{
    int class = MPI_SUCCESS;
    MPI_Error_class(code, &class);
    /* MPICH 5 returns success after an error handler of the program's. */
    int success = code == MPI_SUCCESS && handled == before;
    success ? passed++ : refused++;
    printf("%d: %s: class %d, the handler ran %d times\n", line, call, class, handled - before);
    return success;
}

/* Makes a call, and says whether it passed. */
#define TRY(call)                                                                                 \
    ({                                                                                            \
        int before_ = handled, code_ = (call);                                                    \
        outcome(#call, __LINE__, before_, code_);                                                 \
    })

/* Receives, and sends, nothing of a datatype that is one. */
static void take(int tag) { CHECK(MPI_Recv(NULL, 0, MPI_BYTE, 0, tag, comm, MPI_STATUS_IGNORE) == 0); }
static void give(int tag) { CHECK(MPI_Send(NULL, 0, MPI_BYTE, 0, tag, comm) == 0); }
static void done(MPI_Request *request) { CHECK(MPI_Wait(request, MPI_STATUS_IGNORE) == 0); }

static void messages(MPI_Datatype none)
{
    MPI_Request request, other;
    MPI_Message message;
    char byte = 0;
    int flag;
    /* A synchronous and a ready send need a receive that is there. */
#define SEND(function)                                                                            \
    CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, 1, comm, &other) == 0);                                 \
    if (!TRY(function(NULL, 0, none, 0, 1, comm)))                                                \
        give(1);                                                                                  \
    done(&other)
    SEND(MPI_Send);
    SEND(MPI_Ssend);
    SEND(MPI_Rsend);
    SEND(MPI_Bsend);
#ifdef HAVE_MPI_Send_c
    SEND(MPI_Send_c);
#endif
#define ISEND(function)                                                                           \
    CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, 2, comm, &other) == 0);                                 \
    if (TRY(function(NULL, 0, none, 0, 2, comm, &request)))                                       \
        done(&request);                                                                           \
    else                                                                                          \
        give(2);                                                                                  \
    done(&other)
    ISEND(MPI_Isend);
    ISEND(MPI_Issend);
    ISEND(MPI_Irsend);
    ISEND(MPI_Ibsend);
#define SEND_INIT(function)                                                                       \
    if (TRY(function(NULL, 0, none, 0, 3, comm, &request))) {                                     \
        CHECK(MPI_Irecv(NULL, 0, MPI_BYTE, 0, 3, comm, &other) == 0);                             \
        CHECK(MPI_Start(&request) == 0);                                                          \
        done(&request);                                                                           \
        done(&other);                                                                             \
        CHECK(MPI_Request_free(&request) == 0);                                                   \
    }
    SEND_INIT(MPI_Send_init)
    SEND_INIT(MPI_Ssend_init)
    SEND_INIT(MPI_Rsend_init)
    SEND_INIT(MPI_Bsend_init)

    CHECK(MPI_Isend(NULL, 0, MPI_BYTE, 0, 4, comm, &other) == 0);
    if (!TRY(MPI_Recv(NULL, 0, none, 0, 4, comm, MPI_STATUS_IGNORE)))
        take(4);
    done(&other);
    if (TRY(MPI_Irecv(NULL, 0, none, 0, 5, comm, &request))) {
        give(5);
        done(&request);
    }
    if (TRY(MPI_Recv_init(NULL, 0, none, 0, 6, comm, &request))) {
        CHECK(MPI_Start(&request) == 0);
        give(6);
        done(&request);
        CHECK(MPI_Request_free(&request) == 0);
    }
    CHECK(MPI_Isend(NULL, 0, MPI_BYTE, 0, 7, comm, &other) == 0);
    CHECK(MPI_Mprobe(0, 7, comm, &message, MPI_STATUS_IGNORE) == 0);
    if (!TRY(MPI_Mrecv(NULL, 0, none, &message, MPI_STATUS_IGNORE)) && message != MPI_MESSAGE_NULL)
        CHECK(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE) == 0);
    done(&other);
    CHECK(MPI_Isend(NULL, 0, MPI_BYTE, 0, 8, comm, &other) == 0);
    for (flag = 0; !flag;)
        CHECK(MPI_Improbe(0, 8, comm, &flag, &message, MPI_STATUS_IGNORE) == 0);
    if (TRY(MPI_Imrecv(NULL, 0, none, &message, &request)))
        done(&request);
    else if (message != MPI_MESSAGE_NULL)
        CHECK(MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE) == 0);
    done(&other);

    TRY(MPI_Sendrecv(NULL, 0, none, 0, 9, NULL, 0, none, 0, 9, comm, MPI_STATUS_IGNORE));
    TRY(MPI_Sendrecv(&byte, 1, MPI_BYTE, MPI_PROC_NULL, 9, NULL, 0, none, MPI_PROC_NULL, 9, comm,
                     MPI_STATUS_IGNORE));
    TRY(MPI_Sendrecv_replace(NULL, 0, none, 0, 10, 0, 10, comm, MPI_STATUS_IGNORE));
#ifdef HAVE_MPI_Isendrecv
    if (TRY(MPI_Isendrecv(NULL, 0, none, 0, 11, NULL, 0, none, 0, 11, comm, &request)))
        done(&request);
    if (TRY(MPI_Isendrecv_replace(NULL, 0, none, 0, 12, 0, 12, comm, &request)))
        done(&request);
#endif
    /* To nobody, also with a count. */
    TRY(MPI_Send(NULL, 0, none, MPI_PROC_NULL, 13, comm));
    TRY(MPI_Recv(NULL, 0, none, MPI_PROC_NULL, 13, comm, MPI_STATUS_IGNORE));
    if (TRY(MPI_Irecv(NULL, 0, none, MPI_PROC_NULL, 13, comm, &request)))
        done(&request);
}

static void partitions(MPI_Datatype none)
{
#ifdef HAVE_MPI_Psend_init
    MPI_Request pair[2];
    /* Both ends or none. */
    if (!TRY(MPI_Psend_init(NULL, 2, 0, none, 0, 14, comm, MPI_INFO_NULL, &pair[0])))
        return;
    CHECK(TRY(MPI_Precv_init(NULL, 2, 0, none, 0, 14, comm, MPI_INFO_NULL, &pair[1])));
    CHECK(MPI_Startall(2, pair) == 0);
    CHECK(MPI_Pready_range(0, 1, pair[0]) == 0);
    CHECK(MPI_Waitall(2, pair, MPI_STATUSES_IGNORE) == 0);
    CHECK(MPI_Request_free(&pair[0]) == 0 && MPI_Request_free(&pair[1]) == 0);
#endif
}

static void collectives(MPI_Datatype none)
{
    int zero[1] = {0};
    MPI_Datatype types[1] = {none};
    MPI_Request request;
    TRY(MPI_Bcast(NULL, 0, none, 0, comm));
#define BOTH(Name, iname, ...)                                                                    \
    TRY(MPI_##Name(__VA_ARGS__, comm));                                                           \
    if (TRY(MPI_##iname(__VA_ARGS__, comm, &request)))                                            \
        done(&request);
    BOTH(Gather, Igather, NULL, 0, none, NULL, 0, none, 0)
    BOTH(Gatherv, Igatherv, NULL, 0, none, NULL, zero, zero, none, 0)
    BOTH(Scatter, Iscatter, NULL, 0, none, NULL, 0, none, 0)
    BOTH(Scatterv, Iscatterv, NULL, zero, zero, none, NULL, 0, none, 0)
    BOTH(Allgather, Iallgather, NULL, 0, none, NULL, 0, none)
    BOTH(Allgatherv, Iallgatherv, NULL, 0, none, NULL, zero, zero, none)
    BOTH(Alltoall, Ialltoall, NULL, 0, none, NULL, 0, none)
    BOTH(Alltoallv, Ialltoallv, NULL, zero, zero, none, NULL, zero, zero, none)
    BOTH(Alltoallw, Ialltoallw, NULL, zero, zero, types, NULL, zero, zero, types)
    /* MPICH itself ends the program in these. */
    if (is_mpich())
        return;
    BOTH(Reduce, Ireduce, NULL, NULL, 0, none, MPI_SUM, 0)
    BOTH(Allreduce, Iallreduce, NULL, NULL, 0, none, MPI_SUM)
    BOTH(Scan, Iscan, NULL, NULL, 0, none, MPI_SUM)
    BOTH(Exscan, Iexscan, NULL, NULL, 0, none, MPI_SUM)
    BOTH(Reduce_scatter, Ireduce_scatter, NULL, NULL, zero, none, MPI_SUM)
    BOTH(Reduce_scatter_block, Ireduce_scatter_block, NULL, NULL, 0, none, MPI_SUM)
    TRY(MPI_Reduce_local(NULL, NULL, 0, none, MPI_SUM));
#ifdef HAVE_MPI_Bcast_init
    if (TRY(MPI_Bcast_init(NULL, 0, none, 0, comm, MPI_INFO_NULL, &request)))
        CHECK(MPI_Request_free(&request) == 0);
#endif
}

static void windows(MPI_Datatype none)
{
    MPI_Win window;
    MPI_Errhandler handler;
    int memory[4] = {0};
    MPI_Request request;
    CHECK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, comm, &window) == 0);
    CHECK(MPI_Win_create_errhandler(on_win, &handler) == 0);
    CHECK(MPI_Win_set_errhandler(window, handler) == 0);
    CHECK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window) == 0);
    TRY(MPI_Put(NULL, 0, none, 0, 0, 0, none, window));
    TRY(MPI_Get(NULL, 0, none, 0, 0, 0, none, window));
    TRY(MPI_Accumulate(NULL, 0, none, 0, 0, 0, none, MPI_SUM, window));
    TRY(MPI_Get_accumulate(NULL, 0, none, NULL, 0, none, 0, 0, 0, none, MPI_SUM, window));
    TRY(MPI_Get_accumulate(NULL, 0, none, NULL, 0, MPI_INT, 0, 0, 0, MPI_INT, MPI_NO_OP, window));
    if (TRY(MPI_Rput(NULL, 0, none, 0, 0, 0, none, window, &request)))
        done(&request);
    if (TRY(MPI_Rget(NULL, 0, none, 0, 0, 0, none, window, &request)))
        done(&request);
    TRY(MPI_Put(NULL, 0, none, MPI_PROC_NULL, 0, 0, none, window));
    CHECK(MPI_Win_unlock(0, window) == 0);
    CHECK(MPI_Win_free(&window) == 0);
    CHECK(MPI_Errhandler_free(&handler) == 0);
}

static void files(MPI_Datatype none)
{
    MPI_File file;
    MPI_Errhandler handler;
    MPI_Request request;
    /* MPICH 5 returns success, without a status, from a call that it has refused to a handler of the program's. */
    MPI_Status status = {0};
    int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
    CHECK(MPI_File_open(comm, "null_datatypes.data", mode, MPI_INFO_NULL, &file) == 0);
    CHECK(MPI_File_create_errhandler(on_file, &handler) == 0);
    CHECK(MPI_File_set_errhandler(file, handler) == 0);
    TRY(MPI_File_write(file, NULL, 0, none, &status));
    TRY(MPI_File_read(file, NULL, 0, none, MPI_STATUS_IGNORE));
    TRY(MPI_File_write_at(file, 0, NULL, 0, none, MPI_STATUS_IGNORE));
    TRY(MPI_File_read_at_all(file, 0, NULL, 0, none, MPI_STATUS_IGNORE));
    if (TRY(MPI_File_iwrite_at(file, 0, NULL, 0, none, &request)))
        done(&request);
    if (TRY(MPI_File_read_all_begin(file, NULL, 0, none)))
        CHECK(MPI_File_read_all_end(file, NULL, &status) == 0);
    CHECK(MPI_File_close(&file) == 0);
    CHECK(MPI_Errhandler_free(&handler) == 0);
}

/* MPICH's other functions may look into what was freed. */
static void freed_before(MPI_Datatype none)
{
    MPI_Request request, other;
    SEND(MPI_Send);
    SEND(MPI_Bsend);
    ISEND(MPI_Isend);
    ISEND(MPI_Ibsend);
}

static void each(MPI_Datatype none)
{
    messages(none);
    partitions(none);
    collectives(none);
    windows(none);
    files(none);
}

int main(int argc, char **argv)
{
    static char buffer[1 << 16];
    void *detached;
    int size, data[6] = {0};
    MPI_Errhandler handler;
    MPI_Datatype pairs;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(on_comm, &handler);
    /* Errors that belong to no communicator go to one of these: to the world's before MPI-4. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Buffer_attach(buffer, sizeof buffer);

    each(MPI_DATATYPE_NULL);
    /* At a handle that it has freed, Open MPI reads memory that is not its own any more. */
    if (is_mpich()) {
        MPI_Datatype freed;
        MPI_Type_contiguous(3, MPI_INT, &freed);
        MPI_Type_commit(&freed);
        pairs = freed;
        MPI_Type_free(&freed);
        freed_before(pairs);
        /* Not a test of what MPI refuses at once. */
        CHECK(passed > 20);
    }
    CHECK(passed + refused > 60);

    /* And what moves is counted. */
    MPI_Type_contiguous(2, MPI_INT, &pairs);
    MPI_Type_commit(&pairs);
    MPI_Irecv(data + 3, 1, pairs, 0, 1, comm, &request);
    MPI_Send(data, 1, pairs, 0, 1, comm);
    done(&request);
    moved(SENT, P2P, "MPI_INT", 2);
    moved(RECEIVED, P2P, "MPI_INT", 2);
    /* The erroneous question still reaches the handler when it is the program's own. */
    CHECK(!TRY(MPI_Type_size(MPI_DATATYPE_NULL, &size)));
    MPI_Type_free(&pairs);

    MPI_Buffer_detach(&detached, &size);
    MPI_Comm_free(&comm);
    MPI_Errhandler_free(&handler);
    printf("%d calls passed, %d were refused\n", passed, refused);
    MPI_Finalize();
    return 0;
}
