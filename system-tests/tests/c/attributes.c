/* All functions on attributes, with the deprecated ones, and callbacks that call MPI themselves:
 * when an attribute is copied, when it is deleted, and within MPI_Finalize. */
#include "expect.h"

static int rank, size;
static int copies, deletions;
static char tag[] = "extra state";

/* What all the callbacks do: calls of MPI that must not disturb anything. */
static void from_callback(const void *extra_state)
{
    int initialized, finalized, own;
    MPI_Initialized(&initialized);
    MPI_Finalized(&finalized);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    CHECK(initialized && !finalized && own == rank && extra_state == tag);
}

static int copy(void *extra_state, void *in, void *out, int *flag)
{
    from_callback(extra_state);
    copies++;
    *(void **)out = in;
    *flag = 1;
    return MPI_SUCCESS;
}

static int delete(void *extra_state)
{
    from_callback(extra_state);
    deletions++;
    return MPI_SUCCESS;
}

static int comm_copy(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    (void)keyval;
    int members;
    MPI_Comm_size(comm, &members);
    CHECK(members == size);
    return copy(extra_state, in, out, flag);
}

static int comm_delete(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    (void)comm, (void)keyval, (void)value;
    return delete(extra_state);
}

static int type_copy(MPI_Datatype type, int keyval, void *extra_state, void *in, void *out,
                     int *flag)
{
    (void)keyval;
    int bytes;
    MPI_Type_size(type, &bytes);
    CHECK(bytes == 12);
    return copy(extra_state, in, out, flag);
}

static int type_delete(MPI_Datatype type, int keyval, void *value, void *extra_state)
{
    (void)type, (void)keyval, (void)value;
    return delete(extra_state);
}

static int win_copy(MPI_Win win, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    (void)win, (void)keyval;
    return copy(extra_state, in, out, flag);
}

static int win_delete(MPI_Win win, int keyval, void *value, void *extra_state)
{
    (void)win, (void)keyval, (void)value;
    return delete(extra_state);
}

/* One attribute set, replaced, asked for, copied by MPI_Comm_dup, and deleted in each way. */
static void on_communicators(void)
{
    int keyval, flag, first = 1, second = 2, *value;
    MPI_Comm comm, twin;
    copies = deletions = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(comm_copy, comm_delete, &keyval, tag);
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    CHECK(!flag);
    MPI_Comm_set_attr(comm, keyval, &first);
    MPI_Comm_set_attr(comm, keyval, &second);
    CHECK(copies == 0 && deletions == 1);
    MPI_Comm_get_attr(comm, keyval, &value, &flag);
    CHECK(flag && value == &second);
    MPI_Comm_dup(comm, &twin);
    CHECK(copies == 1);
    MPI_Comm_get_attr(twin, keyval, &value, &flag);
    CHECK(flag && value == &second);
    MPI_Comm_delete_attr(comm, keyval);
    CHECK(deletions == 2);
    MPI_Comm_free(&twin);
    CHECK(deletions == 3);
    MPI_Comm_free(&comm);
    CHECK(deletions == 3);
    MPI_Comm_free_keyval(&keyval);
    CHECK(keyval == MPI_KEYVAL_INVALID);
}

/* The same by the functions of MPI-1. */
static void by_old_names(void)
{
    int keyval, flag, thing = 3, *value;
    MPI_Comm comm, twin;
    copies = deletions = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Keyval_create(comm_copy, comm_delete, &keyval, tag);
    MPI_Attr_put(comm, keyval, &thing);
    MPI_Comm_dup(comm, &twin);
    MPI_Attr_get(twin, keyval, &value, &flag);
    CHECK(flag && value == &thing && copies == 1);
    MPI_Attr_delete(twin, keyval);
    MPI_Attr_get(twin, keyval, &value, &flag);
    CHECK(!flag && deletions == 1);
    MPI_Comm_free(&twin);
    MPI_Keyval_free(&keyval);
    MPI_Comm_free(&comm);
    CHECK(deletions == 2);
}

static void on_types(void)
{
    int keyval, flag, thing = 4, *value;
    MPI_Datatype type, twin;
    copies = deletions = 0;
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_create_keyval(type_copy, type_delete, &keyval, tag);
    MPI_Type_set_attr(type, keyval, &thing);
    MPI_Type_dup(type, &twin);
    MPI_Type_get_attr(twin, keyval, &value, &flag);
    CHECK(flag && value == &thing && copies == 1);
    MPI_Type_delete_attr(twin, keyval);
    MPI_Type_get_attr(twin, keyval, &value, &flag);
    CHECK(!flag && deletions == 1);
    MPI_Type_free(&twin);
    MPI_Type_free(&type);
    CHECK(deletions == 2);
    MPI_Type_free_keyval(&keyval);
}

static void on_windows(void)
{
    int keyval, flag, memory[4] = {0}, *value;
    void *base;
    MPI_Win win;
    copies = deletions = 0;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_get_attr(win, MPI_WIN_BASE, &base, &flag);
    CHECK(flag && base == memory);
    MPI_Win_create_keyval(win_copy, win_delete, &keyval, tag);
    MPI_Win_set_attr(win, keyval, &memory[1]);
    MPI_Win_get_attr(win, keyval, &value, &flag);
    CHECK(flag && value == &memory[1]);
    MPI_Win_delete_attr(win, keyval);
    CHECK(deletions == 1);
    MPI_Win_set_attr(win, keyval, &memory[2]);
    MPI_Win_free(&win);
    CHECK(deletions == 2 && copies == 0);
    MPI_Win_free_keyval(&keyval);
}

static void predefined(void)
{
    int flag, keys[3] = {MPI_TAG_UB, MPI_WTIME_IS_GLOBAL, MPI_UNIVERSE_SIZE}, keyval, *value;
    MPI_Comm twin;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag);
        CHECK(flag || keys[i] != MPI_TAG_UB);
    }
    /* The callbacks that MPI has itself. */
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, keyval, &flag);
    MPI_Comm_dup(MPI_COMM_SELF, &twin);
    MPI_Comm_get_attr(twin, keyval, &value, &flag);
    CHECK(flag && value == &flag);
    MPI_Comm_free(&twin);
    MPI_Comm_delete_attr(MPI_COMM_SELF, keyval);
    MPI_Comm_free_keyval(&keyval);
}

static int last_order[2], last_number;

/* Called within MPI_Finalize, when a tool may well have made its report already. */
static int at_finalize(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    (void)comm, (void)keyval;
    int members;
    from_callback(extra_state);
    MPI_Comm_size(MPI_COMM_WORLD, &members);
    CHECK(members == size);
    last_order[last_number++] = *(int *)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    on_communicators();
    by_old_names();
    on_types();
    on_windows();
    predefined();

    static int one = 1, two = 2;
    int first, second;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &first, tag);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &second, tag);
    MPI_Comm_set_attr(MPI_COMM_SELF, first, &one);
    MPI_Comm_set_attr(MPI_COMM_SELF, second, &two);
    MPI_Finalize();
    CHECK(last_number == 2);
    if (rank == 0)
        printf("deleted at the end: %d, %d\n", last_order[0], last_order[1]);
    return 0;
}
