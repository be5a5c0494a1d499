/*
 * Programs that are looked at from outside while they run, by the first argument. Lines that a test asks for end in a
 * comment.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int rank, size;
static const char *end;
static long interrupted, wrong;

static int goes_on(void) { return access(end, F_OK) != 0; }

/* One rank reads what nobody writes. */
static void reads(void) {
    int ends[2];
    char letter;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        if (pipe(ends) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
        if (read(ends[0], &letter, 1) != 1) MPI_Abort(MPI_COMM_WORLD, 1); /* reads */
    }
    MPI_Barrier(MPI_COMM_WORLD); /* waits for the reader */
}

/* All ranks sleep until the test has done what it wants. */
static void waits_for_the_end(void) {
    while (goes_on()) usleep(50000); /* waits */
}

static struct timespec in(long milliseconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    now.tv_nsec += milliseconds * 1000000;
    now.tv_sec += now.tv_nsec / 1000000000;
    now.tv_nsec %= 1000000000;
    return now;
}

/* What a wait that ends by time gives: anything else is an error. */
static void expect(int is_right, int error) {
    if (error == EINTR) interrupted++;
    else if (!is_right) wrong++;
}

/* Waits in the kernel in many ways, for 20 ms each. */
static void sleeps_once(int events, int sock) {
    struct epoll_event event;
    struct timespec pause = {0, 20000000}, until;
    struct timeval time = {0, 20000};
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    sem_t semaphore;
    sigset_t signals;
    char letter;
    int result;
    errno = 0;
    result = nanosleep(&pause, NULL);
    expect(result == 0, errno);
    errno = 0;
    result = poll(NULL, 0, 20);
    expect(result == 0, errno);
    errno = 0;
    result = select(0, NULL, NULL, NULL, &time);
    expect(result == 0, errno);
    errno = 0;
    result = epoll_wait(events, &event, 1, 20);
    expect(result == 0, errno);
    until = in(20);
    pthread_mutex_lock(&mutex);
    result = pthread_cond_timedwait(&condition, &mutex, &until);
    pthread_mutex_unlock(&mutex);
    expect(result == ETIMEDOUT, result);
    sem_init(&semaphore, 0, 0);
    until = in(20);
    errno = 0;
    result = sem_timedwait(&semaphore, &until);
    expect(result == -1 && errno == ETIMEDOUT, errno);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    errno = 0;
    result = sigtimedwait(&signals, NULL, &pause);
    expect(result == -1 && errno == EAGAIN, errno);
    errno = 0;
    result = recv(sock, &letter, 1, 0);
    expect(result == -1 && errno == EAGAIN, errno);
}

static void *one(void *argument) { return argument; }

/* Threads come and go. */
static void *starts_threads(void *unused) {
    while (goes_on()) {
        pthread_t thread;
        void *result;
        if (pthread_create(&thread, NULL, one, &end) != 0) continue;
        if (pthread_join(thread, &result) != 0 || result != &end) wrong++;
    }
    return unused;
}

/* Sleeps, computes, sends and receives, and ends with what it has to end with. */
static void works(void) {
    int sockets[2], next = (rank + 1) % size, last = (rank + size - 1) % size, go_on = 1;
    int events = epoll_create1(0);
    struct timeval time = {0, 20000};
    sigset_t signals;
    pthread_t thread;
    long rounds = 0, token = rank, sum = 0;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    if (events < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    pthread_create(&thread, NULL, starts_threads, NULL);
    while (go_on) {
        int mine = goes_on();
        sleeps_once(events, sockets[0]);
        for (volatile int i = 0; i < 1000000; i++) sum += i;
        for (int i = 0; i < 1000; i++)
            MPI_Sendrecv_replace(&token, 1, MPI_LONG, next, 0, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (sum != 499999500000 * ++rounds) wrong++;
        MPI_Allreduce(&mine, &go_on, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    }
    pthread_join(thread, NULL);
    /* Each step has brought the number of the rank before. */
    if (token != ((rank - rounds % size * (1000 % size)) % size + size) % size) wrong++;
    printf("rank %d of %d: %ld interrupted, %ld wrong\n", rank, size, interrupted, wrong);
}

static int ends_of_pipe[2], ends_of_socket[2];
enum { LARGE = 1 << 20 };

/* Writes more than a pipe holds, in one call. */
static void *writes_much(void *bytes) {
    if (write(ends_of_pipe[1], bytes, LARGE) != LARGE) wrong++; /* writes */
    return bytes;
}

/* Asks for all of what comes in two parts, in one call. */
static void *receives_all(void *bytes) {
    if (recv(ends_of_socket[0], bytes, LARGE, MSG_WAITALL) != LARGE) wrong++; /* receives */
    return bytes;
}

/* Calls that have done a part of their work sleep until the end, and then must do the rest. */
static void transfers(void) {
    static char out[LARGE], in[LARGE], half[LARGE / 2];
    pthread_t writer, receiver;
    size_t done = 0;
    ssize_t more;
    memset(half, 'a', sizeof half);
    if (pipe(ends_of_pipe) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, ends_of_socket) != 0)
        MPI_Abort(MPI_COMM_WORLD, 1);
    pthread_create(&writer, NULL, writes_much, out);
    pthread_create(&receiver, NULL, receives_all, in);
    while (done < sizeof half && (more = write(ends_of_socket[1], half, sizeof half - done)) > 0) done += more;
    waits_for_the_end();
    for (done = 0; done < sizeof half && (more = write(ends_of_socket[1], half, sizeof half - done)) > 0;)
        done += more;
    /* If it has come back short, there is no more. */
    close(ends_of_socket[1]);
    for (done = 0; done < LARGE && poll(&(struct pollfd){ends_of_pipe[0], POLLIN, 0}, 1, 5000) == 1;)
        done += read(ends_of_pipe[0], half, sizeof half);
    pthread_join(writer, NULL);
    pthread_join(receiver, NULL);
    printf("rank %d of %d: %ld wrong, %zu of %d\n", rank, size, wrong, done, LARGE);
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int level, is_work = strcmp(what, "works") == 0;
    end = argc > 2 ? argv[2] : "";
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (strcmp(what, "reads") == 0) reads();
    else if (is_work) works();
    else if (strcmp(what, "transfers") == 0) transfers();
    else waits_for_the_end();
    MPI_Finalize();
    return is_work ? 3 : 0;
}
