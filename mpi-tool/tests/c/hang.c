/*
 * Programs that hang, one by one, by the first argument; and some that are right and look as if they did. Lines that a
 * test asks for end in a comment. All run on two ranks or more.
 */
#include <mpi.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

/* Open MPI has them before it says that it is of MPI-4.0. */
#ifndef OMPI_MAJOR_VERSION
#define OMPI_MAJOR_VERSION 0
#endif
#define HAS_PERSISTENT (MPI_VERSION >= 4 || OMPI_MAJOR_VERSION >= 5)

static int rank, size;
static char buffer[1 << 22];

static int next(void) { return (rank + 1) % size; }

/* Without an end, for as long as somebody lets it. */
static void compute(void) {
    volatile unsigned long steps = 0;
    alarm(600);
    for (;;) steps++;
}

static void receive_cycle(void) {
    MPI_Recv(buffer, 1, MPI_CHAR, next(), 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* cycle */
    MPI_Send(buffer, 1, MPI_CHAR, (rank + size - 1) % size, 5, MPI_COMM_WORLD);
}

static void missing_collective(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank != 1) MPI_Barrier(MPI_COMM_WORLD); /* barrier */
    MPI_Finalize(); /* finalize */
    exit(0);
}

static void other_order(void) {
    MPI_Comm one, other;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(one, "one");
    MPI_Comm_set_name(other, "other");
    if (rank == 0) {
        MPI_Barrier(one); /* one first */
        MPI_Barrier(other);
    } else {
        MPI_Barrier(other); /* other first */
        MPI_Barrier(one);
    }
}

/* A nonblocking operation does not match a blocking one. */
static void other_function(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Ibarrier(MPI_COMM_WORLD, &request); /* nonblocking */
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits for the barrier */
    } else {
        MPI_Barrier(MPI_COMM_WORLD); /* blocking */
    }
}

static void wrong_tag(void) {
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* tag 5 */
    if (rank == 1) MPI_Ssend(buffer, 1, MPI_CHAR, 0, 6, MPI_COMM_WORLD); /* tag 6 */
}

static void wrong_communicator(void) {
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_name(other, "other");
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, other, MPI_STATUS_IGNORE); /* on other */
    if (rank == 1) MPI_Ssend(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD); /* on the world */
}

static void endless_loop(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* before the loop */
    if (rank == 1) compute();
    MPI_Barrier(MPI_COMM_WORLD); /* after the loop */
}

static void stopped(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* before the stop */
    if (rank == 1) raise(SIGSTOP);
    MPI_Barrier(MPI_COMM_WORLD); /* after the stop */
}

/* Without a signal, which would make launchers end the others at once. */
static void dead(int by_exit) {
    MPI_Barrier(MPI_COMM_WORLD); /* before the end */
    if (rank == 1 && by_exit) exit(0);
    if (rank == 1) _exit(0);
    MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* after the end */
}

static void request(void) {
    MPI_Request request;
    if (rank == 0) {
        MPI_Irecv(buffer, 1, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &request); /* asks */
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits */
    }
    MPI_Barrier(MPI_COMM_WORLD); /* never comes */
}

/* One rank does not start it for the second time. */
static void persistent(void) {
#if HAS_PERSISTENT
    MPI_Request request;
    int one = 1, sum;
    MPI_Allreduce_init(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    for (int round = 0; round < 2; round++) {
        if (rank == 1 && round == 1) MPI_Recv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* does not start */
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits for the start */
    }
    MPI_Request_free(&request);
#endif
}

/* The second rank does not make a communicator with the first one for the second time. */
static void create_group(void) {
    MPI_Group world, two;
    MPI_Comm pair;
    int both[2] = {0, 1};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 2, both, &two);
    for (int round = 0; rank < 2 && round < 2; round++) {
        if (rank == 1 && round == 1) MPI_Recv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* makes no pair */
        MPI_Comm_create_group(MPI_COMM_WORLD, two, 7, &pair); /* makes a pair */
        MPI_Comm_free(&pair);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* One rank, the other group's leader or a member of the first one, does not make a communicator between the two. */
static void between(int who) {
    MPI_Comm part, both;
    MPI_Comm_split(MPI_COMM_WORLD, rank == 2, rank, &part);
    if (rank == who) MPI_Recv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* makes nothing between */
    MPI_Intercomm_create(part, 0, MPI_COMM_WORLD, rank == 2 ? 0 : 2, 9, &both); /* between two */
}

/* Of a message in parts, one part is never ready, or the receiver does not start. */
static void parts(int is_started) {
#if HAS_PERSISTENT
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(buffer, 4, 1, MPI_CHAR, 1, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready_range(0, 2, request);
        if (is_started) MPI_Recv(buffer + 8, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* keeps a part */
        MPI_Pready(3, request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits for who takes the parts */
    } else if (rank == 1) {
        MPI_Precv_init(buffer, 4, 1, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        if (!is_started) MPI_Recv(buffer + 8, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* takes no parts */
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE); /* waits for all parts */
    }
    MPI_Barrier(MPI_COMM_WORLD);
#else
    (void)is_started;
#endif
}

/* The first rank has sent a little to all, which is complete at once, before it waits for who never sends. */
static void small_sends(void) {
    MPI_Request requests[4];
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            MPI_Isend(buffer, 1, MPI_CHAR, 2, 8 + i, MPI_COMM_WORLD, &requests[i]); /* is complete */
        MPI_Irecv(buffer + 1, 1, MPI_CHAR, 1, 7, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE); /* waits for all */
    }
    if (rank == 2) MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* took nothing */
    MPI_Barrier(MPI_COMM_WORLD); /* no message */
}

static jmp_buf before_the_error;

static void jump(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    longjmp(before_the_error, 1);
}

static __attribute__((noinline)) void poll(int depth) {
    volatile char stack[4096];
    int flag = 0;
    stack[0] = 0;
    if (depth > 0) {
        poll(depth - 1 + stack[0]);
        return;
    }
    alarm(600);
    while (!flag) MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
}

/* Right: the second rank has left a wrong send by a jump, and polls from deeper in the stack. */
static void jumped(void) {
    MPI_Errhandler handler;
    MPI_Comm_create_errhandler(jump, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    if (rank == 1) {
        if (setjmp(before_the_error) == 0) MPI_Send(buffer, 1, MPI_CHAR, 0, -7, MPI_COMM_WORLD); /* wrong tag */
        poll(4);
    }
    if (rank == 0) MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* waits for who has jumped */
    MPI_Barrier(MPI_COMM_WORLD);
}

static int works_at_the_end(MPI_Comm comm, int key, void *value, void *state) {
    (void)comm, (void)key, (void)value, (void)state;
    compute();
    return MPI_SUCCESS;
}

/* Right: the second rank works in a callback of MPI_Finalize, before it would send. */
static void last_callback(void) {
    int key;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, works_at_the_end, &key, NULL);
    if (rank == 1) {
        MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
        MPI_Finalize(); /* works in finalize */
        exit(0);
    }
    MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One rank does not do its part of an epoch: it opens no window, or does not end its access. */
static void epoch(int is_opened) {
    MPI_Win window;
    MPI_Group world, first, others;
    int zero = 0;
    MPI_Win_create(buffer, sizeof buffer, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_incl(world, 1, &zero, &first);
    MPI_Group_excl(world, 1, &zero, &others);
    for (int round = 0; round < 3; round++) {
        if (rank == 0) {
            if (round == 2 && !is_opened)
                MPI_Recv(buffer, 1, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* opens nothing */
            MPI_Win_post(others, 0, window);
            MPI_Win_wait(window); /* waits for accesses */
        } else {
            MPI_Win_start(first, 0, window); /* starts */
            MPI_Put(&rank, 1, MPI_INT, 0, 4 * rank, 1, MPI_INT, window); /* puts to the first */
            if (round == 2 && is_opened && rank == 2)
                MPI_Recv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* ends nothing */
            MPI_Win_complete(window); /* completes */
        }
    }
    MPI_Win_free(&window); /* frees */
}

/* Both ways, with a tag that nobody sends. */
static void exchange_tags(void) {
    MPI_Sendrecv(buffer, 1 << 21, MPI_CHAR, next(), 3, buffer + (1 << 21), 1 << 21, MPI_CHAR, next(), 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* other tags */
}

/* As a debugger does: what it is attached to stands still. */
static void traced(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* before the debugger */
    if (rank == 1) {
        pid_t this = getpid();
        prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            ptrace(PTRACE_ATTACH, this, NULL, NULL);
            waitpid(this, NULL, __WALL);
            sleep(600);
            _exit(0);
        }
        while (1) sleep(1);
    }
    MPI_Barrier(MPI_COMM_WORLD); /* after the debugger */
}

static void window_lock(void) {
    MPI_Win window;
    int *memory, value = 1;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    if (rank == 1) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* locks */
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window);
        MPI_Win_flush(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        /* Instead of unlocking it. */
        MPI_Recv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* keeps the lock */
    } else if (rank == 0) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window); /* wants the lock */
        MPI_Put(&value, 1, MPI_INT, 0, 0, 1, MPI_INT, window); /* puts */
        MPI_Win_unlock(0, window); /* unlocks */
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void spawn(const char *program) {
    MPI_Comm children;
    char *arguments[] = {"sleep", NULL};
    MPI_Comm_spawn(program, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, MPI_ERRCODES_IGNORE); /* spawns */
}

/* The second rank holds a lock of the file, and waits for the first one, which writes. */
static void file_lock(const char *path) {
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_atomicity(file, 1);
    if (rank == 1) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int descriptor = open(path, O_RDWR);
        if (descriptor < 0 || fcntl(descriptor, F_SETLK, &lock) != 0) abort();
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) MPI_File_write_at(file, 0, buffer, 8, MPI_CHAR, MPI_STATUS_IGNORE); /* writes */
    MPI_Barrier(MPI_COMM_WORLD); /* after the write */
}

/* Right: the others wait for a rank that works, and makes calls. */
static void polls(int by_probe) {
    MPI_Request request;
    int flag = 0;
    if (rank == 1) {
        if (!by_probe) MPI_Irecv(buffer, 1, MPI_CHAR, 0, 5, MPI_COMM_WORLD, &request);
        alarm(600);
        while (!flag) {
            if (by_probe) MPI_Iprobe(0, 5, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            else MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD); /* waits for who polls */
}

/* Right: nothing hangs. Collective operations, messages in a ring, requests, windows, files, communicators, for a second or
   longer, so that it can be looked at while it runs. */
static void right(const char *path) {
    MPI_Comm rows, pair;
    MPI_Win window;
    MPI_File file;
    MPI_Request requests[64];
    int *memory, sum, one = 1, goes_on = 1;
    double start = MPI_Wtime();
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &rows);
    MPI_Comm_dup(rows, &pair);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int round = 0; goes_on; round++) {
        int is_early = round < 60 || MPI_Wtime() - start < 1;
        for (int i = 0; i < 32; i++) {
            MPI_Irecv(buffer + i, 1, MPI_CHAR, (rank + size - 1) % size, i, MPI_COMM_WORLD, &requests[i]);
            MPI_Isend(buffer + 64, 1, MPI_CHAR, next(), i, MPI_COMM_WORLD, &requests[32 + i]);
        }
        MPI_Waitall(64, requests, MPI_STATUSES_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, pair);
        MPI_Win_lock(MPI_LOCK_SHARED, next(), 0, window);
        MPI_Put(&one, 1, MPI_INT, next(), 0, 1, MPI_INT, window);
        MPI_Win_unlock(next(), window);
        MPI_Win_fence(0, window);
        MPI_File_write_at(file, rank, buffer, 1, MPI_CHAR, MPI_STATUS_IGNORE);
        MPI_Allreduce(&is_early, &goes_on, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_Win_free(&window);
    MPI_Comm_free(&pair);
    MPI_Comm_free(&rows);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    const char *argument = argc > 2 ? argv[2] : "";
    if (strcmp(what, "nothing") == 0) return 0;
    if (strcmp(what, "has persistent") == 0) return HAS_PERSISTENT ? 0 : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "receive cycle") == 0) receive_cycle();
    else if (strcmp(what, "missing collective") == 0) missing_collective();
    else if (strcmp(what, "other order") == 0) other_order();
    else if (strcmp(what, "wrong tag") == 0) wrong_tag();
    else if (strcmp(what, "wrong communicator") == 0) wrong_communicator();
    else if (strcmp(what, "endless loop") == 0) endless_loop();
    else if (strcmp(what, "stopped") == 0) stopped();
    else if (strcmp(what, "other function") == 0) other_function();
    else if (strcmp(what, "dead") == 0) dead(0);
    else if (strcmp(what, "exited") == 0) dead(1);
    else if (strcmp(what, "request") == 0) request();
    else if (strcmp(what, "persistent") == 0) persistent();
    else if (strcmp(what, "create group") == 0) create_group();
    else if (strcmp(what, "no leader") == 0) between(2);
    else if (strcmp(what, "no member") == 0) between(1);
    else if (strcmp(what, "no part") == 0) parts(1);
    else if (strcmp(what, "no parts") == 0) parts(0);
    else if (strcmp(what, "small sends") == 0) small_sends();
    else if (strcmp(what, "jumped") == 0) jumped();
    else if (strcmp(what, "last callback") == 0) last_callback();
    else if (strcmp(what, "window lock") == 0) window_lock();
    else if (strcmp(what, "no post") == 0) epoch(0);
    else if (strcmp(what, "no complete") == 0) epoch(1);
    else if (strcmp(what, "exchange tags") == 0) exchange_tags();
    else if (strcmp(what, "traced") == 0) traced();
    else if (strcmp(what, "spawn") == 0) spawn(argument);
    else if (strcmp(what, "file lock") == 0) file_lock(argument);
    else if (strcmp(what, "test loop") == 0) polls(0);
    else if (strcmp(what, "probe loop") == 0) polls(1);
    else if (strcmp(what, "right") == 0) right(argument);
    MPI_Finalize();
    return 0;
}
