/* The sessions model alone: two sessions, one after the other, with process sets, a communicator
 * from a group and communication on it. An MPI without sessions has nothing to do here. */
#include "expect.h"

/* MPICH 4.0 and Open MPI 5.0 crash when they start again after their last session has ended:
 * there, a third session is around the two. */
#if !defined(OPEN_MPI) && !(defined(MPICH_NUMVERSION) && MPICH_NUMVERSION < 40100000)
#define RESTARTS 1
#endif

#ifdef HAVE_MPI_Session_init
static int handled;

static void on_error(MPI_Session *session, int *code, ...)
{
    (void)session, (void)code;
    handled++;
}

/* Looks at all process sets; that of the world has to be there. Returns their number. Errors must
 * not be fatal here: Open MPI 5.0 raises its success on MPI_Session_get_pset_info as an error. */
static int look_at_sets(MPI_Session session)
{
    int sets, found = 0;
    MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
    for (int i = 0; i < sets; i++) {
        char name[MPI_MAX_PSET_NAME_LEN + 1], value[32];
        int length = 0, flag, full;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, NULL);
        CHECK(length > 0);
        full = length;
        MPI_Session_get_nth_pset(session, MPI_INFO_NULL, i, &length, name);
        CHECK(length == full);
        if (strcmp(name, "mpi://WORLD") != 0 && strcmp(name, "mpi://world") != 0)
            continue;
        found = 1;
        MPI_Info info;
        MPI_Session_get_pset_info(session, name, &info);
        length = sizeof value;
        MPI_Info_get_string(info, "mpi_size", &length, value, &flag);
        CHECK(flag && atoi(value) > 0);
        MPI_Info_free(&info);
    }
    CHECK(found);
    return sets;
}

/* The number of attributes copied and deleted is no matter; that they can be is. */
static void attribute(MPI_Comm comm)
{
    int keyval, flag, thing = 1, *value;
    MPI_Comm twin;
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keyval, NULL);
    MPI_Comm_set_attr(comm, keyval, &thing);
    MPI_Comm_dup(comm, &twin);
    MPI_Comm_get_attr(twin, keyval, &value, &flag);
    CHECK(flag && value == &thing);
    MPI_Comm_free(&twin);
    MPI_Comm_delete_attr(comm, keyval);
    MPI_Comm_free_keyval(&keyval);
}

/* A ring of some rounds and some collectives; returns their result. */
static int communicate(MPI_Comm comm, int rounds)
{
    int rank, size, sum = 0, token = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    for (int round = 0; round < rounds; round++) {
        MPI_Sendrecv(&round, 1, MPI_INT, (rank + 1) % size, 4, &token, 1, MPI_INT,
                     (rank + size - 1) % size, 4, comm, MPI_STATUS_IGNORE);
        CHECK(token == round);
    }
    MPI_Allreduce(&token, &sum, 1, MPI_INT, MPI_SUM, comm);
    CHECK(sum == (rounds - 1) * size);
    MPI_Bcast(&sum, 1, MPI_INT, 0, comm);
    MPI_Barrier(comm);
    return sum;
}

/* One session from start to end; rank 0 tells. */
static void session(const char *which, int rounds)
{
    MPI_Session session;
    MPI_Info info;
    MPI_Group group;
    MPI_Comm comm;
    MPI_Errhandler handler;
    char tag[64];
    int rank, size, flag, result;

    MPI_Info_create(&info);
    MPI_Info_set(info, "thread_level", "MPI_THREAD_SINGLE");
    MPI_Session_init(info, MPI_ERRORS_RETURN, &session);
    MPI_Info_free(&info);
    CHECK(session != MPI_SESSION_NULL);
    MPI_Initialized(&flag);
#ifndef I_MPI_VERSION /* Intel MPI says so of a session, too */
    CHECK(!flag);
#endif
    MPI_Session_get_info(session, &info);
    MPI_Info_free(&info);
    const int sets = look_at_sets(session);
    CHECK(sets >= 2);

    /* Only now: MPICH 4.0 has no handlers before there is a session, and Open MPI 5.0 forgets the
     * one that MPI_Session_init was given. */
    MPI_Session_create_errhandler(on_error, &handler);
    MPI_Session_set_errhandler(session, handler);
    MPI_Session_call_errhandler(session, MPI_ERR_OTHER);
    CHECK(handled == 1);
    handled = 0;

    MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
    MPI_Group_rank(group, &rank);
    MPI_Group_size(group, &size);
    snprintf(tag, sizeof tag, "org.example.sessions.%s", which);
    MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    attribute(comm);
    result = communicate(comm, rounds);
    if (rank == 0)
        printf("%s session of %d: %d\n", which, size, result);
    MPI_Comm_free(&comm);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&handler);
    MPI_Session_finalize(&session);
    CHECK(session == MPI_SESSION_NULL);
}
#endif

int main(void)
{
#ifdef HAVE_MPI_Session_init
#ifdef RESTARTS
    session("first", 10);
    /* In MPICH 5.0 a rank that starts again while another still ends makes all wait for ever. */
    usleep(200000);
    session("second", 20);
#else
    MPI_Session around;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &around);
    session("first", 10);
    session("second", 20);
    MPI_Session_finalize(&around);
#endif
#else
    /* Links the MPI library all the same. */
    int flag;
    MPI_Initialized(&flag);
    printf("no sessions\n");
#endif
    return 0;
}
