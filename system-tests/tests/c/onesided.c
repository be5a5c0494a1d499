/* One-sided communication: every kind of window, every transfer, every synchronisation, and what
 * else belongs to windows: names, info, group, error handlers and attributes. Needs 2 ranks or
 * more, on one node. */
#include "expect.h"

enum { N = 8 };

/* Debian's MPICH 4.0.2 (on UCX) loses what goes to a window at, say, 16n + 4. */
#define ALIGNED _Alignas(64)

static int rank, size, left, right;

static void passed(const char *section)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        printf("%s ok\n", section);
}

/* Reads and writes of the right neighbor's part, between fences. The window has N integers. */
static void fences(MPI_Win win, int *mine)
{
    int out[N], in[N], old[N];
    for (int i = 0; i < N; i++) {
        mine[i] = 100 * rank + i;
        out[i] = 1000 * rank + i;
        in[i] = old[i] = -1;
    }
    MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
    MPI_Put(out, 2, MPI_INT, right, 0, 2, MPI_INT, win);
    MPI_Get(in, 2, MPI_INT, right, 2, 2, MPI_INT, win);
    MPI_Accumulate(out, 2, MPI_INT, right, 4, 2, MPI_INT, MPI_SUM, win);
    MPI_Get_accumulate(out, 2, MPI_INT, old, 2, MPI_INT, right, 6, 2, MPI_INT, MPI_REPLACE, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < 2; i++) {
        CHECK(mine[i] == 1000 * left + i);
        CHECK(in[i] == 100 * right + 2 + i);
        CHECK(mine[4 + i] == 100 * rank + 4 + i + 1000 * left + i);
        CHECK(old[i] == 100 * right + 6 + i);
        CHECK(mine[6 + i] == 1000 * left + i);
    }

    /* Without a target, without an operand, and of nothing. */
    MPI_Win_fence(0, win);
    MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Get(in, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
    MPI_Put(NULL, 0, MPI_INT, right, 0, 0, MPI_INT, win);
    MPI_Get_accumulate(NULL, 0, MPI_INT, old, 2, MPI_INT, right, 6, 2, MPI_INT, MPI_NO_OP, win);
    MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    CHECK(old[0] == 1000 * rank && old[1] == 1000 * rank + 1);
    CHECK(in[0] == 100 * right + 2);
}

/* Post, start, complete, wait: each exposes to the left one, and writes to the right one. */
static void general_active_target(MPI_Win win, int *mine)
{
    MPI_Group all, before, after;
    int flag = 0;
    MPI_Win_get_group(win, &all);
    MPI_Group_incl(all, 1, &left, &before);
    MPI_Group_incl(all, 1, &right, &after);
    for (int round = 0; round < 4; round++) {
        int x = 10 * rank + round;
        MPI_Win_post(before, 0, win);
        MPI_Win_start(after, 0, win);
        MPI_Put(&x, 1, MPI_INT, right, round, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (round % 2 == 0)
            MPI_Win_wait(win);
        else
            for (flag = 0; !flag;)
                MPI_Win_test(win, &flag);
        CHECK(mine[round] == 10 * left + round);
    }
    MPI_Group_free(&before);
    MPI_Group_free(&after);
    MPI_Group_free(&all);
}

/* Locks, flushes, atomic operations. The window is zero where ranks count together. */
static void passive_target(MPI_Win win, int *mine)
{
    int one = 1, x = 0, old, expected, ours[N];
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
    memset(mine, 0, N * sizeof(int));
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, right, 0, win);
    x = 500 + rank;
    MPI_Put(&x, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_flush(right, win);
    MPI_Get(&old, 1, MPI_INT, right, 0, 1, MPI_INT, win);
    MPI_Win_flush_local(right, win);
    CHECK(old == 500 + rank);
    MPI_Win_unlock(right, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, MPI_MODE_NOCHECK, win);
    CHECK(mine[0] == 500 + left);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    MPI_Win_lock_all(0, win);
    for (int target = 0; target < size; target++) {
        MPI_Accumulate(&one, 1, MPI_INT, target, 1, 1, MPI_INT, MPI_SUM, win);
        MPI_Fetch_and_op(&one, &ours[0], MPI_INT, target, 2, MPI_SUM, win);
        MPI_Win_flush_local_all(win);
        MPI_Win_flush_all(win);
        CHECK(ours[0] >= 0 && ours[0] < size);
    }
    MPI_Fetch_and_op(NULL, &old, MPI_INT, right, 0, MPI_NO_OP, win);
    MPI_Win_flush(right, win);
    CHECK(old == 500 + rank);
    x = 700 + rank;
    expected = 500 + rank;
    MPI_Compare_and_swap(&x, &expected, &old, MPI_INT, right, 0, win); /* swaps */
    MPI_Win_flush(right, win);
    CHECK(old == 500 + rank);
    MPI_Compare_and_swap(&one, &expected, &old, MPI_INT, right, 0, win); /* does not */
    MPI_Win_flush(right, win);
    CHECK(old == 700 + rank);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MPI_Win_sync(win);
    CHECK(mine[0] == 700 + left && mine[1] == size && mine[2] == size);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);

    /* Transfers with requests. */
    int out[2] = {rank, rank + 1}, in[2], olds[2];
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    MPI_Rput(out, 2, MPI_INT, right, 3, 2, MPI_INT, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(right, win);
    MPI_Rget(in, 2, MPI_INT, right, 3, 2, MPI_INT, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK(in[0] == rank && in[1] == rank + 1);
    MPI_Raccumulate(out, 2, MPI_INT, right, 3, 2, MPI_INT, MPI_SUM, win, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Win_flush(right, win);
    MPI_Rget_accumulate(out, 2, MPI_INT, olds, 2, MPI_INT, right, 3, 2, MPI_INT, MPI_SUM, win,
                        &requests[0]);
    MPI_Rput(out, 1, MPI_INT, right, 5, 1, MPI_INT, win, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    CHECK(olds[0] == 2 * rank && olds[1] == 2 * rank + 2);
    MPI_Win_unlock_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    CHECK(mine[3] == 3 * left && mine[4] == 3 * left + 3 && mine[5] == left);
    MPI_Win_unlock(rank, win);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void all_synchronisations(MPI_Win win, int *mine)
{
    fences(win, mine);
    general_active_target(win, mine);
    passive_target(win, mine);
}

static void own_memory(void)
{
    ALIGNED int memory[N];
    int displacement, *model, *attribute, flag;
    MPI_Aint *extent;
    void *base;
    MPI_Win win;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == memory);
    MPI_Win_get_attr(win, MPI_WIN_SIZE, &extent, &flag);
    CHECK(flag && *extent == sizeof memory);
    MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &attribute, &flag);
    displacement = *attribute;
    CHECK(flag && displacement == sizeof(int));
    MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &attribute, &flag);
    CHECK(flag && *attribute == MPI_WIN_FLAVOR_CREATE);
    MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &flag);
    CHECK(flag && (*model == MPI_WIN_UNIFIED || *model == MPI_WIN_SEPARATE));
    all_synchronisations(win, memory);
    MPI_Win_free(&win);
    CHECK(win == MPI_WIN_NULL);

    /* Only rank 0 has memory to offer. */
    ALIGNED int total = 0;
    MPI_Win_create(rank == 0 ? &total : NULL, rank == 0 ? sizeof total : 0, 1, MPI_INFO_NULL,
                   MPI_COMM_WORLD, &win);
    MPI_Win_fence(0, win);
    MPI_Accumulate(&rank, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    CHECK(total == (rank == 0 ? size * (size - 1) / 2 : 0));
    MPI_Win_free(&win);
    passed("create");
}

static void allocated_memory(void)
{
    int *memory;
    MPI_Win win;
    MPI_Win_allocate(N * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    all_synchronisations(win, memory);
    MPI_Win_free(&win);
    passed("allocate");
}

static void shared_memory(void)
{
    int *memory, *theirs, unit;
    MPI_Aint bytes;
    MPI_Comm node;
    MPI_Win win;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Win_allocate_shared(N * sizeof(int), sizeof(int), MPI_INFO_NULL, node, &memory, &win);
    MPI_Win_shared_query(win, right, &bytes, &unit, &theirs);
    CHECK(bytes >= N * (MPI_Aint)sizeof(int) && unit == sizeof(int));
    MPI_Win_lock_all(MPI_MODE_NOCHECK, win);
    for (int i = 0; i < N; i++)
        theirs[i] = 10 * rank + i;
    MPI_Win_sync(win);
    MPI_Barrier(node);
    MPI_Win_sync(win);
    for (int i = 0; i < N; i++)
        CHECK(memory[i] == 10 * left + i);
    MPI_Win_unlock_all(win);
    MPI_Barrier(node);
    fences(win, memory);
    passive_target(win, memory);
    MPI_Win_free(&win);
    MPI_Comm_free(&node);
    passed("allocate_shared");
}

static void dynamic_memory(void)
{
    ALIGNED int memory[N];
    int x = 10 * rank, y = -1;
    MPI_Aint mine, theirs;
    MPI_Win win;
    memset(memory, 0, sizeof memory);
    MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_attach(win, memory, sizeof memory);
    MPI_Get_address(&memory[2], &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, left, 0, &theirs, 1, MPI_AINT, right, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Win_fence(0, win);
    MPI_Put(&x, 1, MPI_INT, right, theirs, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    CHECK(memory[2] == 10 * left);
    MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
    MPI_Get(&y, 1, MPI_INT, right, MPI_Aint_add(theirs, -(MPI_Aint)sizeof(int)), 1, MPI_INT, win);
    MPI_Win_unlock(right, win);
    CHECK(y == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_detach(win, memory);
    MPI_Win_free(&win);
    passed("create_dynamic");
}

static int copied, deleted;

static int copy_attribute(MPI_Win win, int key, void *extra, void *in, void *out, int *flag)
{
    (void)win, (void)key, (void)extra;
    *(void **)out = in;
    *flag = 1;
    copied++;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Win win, int key, void *value, void *extra)
{
    (void)win, (void)key, (void)value;
    CHECK(extra == &deleted);
    deleted++;
    return MPI_SUCCESS;
}

static int handled_class;

static void handle(MPI_Win *win, int *code, ...)
{
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Win_get_name(*win, name, &length);
    CHECK(strcmp(name, "window") == 0);
    MPI_Error_class(*code, &handled_class);
}

static void properties(void)
{
    ALIGNED int memory[N];
    int length, key, flag, value = 5, *attribute;
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Win win;
    MPI_Info info;
    MPI_Group all, world;
    MPI_Errhandler handler, current;
    MPI_Info_create(&info);
    MPI_Info_set(info, "no_locks", "false");
    MPI_Win_create(memory, sizeof memory, sizeof(int), info, MPI_COMM_WORLD, &win);

    MPI_Win_get_name(win, name, &length);
    CHECK(length == (int)strlen(name));
    MPI_Win_set_name(win, "window");
    MPI_Win_get_name(win, name, &length);
    CHECK(length == 6 && strcmp(name, "window") == 0);
    MPI_Win_set_info(win, info);
    MPI_Info_free(&info);
    MPI_Win_get_info(win, &info);
    CHECK(info != MPI_INFO_NULL);
    MPI_Info_free(&info);

    int same;
    MPI_Win_get_group(win, &all);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(all, world, &same);
    CHECK(same == MPI_IDENT);
    MPI_Group_free(&all);
    MPI_Group_free(&world);

    MPI_Win_create_errhandler(handle, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_get_errhandler(win, &current);
    CHECK(current == handler);
    MPI_Errhandler_free(&current);
    MPI_Win_call_errhandler(win, MPI_ERR_OTHER);
    CHECK(handled_class == MPI_ERR_OTHER);
    MPI_Win_fence(0, win);
    MPI_Put(memory, 1, MPI_INT, size + 5, 0, 1, MPI_INT, win); /* MPICH returns success */
    CHECK(handled_class == MPI_ERR_RANK);
    MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
    int class, code = MPI_Put(memory, -1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Error_class(code, &class);
    CHECK(class == MPI_ERR_COUNT);
    MPI_Win_fence(0, win);
    MPI_Errhandler_free(&handler);

    MPI_Win_create_keyval(copy_attribute, delete_attribute, &key, &deleted);
    MPI_Win_get_attr(win, key, &attribute, &flag);
    CHECK(!flag);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_get_attr(win, key, &attribute, &flag);
    CHECK(flag && attribute == &value);
    MPI_Win_delete_attr(win, key);
    CHECK(deleted == 1);
    MPI_Win_set_attr(win, key, &value);
    MPI_Win_free_keyval(&key);
    CHECK(key == MPI_KEYVAL_INVALID);
    MPI_Win_free(&win);
    CHECK(deleted == 2 && copied == 0);
    passed("properties");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    left = (rank + size - 1) % size;
    right = (rank + 1) % size;
    own_memory();
    allocated_memory();
    shared_memory();
    dynamic_memory();
    properties();
    MPI_Finalize();
    return 0;
}
