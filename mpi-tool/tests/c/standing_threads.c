/*
 * The same as in `standing.c`, by threads and sessions.
 */
#include "standing.h"
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>

static void work(void) {
    struct timespec begin, now;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - begin.tv_sec) * 1e9 + now.tv_nsec - begin.tv_nsec < 2.5e9);
}

static void *works_and_sends(void *unused) {
    (void)unused;
    work();
    send_to(1);
    return NULL;
}

/* The main thread waits for who waits for the other thread. */
static void thread_works(void) {
    pthread_t thread;
    if (rank == 2) {
        pthread_create(&thread, NULL, works_and_sends, NULL);
        receive_from(1);
        pthread_join(thread, NULL);
    } else if (rank == 1) {
        receive_from(2);
        send_to(2);
    }
}

static int ends[2];

static void *writes_later(void *unused) {
    (void)unused;
    stand();
    if (write(ends[1], "x", 1) != 1) abort();
    return NULL;
}

static void *polls_and_sends(void *unused) {
    struct pollfd end = {.fd = ends[0], .events = POLLIN};
    (void)unused;
    if (poll(&end, 1, -1) != 1) abort();
    send_to(1);
    return NULL;
}

/* A thread that has not called MPI yet waits for a descriptor, which another process writes to. */
static void thread_polls(void) {
    pthread_t thread;
    if (rank == 2) {
        if (pipe(ends) != 0) abort();
        pthread_create(&thread, NULL, polls_and_sends, NULL);
        char command[64];
        snprintf(command, sizeof command, "(sleep 2.5; echo >/proc/%d/fd/%d) &", getpid(), ends[1]);
        if (system(command) != 0) abort();
        receive_from(1);
        pthread_join(thread, NULL);
    } else if (rank == 1) {
        receive_from(2);
        send_to(2);
    }
}

static sem_t *semaphore;

static void *waits_and_sends(void *unused) {
    (void)unused;
    sem_wait(semaphore);
    send_to(1);
    return NULL;
}

/* A thread waits for another process by memory that they share. */
static void semaphore_of_all(void) {
    pthread_t thread;
    MPI_Win window;
    MPI_Aint length;
    int unit;
    MPI_Comm node;
    MPI_Comm_split_type(WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(rank == 0 ? 4096 : 0, 1, MPI_INFO_NULL, node, &semaphore, &window);
    MPI_Win_shared_query(window, 0, &length, &unit, &semaphore);
    if (rank == 0) sem_init(semaphore, 1, 0);
    MPI_Barrier(WORLD);
    if (rank == 2) {
        pthread_create(&thread, NULL, waits_and_sends, NULL);
        receive_from(1);
        pthread_join(thread, NULL);
    } else if (rank == 1) {
        receive_from(2);
        send_to(2);
    } else if (rank == 0) {
        stand();
        sem_post(semaphore);
    }
    MPI_Barrier(WORLD);
    MPI_Win_free(&window);
    MPI_Comm_free(&node);
}

static void *sleeps_and_sends(void *unused) {
    (void)unused;
    stand();
    send_to(rank);
    return NULL;
}

static void own_message(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, sleeps_and_sends, NULL);
    receive_from(rank);
    pthread_join(thread, NULL);
}

static int no_query(void *state, MPI_Status *status) {
    (void)state;
    MPI_Status_set_elements(status, MPI_CHAR, 0);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int no_free(void *state) {
    (void)state;
    return MPI_SUCCESS;
}

static int no_cancel(void *state, int complete) {
    (void)state, (void)complete;
    return MPI_SUCCESS;
}

static void *completes_later(void *request) {
    stand();
    MPI_Grequest_complete(*(MPI_Request *)request);
    return NULL;
}

static void own_request(void) {
    pthread_t thread;
    MPI_Request request, same;
    MPI_Grequest_start(no_query, no_free, no_cancel, NULL, &request);
    same = request;
    pthread_create(&thread, NULL, completes_later, &same);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
}

/* A master that reads its input, and workers that wait. */
static void input(void) {
    pthread_t thread;
    if (rank == 0) {
        if (pipe(ends) != 0) abort();
        pthread_create(&thread, NULL, writes_later, NULL);
        if (read(ends[0], buffer, 1) != 1) abort();
        pthread_join(thread, NULL);
    }
    MPI_Bcast(buffer, 1, MPI_CHAR, 0, WORLD);
}

#if HAS_4
static void session(void) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "standing", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    stand_at(1);
    MPI_Barrier(comm);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Session_finalize(&session);
}
#endif

#if HAS_4
static MPI_Comm of_session(const char *level) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", level);
    MPI_Session_init(info, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Info_free(&info);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "thread", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    return comm;
}

static void *receives_twice(void *unused) {
    (void)unused;
    MPI_Comm comm = of_session("MPI_THREAD_MULTIPLE");
    for (int i = 0; i < 2; i++) MPI_Recv(buffer, 1, MPI_CHAR, 1, 4, comm, MPI_STATUS_IGNORE);
    return NULL;
}

/* One thread of the first rank has the world, and another one a session. */
static void session_of_a_thread(void) {
    pthread_t thread;
    if (rank == 0) {
        pthread_create(&thread, NULL, receives_twice, NULL);
        /* That thread receives by now. */
        usleep(700000);
        MPI_Recv(buffer + 1, 1, MPI_CHAR, 2, 5, WORLD, MPI_STATUS_IGNORE);
        send_to(1);
        pthread_join(thread, NULL);
        return;
    }
    MPI_Comm comm = of_session("MPI_THREAD_MULTIPLE");
    usleep(1400000);
    if (rank == 1) {
        MPI_Send(buffer, 1, MPI_CHAR, 0, 4, comm);
        receive_from(0);
        MPI_Send(buffer, 1, MPI_CHAR, 0, 4, comm);
    } else if (rank == 2) {
        stand();
        send_to(0);
    } else {
        MPI_Recv(buffer, 1, MPI_CHAR, 1, 6, WORLD, MPI_STATUS_IGNORE);
    }
    if (rank == 1) MPI_Send(buffer, 1, MPI_CHAR, 3, 6, WORLD);
}
#endif

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    int level;
#define IS(name) (strcmp(what, name) == 0)
    if (IS("has 4")) return HAS_4 ? 0 : 1;
    int is_alone = IS("input") || IS("session of a thread");
    MPI_Init_thread(&argc, &argv, is_alone ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(WORLD, &rank);
    MPI_Comm_size(WORLD, &size);
    if (IS("thread works")) thread_works();
    else if (IS("thread polls")) thread_polls();
    else if (IS("semaphore of all")) semaphore_of_all();
    else if (IS("own message")) own_message();
    else if (IS("own request")) own_request();
    else if (IS("input")) input();
#if HAS_4
    else if (IS("session")) session();
    else if (IS("session of a thread")) session_of_a_thread();
#endif
    else return 2;
    MPI_Finalize();
    return 0;
}
