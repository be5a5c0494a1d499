/* Right programs with windows, in which each rank uses its own part, too: nothing is found in them, on any number of ranks from 2 on. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { N = 32 };
static int r, n, left, right_;
static MPI_Comm w = MPI_COMM_WORLD;
static volatile int seen;

static MPI_Win make(int **memory, int count) {
    MPI_Win win;
    MPI_Win_allocate(count * sizeof(int), sizeof(int), MPI_INFO_NULL, w, memory, &win);
    memset(*memory, 0, count * sizeof(int));
    MPI_Barrier(w);
    return win;
}

/* Edges by fences, the inside computed meanwhile. */
static void halo_fence(void) {
    int *m;
    MPI_Win win = make(&m, N);
    MPI_Win_fence(0, win);
    for (int step = 0; step < 10; step++) {
        int edge = m[1] + step, other = m[N - 2] + step;
        MPI_Win_fence(0, win);
        MPI_Put(&edge, 1, MPI_INT, left, N - 1, 1, MPI_INT, win);
        MPI_Put(&other, 1, MPI_INT, right_, 0, 1, MPI_INT, win);
        for (int i = 2; i < N - 2; i++) m[i] = m[i] + i;
        MPI_Win_fence(0, win);
        m[1] += m[0], m[N - 2] += m[N - 1];
        m[0] = m[N - 1] = 0;
    }
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    m[0] = 5;
    MPI_Win_free(&win);
}

/* Two buffers by turns: one is read while the other one is put to. */
static void two_buffers(void) {
    int *m, data[N];
    MPI_Win win = make(&m, 2 * N);
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    for (int step = 0; step < 10; step++) {
        int to = step % 2 * N, from = N - to;
        for (int i = 0; i < N; i++) data[i] = step;
        MPI_Put(data, N, MPI_INT, right_, to, N, MPI_INT, win);
        for (int i = 0; i < N; i++) seen = m[from + i], m[from + i] = 0;
        MPI_Win_fence(MPI_MODE_NOSTORE, win);
    }
    MPI_Win_free(&win);
}

static void pscw(int both) {
    int *m, data = r;
    MPI_Group all, from, to;
    MPI_Win win = make(&m, N);
    MPI_Comm_group(w, &all);
    MPI_Group_incl(all, 1, &left, &from);
    MPI_Group_incl(all, 1, &right_, &to);
    for (int step = 0; step < 10; step++) {
        m[0] = step;
        MPI_Win_post(from, 0, win);
        m[5] = step;
        MPI_Win_start(to, 0, win);
        MPI_Put(&data, 1, MPI_INT, right_, 0, 1, MPI_INT, win);
        m[6] = step;
        MPI_Win_complete(win);
        m[7] = step;
        MPI_Win_wait(win);
        seen = m[0];
        if (both) MPI_Barrier(w);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&all), MPI_Group_free(&from), MPI_Group_free(&to);
}

/* A message says that the data are there, and another one that they were used. */
static void messages(int how) {
    int *m, data = 1;
    MPI_Win win = make(&m, N);
    if (how) MPI_Win_lock_all(0, win);
    for (int step = 0; step < 10; step++) {
        if (r == 0) {
            if (!how) MPI_Win_lock(step % 2 ? MPI_LOCK_SHARED : MPI_LOCK_EXCLUSIVE, 1, 0, win);
            MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Accumulate(&data, 1, MPI_INT, 1, 1, 1, MPI_INT, MPI_SUM, win);
            if (how) MPI_Win_flush(1, win);
            else MPI_Win_unlock(1, win);
            MPI_Send(NULL, 0, MPI_INT, 1, 0, w);
            MPI_Recv(NULL, 0, MPI_INT, 1, 0, w, MPI_STATUS_IGNORE);
        } else if (r == 1) {
            MPI_Request q;
            MPI_Irecv(NULL, 0, MPI_INT, 0, 0, w, &q);
            int done = 0;
            while (!done) MPI_Test(&q, &done, MPI_STATUS_IGNORE);
            seen = m[0] + m[1], m[0] = m[1] = step;
            MPI_Send(NULL, 0, MPI_INT, 0, 0, w);
        }
    }
    if (how) MPI_Win_unlock_all(win);
    MPI_Barrier(w);
    MPI_Win_free(&win);
}

/* By way of the last rank, which may be rank 1 itself. */
static void around(void) {
    int *m, data = 1, last = n - 1;
    MPI_Win win = make(&m, N);
    if (r == 1) m[0] = 3, MPI_Send(NULL, 0, MPI_INT, last, 0, w);
    if (r == last) {
        MPI_Recv(NULL, 0, MPI_INT, 1, 0, w, MPI_STATUS_IGNORE);
        MPI_Send(NULL, 0, MPI_INT, 0, 0, w);
    }
    if (r == 0) {
        MPI_Recv(NULL, 0, MPI_INT, last, 0, w, MPI_STATUS_IGNORE);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
    }
    MPI_Request q;
    MPI_Ibarrier(w, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (r == 1) seen = m[0], m[0] = 1;
    MPI_Barrier(w);
    MPI_Win_free(&win);
}

/* Work by a counter at rank 0, which looks at it under a lock, or by the same operation. */
static void counter(void) {
    int *m, one = 1, got;
    MPI_Win win = make(&m, N);
    for (int step = 0; step < 10; step++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Fetch_and_op(&one, &got, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        if (r == 0) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
            seen = m[0];
            m[0]++;
            MPI_Win_unlock(0, win);
            m[8] = step;
        }
    }
    MPI_Barrier(w);
    seen = m[0];
    MPI_Win_free(&win);
}

/* Memory of the program's own, given back and had again. */
static void own_memory(void) {
    int *a = malloc(N * sizeof(int)), data = r, got;
    for (int round = 0; round < 3; round++) {
        MPI_Win win;
        for (int i = 0; i < N; i++) a[i] = round;
        MPI_Win_create(a, N * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &win);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        MPI_Put(&data, 1, MPI_INT, right_, 3, 1, MPI_INT, win);
        MPI_Get(&got, 1, MPI_INT, left, 4, 1, MPI_INT, win);
        seen = a[4];
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        seen = a[3], a[4] = 3;
        MPI_Win_free(&win);
        free(a);
        a = malloc(N * sizeof(int));
    }
    free(a);
}

static void dynamic(void) {
    int *a = calloc(N, sizeof(int)), data = 4;
    MPI_Aint here, there;
    MPI_Win win;
    MPI_Win_create_dynamic(MPI_INFO_NULL, w, &win);
    MPI_Win_attach(win, a, N * sizeof(int));
    MPI_Get_address(a, &here);
    MPI_Sendrecv(&here, 1, MPI_AINT, left, 0, &there, 1, MPI_AINT, right_, 0, w, MPI_STATUS_IGNORE);
    a[0] = 2;
    MPI_Barrier(w);
    MPI_Win_lock(MPI_LOCK_SHARED, right_, 0, win);
    MPI_Put(&data, 1, MPI_INT, right_, there, 1, MPI_INT, win);
    MPI_Win_unlock(right_, win);
    a[1] = 2;
    MPI_Barrier(w);
    seen = a[0];
    MPI_Win_detach(win, a);
    MPI_Win_free(&win);
    free(a);
}

/* Only some of the ranks have the window. */
static void part(void) {
    MPI_Comm half;
    MPI_Comm_split(w, r % 2, -r, &half);
    int *m, me, size, data = 3;
    MPI_Win win;
    MPI_Comm_rank(half, &me), MPI_Comm_size(half, &size);
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, half, &m, &win);
    m[0] = 0;
    MPI_Barrier(half);
    MPI_Win_lock(MPI_LOCK_SHARED, (me + 1) % size, 0, win);
    MPI_Put(&data, 1, MPI_INT, (me + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_unlock((me + 1) % size, win);
    m[1] = 4;
    MPI_Barrier(half);
    seen = m[0], m[0] = 2;
    MPI_Barrier(w);
    MPI_Win_free(&win);
    MPI_Comm_free(&half);
}

/* Reads of all, stores of none. */
static void reads(void) {
    int *m, got[N];
    MPI_Win win = make(&m, N);
    MPI_Win_lock_all(0, win);
    MPI_Get(got, N, MPI_INT, right_, 0, N, MPI_INT, win);
    for (int i = 0; i < N; i++) seen = m[i];
    MPI_Win_flush_all(win);
    for (int i = 0; i < N; i++) seen = m[i];
    MPI_Win_unlock_all(win);
    MPI_Barrier(w);
    for (int i = 0; i < N; i++) m[i] = got[i];
    MPI_Barrier(w);
    MPI_Win_free(&win);
}

/* Rooted collectives order in one direction. */
static void rooted(void) {
    int *m, data = 1, word = 0;
    MPI_Win win = make(&m, N);
    for (int step = 0; step < 5; step++) {
        if (r == 1) m[0] = step;
        /* All tell rank 0 that they are ready. */
        MPI_Reduce(&data, &word, 1, MPI_INT, MPI_SUM, 0, w);
        if (r == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
            MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_unlock(1, win);
        }
        MPI_Bcast(&word, 1, MPI_INT, 0, w);
        if (r == 1) seen = m[0];
    }
    MPI_Win_free(&win);
}

/* The lock of a window keeps others away from the data in another one. */
static void mutex(void) {
    int *m, *of_lock, data = 1;
    MPI_Win win = make(&m, N), lock = make(&of_lock, N);
    for (int step = 0; step < 10 && r < 2; step++) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, lock);
        MPI_Put(&data, 1, MPI_INT, 0, r, 1, MPI_INT, lock);
        MPI_Win_flush(0, lock);
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        if (r == 0) MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        else seen = m[0], m[0] = step;
        MPI_Win_unlock(1, win);
        MPI_Win_unlock(0, lock);
    }
    MPI_Barrier(w);
    MPI_Win_free(&lock);
    MPI_Win_free(&win);
}

/* A flag in one window, which is read under a lock, says that the data in another one are there. */
static void flag(void) {
    int *m, *of_flag;
    MPI_Win win = make(&m, N), flags = make(&of_flag, N);
    for (int step = 1; step <= 10; step++) {
        if (r == 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
            MPI_Put(&step, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_unlock(1, win);
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, flags);
            MPI_Put(&step, 1, MPI_INT, 1, 0, 1, MPI_INT, flags);
            MPI_Win_unlock(1, flags);
        } else if (r == 1) {
            for (int now = 0; now != step;) {
                MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, flags);
                now = of_flag[0];
                MPI_Win_unlock(1, flags);
            }
            seen = m[0], m[0] = 0;
        }
        MPI_Barrier(w);
    }
    MPI_Win_free(&flags);
    MPI_Win_free(&win);
}

/* All add to one counter, its rank, too; and a rank gets from itself, and changes that when it has it. */
static void own_part(void) {
    int *m, one = 1, got[4];
    MPI_Request q;
    MPI_Win win = make(&m, N);
    MPI_Win_lock_all(0, win);
    for (int step = 0; step < 10; step++) MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_flush_all(win);
    MPI_Rget(got, 4, MPI_INT, r, 4, 4, MPI_INT, win, &q);
    MPI_Wait(&q, MPI_STATUS_IGNORE);
    m[4] = 1;
    MPI_Win_unlock_all(win);
    MPI_Barrier(w);
    seen = m[0];
    MPI_Win_free(&win);
}

/* Rank 0 leaves a collective operation before rank 1 comes to it, which knows by a message what was put meanwhile. */
static void early(void) {
    int *m, data = 1, all[16] = {0}, mine;
    MPI_Request q = MPI_REQUEST_NULL, sent;
    MPI_Win win = make(&m, N);
    if (r == 1) {
        MPI_Irecv(NULL, 0, MPI_INT, 0, 7, w, &q);
        for (int i = 0, done = 0; i < 100 && !done; i++) usleep(1000), MPI_Test(&q, &done, MPI_STATUS_IGNORE);
    }
    MPI_Scatter(all, 1, MPI_INT, &mine, 1, MPI_INT, 0, w);
    if (r == 0) {
        MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
        MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
        MPI_Win_unlock(1, win);
        MPI_Isend(NULL, 0, MPI_INT, 1, 7, w, &sent);
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
    }
    if (r == 1) {
        MPI_Wait(&q, MPI_STATUS_IGNORE);
        seen = m[0], m[0] = 3;
    }
    MPI_Barrier(w);
    MPI_Win_free(&win);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(w, &r), MPI_Comm_size(w, &n);
    left = (r + n - 1) % n, right_ = (r + 1) % n;
    halo_fence(), two_buffers(), pscw(0), pscw(1), messages(0), messages(1), around(), counter();
    own_memory(), dynamic(), part(), reads(), rooted(), mutex(), flag(), own_part(), early();
    MPI_Finalize();
    puts("done");
    return 0;
}
