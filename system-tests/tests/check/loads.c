/* Loads and stores of buffers that MPI uses: `./loads EPOCH ORDER`, on two ranks. EPOCH `none`: all operations but one-sided ones,
 * else those, in an epoch of that kind. ORDER `store`, `load` or `copy` (a store by the C library): the access is between an
 * operation's beginning and its end. ORDER `right`: all three are behind its end, and in between there is what MPI allows: loads of
 * what it only reads, and accesses to gaps. Nothing else differs. What begins an operation says in a comment how MPI uses the
 * buffer. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };
enum { SIZE = N * sizeof(int) };
/* A buffer for each operation: of one place, the sanitizer tells once. */
static int buffers[64][N], *buffer, other[N], result[N], r, peer;
static volatile int seen;
static MPI_Request q, q2;
static MPI_Comm w = MPI_COMM_WORLD;
static MPI_Datatype column;
static MPI_File file;
static MPI_Win win;
static MPI_Group group;
static int *memory;
static const char *sync_;

static void send(void) { MPI_Send(other, N, MPI_INT, peer, 1, w); }
static void recv(void) { MPI_Recv(other, N, MPI_INT, peer, 1, w, MPI_STATUS_IGNORE); }
static void wait_(void) { MPI_Wait(&q, MPI_STATUS_IGNORE); }

static void isend(void) {
    MPI_Isend(buffer, N, MPI_INT, peer, 1, w, &q); /* read */
}
static void isend_end(void) { recv(), wait_(); }
static void issend(void) {
    MPI_Issend(buffer, N, MPI_INT, peer, 1, w, &q); /* read */
}
static void irecv(void) {
    MPI_Irecv(buffer, N, MPI_INT, peer, 1, w, &q); /* written */
}
static void irecv_end(void) { send(), wait_(); }
static void irecv_test_end(void) {
    int done = 0;
    send();
    while (!done) MPI_Test(&q, &done, MPI_STATUS_IGNORE);
}
static void irecv_any(void) {
    MPI_Irecv(buffer, N, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, &q); /* written */
}
/* Every second element. */
static void column_isend(void) {
    MPI_Isend(buffer, 1, column, peer, 1, w, &q); /* read */
}
static void column_end(void) {
    MPI_Recv(other, N / 2, MPI_INT, peer, 1, w, MPI_STATUS_IGNORE);
    wait_();
}
static void column_irecv(void) {
    MPI_Irecv(buffer, 1, column, peer, 1, w, &q); /* written */
}
static void column_irecv_end(void) {
    MPI_Send(other, N / 2, MPI_INT, peer, 1, w);
    wait_();
}
static void ibcast(void) {
    MPI_Ibcast(r == 0 ? buffer : other, N, MPI_INT, 0, w, &q); /* read */
}
static void ibcast_got(void) {
    MPI_Ibcast(r == 0 ? other : buffer, N, MPI_INT, 0, w, &q); /* written */
}
static void ireduce(void) {
    MPI_Ireduce(buffer, result, N, MPI_INT, MPI_SUM, 0, w, &q); /* read */
}
static void ireduce_got(void) {
    MPI_Ireduce(other, r == 0 ? buffer : NULL, N, MPI_INT, MPI_SUM, 0, w, &q); /* written */
}
static void iallreduce_in_place(void) {
    MPI_Iallreduce(MPI_IN_PLACE, buffer, N, MPI_INT, MPI_SUM, w, &q); /* written */
}
static void send_init(void) {
    if (q == MPI_REQUEST_NULL) MPI_Send_init(buffer, N, MPI_INT, peer, 1, w, &q);
    MPI_Start(&q); /* read */
}
static void recv_init(void) {
    if (q == MPI_REQUEST_NULL) MPI_Recv_init(buffer, N, MPI_INT, peer, 1, w, &q);
    MPI_Start(&q); /* written */
}
static void psend(void) {
    MPI_Psend_init(buffer, 2, N / 2, MPI_INT, peer, 1, w, MPI_INFO_NULL, &q);
    MPI_Precv_init(other, 2, N / 2, MPI_INT, peer, 1, w, MPI_INFO_NULL, &q2);
    MPI_Start(&q), MPI_Start(&q2);
    memset(buffer, 1, SIZE);
    MPI_Pready(0, q); /* read */
}
static void psend_end(void) {
    MPI_Pready(1, q), MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_Wait(&q2, MPI_STATUS_IGNORE);
    MPI_Request_free(&q), MPI_Request_free(&q2);
}
static void precv(void) {
    MPI_Psend_init(other, 2, N / 2, MPI_INT, peer, 1, w, MPI_INFO_NULL, &q2);
    MPI_Precv_init(buffer, 2, N / 2, MPI_INT, peer, 1, w, MPI_INFO_NULL, &q);
    MPI_Start(&q); /* written */
    MPI_Start(&q2);
}
static void precv_end(void) {
    MPI_Pready(0, q2), MPI_Pready(1, q2), MPI_Wait(&q, MPI_STATUS_IGNORE), MPI_Wait(&q2, MPI_STATUS_IGNORE);
    MPI_Request_free(&q), MPI_Request_free(&q2);
}
static void iwrite(void) {
    MPI_File_iwrite_at(file, r * SIZE, buffer, N, MPI_INT, &q); /* read */
}
static void iread(void) {
    MPI_File_iread_at(file, r * SIZE, buffer, N, MPI_INT, &q); /* written */
}
static void split_write(void) {
    MPI_File_write_at_all_begin(file, r * SIZE, buffer, N, MPI_INT); /* read */
}
static void split_write_end(void) { MPI_File_write_at_all_end(file, buffer, MPI_STATUS_IGNORE); }
static void split_read(void) {
    MPI_File_read_at_all_begin(file, r * SIZE, buffer, N, MPI_INT); /* written */
}
static void split_read_end(void) { MPI_File_read_at_all_end(file, buffer, MPI_STATUS_IGNORE); }

/* One-sided: at the peer, between the calls that begin and end the epoch. */
static int is(const char *name) { return !strcmp(sync_, name); }
static void begin_epoch(void) {
    if (is("fence")) MPI_Win_fence(0, win);
    if (is("pscw")) MPI_Win_post(group, 0, win), MPI_Win_start(group, 0, win);
    if (is("lock")) MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
    if (is("flush") || is("flush_local")) MPI_Win_lock_all(0, win);
}
static void end_epoch(void) {
    if (is("fence")) MPI_Win_fence(0, win);
    if (is("pscw")) MPI_Win_complete(win), MPI_Win_wait(win);
    if (is("lock")) MPI_Win_unlock(peer, win);
    if (is("flush")) MPI_Win_flush(peer, win);
    if (is("flush_local")) MPI_Win_flush_local_all(win);
}
static void put(void) {
    begin_epoch();
    MPI_Put(buffer, N, MPI_INT, peer, 0, N, MPI_INT, win); /* read in an epoch */
}
static void get(void) {
    begin_epoch();
    MPI_Get(buffer, N, MPI_INT, peer, 0, N, MPI_INT, win); /* written in an epoch */
}
static void accumulate(void) {
    begin_epoch();
    MPI_Accumulate(buffer, N, MPI_INT, peer, 0, N, MPI_INT, MPI_SUM, win); /* read in an epoch */
}
static void get_accumulate(void) {
    begin_epoch();
    MPI_Get_accumulate(other, N, MPI_INT, buffer, N, MPI_INT, peer, 0, N, MPI_INT, MPI_SUM, win); /* written in an epoch */
}
static void fetch_and_op(void) {
    begin_epoch();
    MPI_Fetch_and_op(other, buffer, MPI_INT, peer, 0, MPI_SUM, win); /* written in an epoch */
}
static void compare_and_swap(void) {
    begin_epoch();
    MPI_Compare_and_swap(other, result, buffer, MPI_INT, peer, 0, win); /* written in an epoch */
}
static void rput(void) {
    begin_epoch();
    MPI_Rput(buffer, N, MPI_INT, peer, 0, N, MPI_INT, win, &q); /* read by a request */
}
static void rget(void) {
    begin_epoch();
    MPI_Rget(buffer, N, MPI_INT, peer, 0, N, MPI_INT, win, &q); /* written by a request */
}

static void store(void) {
    buffer[0] = 7; /* store */
}
static void load(void) {
    seen = buffer[0]; /* load */
}
static void copy(void) {
    memset(buffer, 7, SIZE); /* copy */
}
static void store_beside(void) { buffer[1] = 7; }
static void load_beside(void) { seen = buffer[1]; }

static struct {
    void (*begin)(void), (*end)(void);
    /* The rank that has the buffer in use, or -1 for both. */
    int rank;
    enum { READ = 1, GAPS = 2, FILES = 4, EPOCH = 8, REQUEST = 16 } is;
} all[] = {
    {isend, isend_end, -1, READ},
    {issend, isend_end, -1, READ},
    {irecv, irecv_end, -1, 0},
    {irecv_any, irecv_test_end, -1, 0},
    {column_isend, column_end, -1, READ | GAPS},
    {column_irecv, column_irecv_end, -1, GAPS},
    {ibcast, wait_, 0, READ},
    {ibcast_got, wait_, 1, 0},
    {ireduce, wait_, -1, READ},
    {ireduce_got, wait_, 0, 0},
    {iallreduce_in_place, wait_, -1, 0},
    {send_init, isend_end, -1, READ},
    {recv_init, irecv_end, -1, 0},
    {psend, psend_end, -1, READ},
    {precv, precv_end, -1, 0},
    {iwrite, wait_, -1, READ | FILES},
    {iread, wait_, -1, FILES},
    {split_write, split_write_end, -1, READ | FILES},
    {split_read, split_read_end, -1, FILES},
    {put, end_epoch, -1, READ | EPOCH},
    {get, end_epoch, -1, EPOCH},
    {accumulate, end_epoch, -1, READ | EPOCH},
    {get_accumulate, end_epoch, -1, EPOCH},
    {fetch_and_op, end_epoch, -1, EPOCH},
    {compare_and_swap, end_epoch, -1, EPOCH},
    {rput, wait_, -1, READ | REQUEST},
    {rget, wait_, -1, REQUEST},
};

/* What may be done while the operation is not complete. */
static void right(int how) {
    if (how & READ) load();
    if (how & GAPS) store_beside(), load_beside();
}

static int is_meant(int how) {
    if (is("none")) return !(how & (EPOCH | REQUEST));
    return how & EPOCH || (how & REQUEST && (is("lock") || is("flush")));
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    sync_ = argv[1];
    int is_store = !strcmp(argv[2], "store"), is_load = !strcmp(argv[2], "load"), is_copy = !strcmp(argv[2], "copy");
    int is_right = !strcmp(argv[2], "right");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(w, &r);
    peer = 1 - r;
    q = MPI_REQUEST_NULL;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    if (is("none")) {
        const char *name = getenv("LOADS_FILE");
        int mode = MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
        MPI_File_open(w, name ? name : "/tmp/check-loads", mode, MPI_INFO_NULL, &file);
        MPI_File_write_at_all(file, r * SIZE, other, N, MPI_INT, MPI_STATUS_IGNORE);
    } else {
        MPI_Group of_world;
        MPI_Comm_group(w, &of_world);
        MPI_Group_incl(of_world, 1, &peer, &group);
        MPI_Group_free(&of_world);
        MPI_Win_allocate(SIZE, sizeof(int), MPI_INFO_NULL, w, &memory, &win);
        memset(memory, 0, SIZE);
        MPI_Barrier(w);
    }
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!is_meant(all[i].is)) continue;
        int is_here = all[i].rank < 0 || all[i].rank == r;
        buffer = buffers[i];
        /* Buffers are used again and again. */
        for (int round = 0; round < 3; round++) {
            all[i].begin();
            if (is_here && is_store) store();
            if (is_here && is_load) load();
            if (is_here && is_copy) copy();
            if (is_here && is_right) right(all[i].is);
            all[i].end();
            if (all[i].is & REQUEST && is("lock")) MPI_Win_unlock(peer, win);
            if (is("flush") || is("flush_local")) MPI_Win_unlock_all(win);
            if (is_here && is_right) store(), load(), copy();
            MPI_Barrier(w);
        }
        if (q != MPI_REQUEST_NULL) MPI_Request_free(&q);
    }
    if (is("none")) {
        MPI_File_close(&file);
    } else {
        MPI_Win_free(&win);
        MPI_Group_free(&group);
    }
    MPI_Type_free(&column);
    MPI_Finalize();
    puts("done");
    return 0;
}
