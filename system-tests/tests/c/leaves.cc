// Callbacks that leave the MPI call which has called them: by an exception, by longjmp, by the end of their thread. MPI itself
// lets them; what is between MPI and the program must, too.
#include <csetjmp>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include "expect.h"

namespace {

enum How { RETURN, THROW, JUMP, END_THREAD, CANCEL };

How how = RETURN;
std::jmp_buf place;
// How often which callback was left in which way.
std::map<std::string, int> left;
int shared;

void leave()
{
    switch (how) {
    case RETURN:
        return;
    case THROW:
        throw std::runtime_error("left");
    case JUMP:
        std::longjmp(place, 1);
    case END_THREAD:
        pthread_exit(nullptr);
    case CANCEL:
        pthread_cancel(pthread_self());
        pthread_testcancel();
    }
}

void on_error(MPI_Comm *, int *, ...)
{
    leave();
}

void on_file_error(MPI_File *, int *, ...)
{
    leave();
}

int on_delete(MPI_Comm, int, void *, void *)
{
    leave();
    return MPI_SUCCESS;
}

int on_copy(MPI_Comm, int, void *, void *, void *, int *flag)
{
    leave();
    *flag = 0;
    return MPI_SUCCESS;
}

void on_window_error(MPI_Win *, int *, ...)
{
    leave();
}

int on_query(void *, MPI_Status *status)
{
    leave();
    MPI_Status_set_elements(status, MPI_BYTE, 0);
    MPI_Status_set_cancelled(status, 0);
    return MPI_SUCCESS;
}

int on_free(void *)
{
    return MPI_SUCCESS;
}

int on_cancel(void *, int)
{
    leave();
    return MPI_SUCCESS;
}

void combine(void *, void *, int *, MPI_Datatype *)
{
    leave();
}

MPI_Op operation;
int keyval;
MPI_Comm other;
MPI_Win window;
MPI_Request request;

void error()
{
    int value = 1;
    MPI_Send(&value, 1, MPI_INT, 9999, 0, MPI_COMM_WORLD);
}

void file_error()
{
    MPI_File file;
    MPI_File_open(MPI_COMM_SELF, "/nowhere/at/all", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
}

void attribute()
{
    MPI_Comm_delete_attr(other, keyval);
}

void copy()
{
    MPI_Comm same;
    MPI_Comm_dup(other, &same);
    MPI_Comm_free(&same);
}

void reduction()
{
    int in = 1, out = 2;
    MPI_Reduce_local(&in, &out, 1, MPI_INT, operation);
}

void window_error()
{
    int value = 1;
    MPI_Put(&value, 1, MPI_INT, 9999, 0, 1, MPI_INT, window);
}

void query()
{
    int flag;
    MPI_Status status;
    MPI_Request_get_status(request, &flag, &status);
}

void cancel()
{
    MPI_Cancel(&request);
}

void leave_by_throw(const char *callback, void (*call)())
{
    how = THROW;
    try {
        call();
    } catch (const std::exception &) {
        left[std::string(callback) + " by an exception"]++;
    }
    how = RETURN;
}

void leave_by_jump(const char *callback, void (*call)())
{
    how = JUMP;
    if (setjmp(place) == 0)
        call();
    else
        left[std::string(callback) + " by longjmp"]++;
    how = RETURN;
}

void *in_thread(void *wanted)
{
    how = *static_cast<How *>(wanted);
    reduction();
    how = RETURN;
    return &shared;
}

void leave_with_thread(How wanted)
{
    pthread_t thread;
    void *result = &shared;
    CHECK(pthread_create(&thread, nullptr, in_thread, &wanted) == 0);
    CHECK(pthread_join(thread, &result) == 0);
    if (result == nullptr || result == PTHREAD_CANCELED)
        left[std::string("operation by pthread_") + (wanted == CANCEL ? "cancel" : "exit")]++;
    how = RETURN;
}

} // namespace

int main(int argc, char **argv)
{
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Errhandler handler, file_handler;
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_File_create_errhandler(on_file_error, &file_handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, file_handler);
    MPI_Errhandler window_handler;
    MPI_Win_create_errhandler(on_window_error, &window_handler);
    MPI_Win_create(&shared, sizeof shared, 1, MPI_INFO_NULL, MPI_COMM_SELF, &window);
    MPI_Win_set_errhandler(window, window_handler);
    MPI_Op_create(combine, 1, &operation);
    MPI_Comm_create_keyval(on_copy, on_delete, &keyval, nullptr);
    MPI_Comm_dup(MPI_COMM_SELF, &other);

    int value = rank, sum = 0;
    for (int round = 0; round < 3; round++) {
        leave_by_throw("error handler of a communicator", error);
        leave_by_jump("error handler of a communicator", error);
        leave_by_throw("error handler of a file", file_error);
        leave_by_jump("error handler of a file", file_error);
        leave_by_throw("operation", reduction);
        leave_by_jump("operation", reduction);
        // Between them, calls are what they always are.
        MPI_Sendrecv(&value, 1, MPI_INT, (rank + 1) % size, 0, &sum, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        CHECK(sum == (rank + size - 1) % size);
        leave_with_thread(END_THREAD);
        leave_with_thread(CANCEL);
        leave_by_throw("error handler of a window", window_error);
        leave_by_jump("error handler of a window", window_error);
        MPI_Grequest_start(on_query, on_free, on_cancel, nullptr, &request);
        leave_by_throw("cancellation of a generalized request", cancel);
        leave_by_jump("cancellation of a generalized request", cancel);
        MPI_Grequest_complete(request);
        leave_by_throw("query of a generalized request", query);
        leave_by_jump("query of a generalized request", query);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Comm_set_attr(other, keyval, nullptr);
    leave_by_throw("deletion of an attribute", attribute);
    leave_by_throw("copy of an attribute", copy);
    for (const auto &[what, times] : left)
        std::printf("rank %d has left: %s, %d times\n", rank, what.c_str(), times);
    MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK(sum == size * (size - 1) / 2);
    MPI_Win_free(&window);
    MPI_Finalize();
}
