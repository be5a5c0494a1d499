/* Loads and stores of window memory that another rank uses: `./loads_target EPOCH ORDER`, on two ranks. Rank 0 begins each operation
 * in an epoch of that kind, at rank 1, which makes the access meanwhile. ORDER `store`, `load` or `copy` (a store by the C library):
 * nothing orders the access and the operation. ORDER `right`: all others, which differ from these only in when the access is, or
 * where: `after` the epoch; `before` it; after a `message` with which rank 1 lets rank 0 begin; after another one by which rank 0 says
 * that it is `done`; under a `lock` of rank 1's own; `beside` the bytes that the operation uses; `reads`, where it only reads. What begins an operation says in a comment what it does at the target. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { N = 16, OPERATIONS = 16 };
static int *memory, *place, other[N], result[N], one = 1, r;
static volatile int seen;
static MPI_Comm w = MPI_COMM_WORLD;
static MPI_Datatype column;
static MPI_Win win;
static MPI_Group group;
static MPI_Request q;
static const char *epoch, *order;
static MPI_Aint at;

static int is(const char *name) { return !strcmp(epoch, name); }
static int in(const char *name) { return !strcmp(order, name); }

static void put(void) {
    MPI_Put(other, N / 2, MPI_INT, 1, at, N / 2, MPI_INT, win); /* written */
}
static void put_column(void) {
    MPI_Put(other, N / 4, MPI_INT, 1, at, 1, column, win); /* written */
}
static void get(void) {
    MPI_Get(result, N / 2, MPI_INT, 1, at, N / 2, MPI_INT, win); /* read */
}
static void accumulate(void) {
    MPI_Accumulate(other, N / 2, MPI_INT, 1, at, N / 2, MPI_INT, MPI_SUM, win); /* written */
}
static void get_accumulate(void) {
    MPI_Get_accumulate(other, 1, MPI_INT, result, 1, MPI_INT, 1, at, 1, MPI_INT, MPI_SUM, win); /* written */
}
static void get_no_op(void) {
    MPI_Get_accumulate(NULL, 0, MPI_INT, result, 1, MPI_INT, 1, at, 1, MPI_INT, MPI_NO_OP, win); /* read */
}
static void fetch_and_op(void) {
    MPI_Fetch_and_op(&one, result, MPI_INT, 1, at, MPI_SUM, win); /* written */
}
static void fetch_no_op(void) {
    MPI_Fetch_and_op(NULL, result, MPI_INT, 1, at, MPI_NO_OP, win); /* read */
}
static void compare_and_swap(void) {
    MPI_Compare_and_swap(&one, other, result, MPI_INT, 1, at, win); /* written */
}
static void rput(void) {
    MPI_Rput(other, N / 2, MPI_INT, 1, at, N / 2, MPI_INT, win, &q); /* written by a request */
}
static void rget(void) {
    MPI_Rget(result, N / 2, MPI_INT, 1, at, N / 2, MPI_INT, win, &q); /* read by a request */
}
static void raccumulate(void) {
    MPI_Raccumulate(other, N / 2, MPI_INT, 1, at, N / 2, MPI_INT, MPI_SUM, win, &q); /* written by a request */
}
static void rget_accumulate(void) {
    MPI_Rget_accumulate(other, 1, MPI_INT, result, 1, MPI_INT, 1, at, 1, MPI_INT, MPI_SUM, win, &q); /* written by a request */
}

static void store(void) {
    place[0] = 1; /* store */
}
static void load(void) {
    seen = place[0]; /* load */
}
static void copy(void) {
    memset(place, 0, sizeof(int)); /* copy */
}
static void store_beside(void) { place[N - 1] = 1; }
static void store_in_gap(void) { place[1] = 1; }

static const struct {
    void (*begin)(void);
    int reads, has_request, has_gaps;
} all[] = {
    {put, 0, 0, 0},          {put_column, 0, 0, 1},   {get, 1, 0, 0},          {accumulate, 0, 0, 0},
    {get_accumulate, 0, 0, 0}, {get_no_op, 1, 0, 0},  {fetch_and_op, 0, 0, 0}, {fetch_no_op, 1, 0, 0},
    {compare_and_swap, 0, 0, 0}, {rput, 0, 1, 0},     {rget, 1, 1, 0},         {raccumulate, 0, 1, 0},
    {rget_accumulate, 0, 1, 0},
};

static void tell(int from) {
    if (r == from) MPI_Send(NULL, 0, MPI_INT, 1 - from, 1, w);
    else MPI_Recv(NULL, 0, MPI_INT, from, 1, w, MPI_STATUS_IGNORE);
}

/* Both ranks. */
static void begin_epoch(void) {
    if (is("fence") || is("fence_barrier")) MPI_Win_fence(0, win);
    if (is("fence_barrier") || is("lock") || is("exclusive") || is("lock_all") || is("flush")) MPI_Barrier(w);
    if (is("pscw") && r == 1) MPI_Win_post(group, 0, win);
}

/* Rank 0. */
static void lock(void) {
    if (is("pscw")) MPI_Win_start(group, 0, win);
    if (is("lock")) MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    if (is("exclusive")) MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    if (is("lock_all")) MPI_Win_lock_all(0, win);
}
static void unlock(int has_request) {
    if (has_request) MPI_Wait(&q, MPI_STATUS_IGNORE);
    if (is("lock") || is("exclusive")) MPI_Win_unlock(1, win);
    if (is("lock_all")) MPI_Win_unlock_all(win);
    if (is("flush")) MPI_Win_flush(1, win);
    if (is("pscw")) MPI_Win_complete(win);
}

/* Both ranks. */
static void end_epoch(void) {
    if (is("fence") || is("fence_barrier")) MPI_Win_fence(0, win);
    if (is("lock") || is("exclusive") || is("lock_all") || is("flush")) MPI_Barrier(w);
    if (is("pscw") && r == 1) MPI_Win_wait(win);
}

static void access_(int reads) {
    if (in("store")) store();
    else if (in("load")) load();
    else if (in("copy")) copy();
    else {
        load();
        if (!(in("reads") && reads)) store(), copy();
    }
}

static void do_one(int i) {
    int locks = is("lock") || is("exclusive") || is("lock_all") || is("flush");
    int has_request = all[i].has_request, reads = all[i].reads;
    place = memory + i * N;
    at = i * N;
    int now = in("store") || in("load") || in("copy") || in("message") || in("lock") || (in("reads") && reads);
    if (r == 1 && in("before")) access_(reads);
    begin_epoch();
    if (in("message")) {
        if (r == 1) access_(reads);
        tell(1);
        now = 0;
    }
    if (r == 0) {
        lock();
        all[i].begin();
        unlock(has_request);
    } else if (in("beside")) {
        store_beside();
        if (all[i].has_gaps) store_in_gap();
    } else if (in("lock")) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
        access_(reads);
        MPI_Win_unlock(1, win);
    } else if (now) {
        access_(reads);
    }
    if (in("done") && locks) {
        tell(0);
        if (r == 1) access_(reads);
    }
    end_epoch();
    if (r == 1 && in("after")) access_(reads);
    MPI_Barrier(w);
}

int main(int argc, char **argv) {
    if (argc < 3) return 2;
    epoch = argv[1], order = argv[2];
    MPI_Group of_world;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(w, &r);
    int peer = 1 - r;
    MPI_Type_vector(N / 4, 1, 2, MPI_INT, &column);
    MPI_Type_commit(&column);
    MPI_Comm_group(w, &of_world);
    MPI_Group_incl(of_world, 1, &peer, &group);
    MPI_Group_free(&of_world);
    MPI_Win_allocate(N * OPERATIONS * sizeof(int), sizeof(int), MPI_INFO_NULL, w, &memory, &win);
    memset(memory, 0, N * OPERATIONS * sizeof(int));
    MPI_Barrier(w);
    static const char *const right[] = {"after", "before", "message", "beside", "reads", "done", "lock", NULL};
    const char *const one[] = {argv[2], NULL};
    int locks = is("lock") || is("exclusive") || is("lock_all") || is("flush");
    if (is("flush")) MPI_Win_lock_all(0, win);
    for (const char *const *it = in("right") ? right : one; (order = *it); it++) {
        /* Only locks tell when an operation is done, and rank 1 cannot lock what it has locked. */
        if (in("done") && !locks || in("lock") && (!locks || is("flush"))) continue;
        for (int i = 0; i < (int)(sizeof all / sizeof *all); i++)
            if (locks || !all[i].has_request) do_one(i);
    }
    if (is("flush")) MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Group_free(&group);
    MPI_Type_free(&column);
    MPI_Finalize();
    puts("done");
    return 0;
}
