/* All functions on errors: handlers of communicators, files, windows and sessions, called by MPI
 * and by hand, and classes, codes and strings of one's own. */

/* Has Open MPI's mpi.h declare what MPI-3.0 removed and its library still has. */
#define OMPI_OMIT_MPI1_COMPAT_DECLS 0
#include "expect.h"

static int rank;
static int handled, last_class;

/* What every handler does: asks what the error is, within the call that failed. */
static void note(int code)
{
    char text[MPI_MAX_ERROR_STRING];
    int length;
    handled++;
    MPI_Error_class(code, &last_class);
    MPI_Error_string(code, text, &length);
    CHECK(length >= 0 && length == (int)strlen(text));
}

static void on_comm(MPI_Comm *comm, int *code, ...)
{
    CHECK(*comm != MPI_COMM_NULL);
    note(*code);
}

static void on_file(MPI_File *file, int *code, ...)
{
    (void)file;
    note(*code);
}

static void on_win(MPI_Win *win, int *code, ...)
{
    CHECK(*win != MPI_WIN_NULL);
    note(*code);
}

#ifdef HAVE_MPI_Session_init
static void on_session(MPI_Session *session, int *code, ...)
{
    CHECK(*session != MPI_SESSION_NULL);
    note(*code);
}
#endif

/* Says that since the last time the handler was called so often, at last for such an error. */
static void check_handled(int times, int class)
{
    CHECK(handled == times);
    CHECK(times == 0 || last_class == class);
    handled = 0;
}

/* Tells what a call returns whose error a handler has seen: some MPIs return success then. */
static void tell(const char *what, int code)
{
    int class;
    MPI_Error_class(code, &class);
    if (rank == 0)
        printf("%s: class %d\n", what, class);
}

static void communicators(void)
{
    MPI_Comm comm;
    MPI_Errhandler handler, got;
    int class, number = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_errhandler(comm, &got);
    CHECK(got == MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&got);

    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Comm_get_errhandler(comm, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    CHECK(handler == MPI_ERRHANDLER_NULL);

    /* Errors that MPI finds itself: a rank, a tag and a count that cannot be. */
    tell("send to no rank", MPI_Send(&number, 1, MPI_INT, 1000, 1, comm));
    check_handled(1, MPI_ERR_RANK);
    tell("send with no tag", MPI_Send(&number, 1, MPI_INT, 0, -5, comm));
    check_handled(1, MPI_ERR_TAG);
    tell("broadcast of less than nothing", MPI_Bcast(&number, -1, MPI_INT, 0, comm));
    check_handled(1, MPI_ERR_COUNT);
    MPI_Comm_call_errhandler(comm, MPI_ERR_OTHER);
    check_handled(1, MPI_ERR_OTHER);

    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Error_class(MPI_Send(&number, 1, MPI_INT, 1000, 1, comm), &class);
    CHECK(class == MPI_ERR_RANK);
    check_handled(0, 0);
    MPI_Comm_free(&comm);

#if defined(HAVE_MPI_Errhandler_create) && !defined(MPI_H_ABI)
    /* The names that MPI-3.0 removed. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Errhandler_create(on_comm, &handler);
    MPI_Errhandler_set(comm, handler);
    MPI_Errhandler_get(comm, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    MPI_Send(&number, 1, MPI_INT, 1000, 1, comm);
    check_handled(1, MPI_ERR_RANK);
    MPI_Comm_free(&comm);
#endif
}

static void files(void)
{
    MPI_File file;
    MPI_Errhandler handler, got;
    int class;
    MPI_File_create_errhandler(on_file, &handler);

    /* The handler on no file is for opening. */
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    tell("no file", MPI_File_open(MPI_COMM_SELF, "not-there/file", MPI_MODE_RDONLY,
                                  MPI_INFO_NULL, &file));
    check_handled(1, MPI_ERR_NO_SUCH_FILE);
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);

    char name[64];
    snprintf(name, sizeof name, "handlers-test-%d.data", rank);
    class = MPI_File_open(MPI_COMM_SELF, name,
                          MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                          MPI_INFO_NULL, &file);
    CHECK(class == MPI_SUCCESS);
    MPI_File_set_errhandler(file, handler);
    MPI_File_get_errhandler(file, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    MPI_File_call_errhandler(file, MPI_ERR_QUOTA);
    check_handled(1, MPI_ERR_QUOTA);
    MPI_File_close(&file);
    check_handled(0, 0);
}

static void windows(void)
{
    MPI_Win win;
    MPI_Errhandler handler, got;
    int memory[4] = {0};
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_create_errhandler(on_win, &handler);
    MPI_Win_set_errhandler(win, handler);
    MPI_Win_get_errhandler(win, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    MPI_Win_call_errhandler(win, MPI_ERR_RMA_SYNC);
    check_handled(1, MPI_ERR_RMA_SYNC);

    MPI_Win_fence(0, win);
    tell("put to no rank", MPI_Put(memory, 1, MPI_INT, 1000, 0, 1, MPI_INT, win));
    check_handled(1, MPI_ERR_RANK);
    MPI_Win_fence(0, win);
    MPI_Win_free(&win);
}

static void sessions(void)
{
#ifdef HAVE_MPI_Session_init
    MPI_Session session;
    MPI_Errhandler handler, got;
    MPI_Group group;
    MPI_Session_create_errhandler(on_session, &handler);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session);
    MPI_Session_set_errhandler(session, handler);
    MPI_Session_get_errhandler(session, &got);
    CHECK(got == handler);
    MPI_Errhandler_free(&got);
    MPI_Errhandler_free(&handler);
    MPI_Session_call_errhandler(session, MPI_ERR_NAME);
    check_handled(1, MPI_ERR_NAME);

    /* A process set that is not there; MPICH 4.0 raises the error on the wrong object. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    tell("no process set", MPI_Group_from_session_pset(session, "mpi://NOT-THERE", &group));
    CHECK(handled <= 1);
    handled = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Session_finalize(&session);
#endif
}

static void own_errors(void)
{
    int class, code, got, length, *last, flag;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_string(MPI_SUCCESS, text, &length);
    CHECK(length > 0);
    MPI_Error_class(MPI_ERR_TRUNCATE, &class);
    CHECK(class == MPI_ERR_TRUNCATE);

    MPI_Add_error_class(&class);
    CHECK(class > MPI_ERR_LASTCODE);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(class, "a class of our own");
    MPI_Add_error_string(code, "a code of our own");
    MPI_Error_class(code, &got);
    CHECK(got == class);
    MPI_Error_string(code, text, &length);
    CHECK(length == 17 && strcmp(text, "a code of our own") == 0);
    MPI_Error_string(class, text, &length);
    CHECK(strcmp(text, "a class of our own") == 0);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_LASTUSEDCODE, &last, &flag);
    CHECK(flag && *last >= class);

    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(on_comm, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    MPI_Errhandler_free(&handler);
    MPI_Comm_call_errhandler(comm, code);
    check_handled(1, class);
    MPI_Comm_free(&comm);

#ifdef HAVE_MPI_Remove_error_class
    MPI_Remove_error_string(code);
    MPI_Remove_error_string(class);
    MPI_Remove_error_code(code);
    MPI_Remove_error_class(class);
#endif
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    communicators();
    files();
    windows();
    sessions();
    own_errors();
    MPI_Finalize();
    if (rank == 0)
        printf("all errors handled\n");
    return 0;
}
