/*
 * Right programs, one by one, by the first argument: all ranks stand still for a while, because one of them sleeps or works,
 * and then all go on. Nobody is to be accused of a deadlock. All run on four ranks.
 */
#include "standing.h"

static int one = 1, sum;

static MPI_Comm halves(void) {
    MPI_Comm half, both;
    MPI_Comm_split(WORLD, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, WORLD, rank < 2 ? 2 : 0, 9, &both);
    MPI_Comm_free(&half);
    return both;
}

#if HAS_4
static void persistent_collective(void) {
    MPI_Request request;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        if (round == 1) stand_at(2);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* Started, but not ready. */
static void partitioned(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(buffer, 2, 8, MPI_CHAR, 1, 3, WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(0, request);
        stand();
        MPI_Pready(1, request);
    } else if (rank == 1) {
        MPI_Precv_init(buffer, 2, 8, MPI_CHAR, 0, 3, WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    if (rank < 2) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
}

#endif

/* Communicators of some, again and again with one group and tag, and between two groups: those that have made theirs go on. */
static void made_again(void) {
    MPI_Group world, group;
    MPI_Comm comm;
    int some[3] = {3, 0, 1};
    MPI_Comm_group(WORLD, &world);
    MPI_Group_incl(world, 3, some, &group);
    for (int round = 0; round < 60; round++) {
        if (rank != 2) {
            if (round == 58) stand_at(3);
            MPI_Comm_create_group(WORLD, group, 7 + round % 3, &comm);
            MPI_Comm_free(&comm);
            if (rank == 1) receive_from(0);
            if (rank == 0) send_to(1);
        }
        if (round == 59) stand_at(1);
        comm = halves();
        MPI_Comm_free(&comm);
    }
}

static void between_barrier(void) {
    MPI_Comm both = halves();
    stand_at(3);
    MPI_Barrier(both);
    MPI_Comm_free(&both);
}

/* The first rank gives, the second one waits for one of those that take. */
static void between_broadcast(void) {
    MPI_Comm both = halves();
    stand_at(3);
    int root = rank == 0 ? MPI_ROOT : rank == 1 ? MPI_PROC_NULL : 0;
    MPI_Bcast(buffer, sizeof buffer, MPI_CHAR, root, both);
    if (rank == 3) send_to(1);
    if (rank == 1) receive_from(3);
    MPI_Comm_free(&both);
}

static void idup(void) {
    MPI_Comm copy;
    MPI_Request request;
    stand_at(1);
    MPI_Comm_idup(WORLD, &copy, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
}

static void matched_probe(void) {
    MPI_Message message;
    if (rank == 0) {
        stand();
        send_to(1);
    } else if (rank == 1) {
        MPI_Mprobe(MPI_ANY_SOURCE, 5, WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(buffer, 1, MPI_CHAR, &message, MPI_STATUS_IGNORE);
    }
}

static void spawn(const char *program) {
    MPI_Comm children;
    char *arguments[] = {"child", NULL};
    MPI_Comm_spawn(program, arguments, 2, MPI_INFO_NULL, 0, WORLD, &children, MPI_ERRCODES_IGNORE);
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, children, MPI_STATUS_IGNORE);
    MPI_Barrier(WORLD);
    MPI_Comm_disconnect(&children);
}

static void child(void) {
    MPI_Comm parents;
    MPI_Comm_get_parent(&parents);
    stand_at(1);
    MPI_Barrier(WORLD);
    if (rank == 1) MPI_Send(buffer, 1, MPI_CHAR, 0, 5, parents);
    MPI_Comm_disconnect(&parents);
}

/* Others wait for who waits for a word in memory. */
static void flag_in_memory(void) {
    MPI_Win window;
    MPI_Aint length;
    int unit;
    volatile int *flag;
    MPI_Comm node;
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(rank == 0 ? 4096 : 0, 1, MPI_INFO_NULL, node, &flag, &window);
    MPI_Win_shared_query(window, 0, &length, &unit, &flag);
    if (rank == 0) *flag = 0;
    MPI_Barrier(node);
    if (rank == 0) {
        stand();
        *flag = 1;
    } else if (rank == 1) {
        while (!*flag) {}
    }
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

static void file(const char *path, int is_ordered) {
    MPI_File file;
    MPI_File_open(WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    stand_at(0);
    if (is_ordered) MPI_File_write_ordered(file, buffer, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    else MPI_File_write_at_all(file, rank * 8, buffer, 8, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

static void server(void) {
    if (rank > 0) {
        stand();
        send_to(0);
        receive_from(0);
    }
    for (int i = 1; rank == 0 && i < size; i++) {
        MPI_Status status;
        MPI_Recv(buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, WORLD, &status);
        send_to(status.MPI_SOURCE);
    }
}

/* Polls now and then. */
static void slow_poll(void) {
    MPI_Request request;
    struct timespec pause = {1, 400000000};
    int flag = 0;
    stand_at(3);
    MPI_Ibarrier(WORLD, &request);
    for (;;) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        if (flag) break;
        nanosleep(&pause, NULL);
    }
}

/* A wrong call, whose error the program has asked for, is none of the operations that ranks count together. */
static void error_returned(void) {
    MPI_Comm_set_errhandler(WORLD, MPI_ERRORS_RETURN);
    if (rank == 0 && MPI_Bcast(buffer, -1, MPI_CHAR, 0, WORLD) == MPI_SUCCESS) abort();
    stand_at(2);
    MPI_Barrier(WORLD);
}

static void stands(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    stand();
}

/* An error handler that takes its time, inside of a call. */
static void error_handler(void) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(stands, &handler);
    MPI_Comm_set_errhandler(WORLD, handler);
    if (rank == 1) {
        MPI_Send(buffer, 1, MPI_CHAR, 0, -7, WORLD);
        send_to(0);
    } else if (rank == 0) {
        receive_from(1);
    }
}

static void stands_and_adds(void *in, void *inout, int *length, MPI_Datatype *type) {
    (void)length, (void)type;
    *(int *)inout += *(int *)in;
    stand();
}

static void operation(void) {
    MPI_Op slow;
    MPI_Op_create(stands_and_adds, 1, &slow);
    MPI_Reduce(&one, &sum, 1, MPI_INT, slow, 0, WORLD);
    if (rank == 0) send_to(3);
    if (rank == 3) receive_from(0);
    MPI_Op_free(&slow);
}

static int stands_and_copies(MPI_Comm comm, int key, void *state, void *in, void *out, int *flag) {
    (void)comm, (void)key, (void)state, (void)in, (void)out;
    stand_at(2);
    *flag = 0;
    return MPI_SUCCESS;
}

static void attribute(void) {
    int key;
    MPI_Comm copy;
    MPI_Comm_create_keyval(stands_and_copies, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Comm_set_attr(WORLD, key, NULL);
    MPI_Comm_dup(WORLD, &copy);
    MPI_Comm_free(&copy);
    MPI_Comm_free_keyval(&key);
}

/* What is sent has no request any more. */
static void freed_request(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Isend(buffer, sizeof buffer, MPI_CHAR, 1, 3, WORLD, &request);
        MPI_Request_free(&request);
        receive_from(1);
    } else if (rank == 1) {
        stand();
        MPI_Recv(buffer, sizeof buffer, MPI_CHAR, 0, 3, WORLD, MPI_STATUS_IGNORE);
        send_to(0);
    }
}

static void wait_any(void) {
    MPI_Request requests[2];
    int which;
    if (rank == 0) {
        MPI_Irecv(buffer, 1, MPI_CHAR, 1, 5, WORLD, &requests[0]);
        MPI_Irecv(buffer + 1, 1, MPI_CHAR, 2, 5, WORLD, &requests[1]);
        MPI_Waitany(2, requests, &which, MPI_STATUS_IGNORE);
        send_to(2);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else if (rank == 1) {
        stand();
        send_to(0);
    } else if (rank == 2) {
        receive_from(0);
        send_to(0);
    }
}

static void post_and_start(void) {
    MPI_Group all, other;
    MPI_Win window;
    int mine = 0, partner = rank ^ 1;
    MPI_Win_create(&mine, sizeof mine, sizeof mine, MPI_INFO_NULL, WORLD, &window);
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 1, &partner, &other);
    stand_at(1);
    if (rank % 2) {
        MPI_Win_post(other, 0, window);
        MPI_Win_wait(window);
    } else {
        MPI_Win_start(other, 0, window);
        MPI_Put(&one, 1, MPI_INT, partner, 0, 1, MPI_INT, window);
        MPI_Win_complete(window);
    }
    MPI_Group_free(&other);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
}

/* One keeps the window's lock, and others wait for it. */
static void lock(int is_all) {
    MPI_Win window;
    int *memory;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, WORLD, &memory, &window);
    if (rank == 1) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    if (rank == 1) MPI_Put(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
    if (rank == 1) MPI_Win_flush(0, window);
    MPI_Barrier(WORLD);
    if (rank == 1) {
        stand();
        MPI_Win_unlock(0, window);
    } else if (is_all) {
        MPI_Win_lock_all(0, window);
        MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock_all(window);
    } else {
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
        MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_unlock(0, window);
    }
    MPI_Win_free(&window);
}

static void neighbours(void) {
    MPI_Comm ring;
    int is_periodic = 1, of[2];
    MPI_Cart_create(WORLD, 1, &size, &is_periodic, 0, &ring);
    stand_at(2);
    MPI_Neighbor_allgather(&one, 1, MPI_INT, of, 1, MPI_INT, ring);
    MPI_Comm_free(&ring);
}

/* Two of four make a communicator, and one of these is late. */
static void some_make_one(void) {
    MPI_Group all, some;
    MPI_Comm comm;
    int who[] = {0, 3};
    MPI_Comm_group(WORLD, &all);
    MPI_Group_incl(all, 2, who, &some);
    stand_at(3);
    if (rank == 0 || rank == 3) {
        MPI_Comm_create_group(WORLD, some, 7, &comm);
        MPI_Comm_free(&comm);
    }
    MPI_Group_free(&some);
    MPI_Group_free(&all);
    MPI_Barrier(WORLD);
}

static void leaders(void) {
    MPI_Comm half, both;
    MPI_Comm_split(WORLD, rank / 2, rank, &half);
    stand_at(2);
    MPI_Intercomm_create(half, 0, WORLD, rank < 2 ? 2 : 0, 9, &both);
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* A token goes round twice. */
static void ring(void) {
    for (int i = 0; i < 2; i++) {
        if (rank == 0) send_to(1);
        MPI_Recv(buffer, 1, MPI_CHAR, MPI_ANY_SOURCE, 5, WORLD, MPI_STATUS_IGNORE);
        if (i == 1) stand_at(2);
        if (rank > 0) send_to((rank + 1) % size);
    }
}

static void shift(void) {
    for (int i = 0; i < 3; i++) {
        if (i == 1) stand_at(1);
        MPI_Sendrecv_replace(buffer, sizeof buffer, MPI_CHAR, (rank + 1) % size, 1, (rank + size - 1) % size, 1, WORLD,
                             MPI_STATUS_IGNORE);
    }
}

/* What is buffered is sent in the end. */
static void buffered(void) {
    static char room[(1 << 22) + MPI_BSEND_OVERHEAD];
    if (rank == 0) {
        MPI_Buffer_attach(room, sizeof room);
        MPI_Bsend(buffer, sizeof buffer, MPI_CHAR, 1, 3, WORLD);
    }
    if (rank == 1) {
        stand();
        MPI_Recv(buffer, sizeof buffer, MPI_CHAR, 0, 3, WORLD, MPI_STATUS_IGNORE);
    }
}

static void scan(void) {
    stand_at(0);
    MPI_Scan(&one, &sum, 1, MPI_INT, MPI_SUM, WORLD);
}

static int at_end;

/* What `atexit` has been given before `MPI_Init` runs after what others have given it since. */
static void finalize(void) {
    if (!at_end) return;
    stand_at(2);
    MPI_Barrier(WORLD);
    MPI_Finalize();
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "", *argument = argc > 2 ? argv[2] : "";
#define IS(name) (strcmp(what, name) == 0)
    if (IS("at exit")) atexit(finalize);
    const char *number = getenv("PMI_RANK") ? getenv("PMI_RANK") : getenv("OMPI_COMM_WORLD_RANK");
    if (IS("late start") && number && atoi(number) == 1) stand();
    if (IS("has 4")) return HAS_4 ? 0 : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (IS("child")) child();
    else if (IS("at exit")) {
        at_end = 1;
        exit(0);
    }
#if HAS_4
    else if (IS("persistent collective")) persistent_collective();
    else if (IS("partitioned")) partitioned();
#endif
    else if (IS("made again")) made_again();
    else if (IS("between barrier")) between_barrier();
    else if (IS("between broadcast")) between_broadcast();
    else if (IS("idup")) idup();
    else if (IS("matched probe")) matched_probe();
    else if (IS("spawn")) spawn(argv[0]);
    else if (IS("flag in memory")) flag_in_memory();
    else if (IS("file")) file(argument, 0);
    else if (IS("ordered file")) file(argument, 1);
    else if (IS("server")) server();
    else if (IS("slow poll")) slow_poll();
    else if (IS("error returned")) error_returned();
    else if (IS("error handler")) error_handler();
    else if (IS("operation")) operation();
    else if (IS("attribute")) attribute();
    else if (IS("freed request")) freed_request();
    else if (IS("wait any")) wait_any();
    else if (IS("post and start")) post_and_start();
    else if (IS("lock")) lock(0);
    else if (IS("lock all")) lock(1);
    else if (IS("neighbours")) neighbours();
    else if (IS("some make one")) some_make_one();
    else if (IS("leaders")) leaders();
    else if (IS("ring")) ring();
    else if (IS("shift")) shift();
    else if (IS("buffered")) buffered();
    else if (IS("scan")) scan();
    else if (IS("late start")) {
    } else if (IS("late end")) stand_at(2);
    else {
        fprintf(stderr, "no such program\n");
        return 2;
    }
    MPI_Finalize();
    return 0;
}
