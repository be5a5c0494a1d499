/* Programs of two ranks whose messages or collective operations are hard to tell apart. Each message has a length of its
 * own. The first argument says which:
 *
 *   matched   messages that MPI_Mprobe has matched: in another order, on two communicators, by another thread
 *   off       rank 0 has switched tools off during one send and one barrier
 *   filter    two ways to send
 *   failed    a receive that fails, and one whose request is freed
 *   many      more communicators than a tool tells apart
 *   probe     rank 0 waits in probes for rank 1, and says how long
 *   tags      messages with a large tag, which the receives name
 *   any       the same, which they do not name
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static char buffer[4096];

static void send(int length, int tag, MPI_Comm comm)
{
    MPI_Send(buffer, length, MPI_CHAR, 1 - rank, tag, comm);
}

static void receive(int tag, MPI_Comm comm)
{
    MPI_Recv(buffer, sizeof buffer, MPI_CHAR, 1 - rank, tag, comm, MPI_STATUS_IGNORE);
}

static void *receive_matched(void *message)
{
    MPI_Mrecv(buffer, sizeof buffer, MPI_CHAR, message, MPI_STATUS_IGNORE);
    return NULL;
}

static void matched(MPI_Comm other)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Message one, two;
    MPI_Request request;
    pthread_t thread;
    int flag;
    if (rank == 0) {
        send(11, 1, comm);
        send(12, 1, comm);
        send(21, 2, comm);
        send(22, 2, other);
        send(31, 3, comm);
        send(41, 4, comm);
        send(51, 5, comm);
        send(52, 5, comm);
        return;
    }
    MPI_Mprobe(0, 1, comm, &one, MPI_STATUS_IGNORE);
    receive(1, comm);
    receive_matched(&one);

    MPI_Mprobe(0, 2, comm, &one, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, other, &two, MPI_STATUS_IGNORE);
    receive_matched(&one);
    receive_matched(&two);

    MPI_Mprobe(0, 3, comm, &one, MPI_STATUS_IGNORE);
    MPI_Improbe(0, 9, other, &flag, &two, MPI_STATUS_IGNORE);
    receive_matched(&one);

    MPI_Mprobe(0, 4, comm, &one, MPI_STATUS_IGNORE);
    pthread_create(&thread, NULL, receive_matched, &one);
    pthread_join(thread, NULL);

    MPI_Mprobe(0, 5, comm, &one, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, 5, comm, &two, MPI_STATUS_IGNORE);
    MPI_Imrecv(buffer, sizeof buffer, MPI_CHAR, &two, &request);
    receive_matched(&one);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void off(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    if (rank == 0) {
        send(10, 1, comm);
        MPI_Pcontrol(0);
        send(11, 1, comm);
        MPI_Barrier(comm);
        MPI_Pcontrol(1);
        send(12, 1, comm);
    } else {
        receive(1, comm);
        receive(1, comm);
        MPI_Barrier(comm);
        receive(1, comm);
        usleep(500000);
    }
    MPI_Barrier(comm);
    if (rank == 0)
        usleep(300000);
    MPI_Barrier(comm);
}

static void filter(void)
{
    if (rank == 0) {
        send(11, 1, MPI_COMM_WORLD);
        MPI_Ssend(buffer, 12, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    } else {
        receive(1, MPI_COMM_WORLD);
        receive(1, MPI_COMM_WORLD);
    }
}

static void failed(void)
{
    MPI_Comm comm = MPI_COMM_WORLD;
    MPI_Request request;
    if (rank == 0) {
        send(100, 1, comm);
        send(12, 1, comm);
        send(13, 1, comm);
    } else {
        if (MPI_Recv(buffer, 5, MPI_CHAR, 0, 1, comm, MPI_STATUS_IGNORE) == MPI_SUCCESS)
            abort();
        receive(1, comm);
        receive(1, comm);
        MPI_Irecv(buffer, sizeof buffer, MPI_CHAR, 0, 2, comm, &request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(comm);
    if (rank == 0) {
        send(21, 2, comm);
        send(22, 2, comm);
    } else
        receive(2, comm);
}

static void many(void)
{
    MPI_Comm one, two;
    for (int i = 0; i < 4200; i++) {
        MPI_Comm_dup(MPI_COMM_SELF, &one);
        MPI_Comm_free(&one);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    if (rank == 0) {
        send(11, 1, one);
        send(12, 1, two);
        send(13, 1, MPI_COMM_WORLD);
    } else {
        receive(1, two);
        receive(1, one);
        receive(1, MPI_COMM_WORLD);
    }
}

static void probe(void)
{
    for (int i = 0; i < 2; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 1) {
            usleep(300000);
            send(10 + i, i, MPI_COMM_WORLD);
            continue;
        }
        MPI_Message message;
        double begin = MPI_Wtime(), end;
        if (i == 0) {
            MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            end = MPI_Wtime();
            receive(0, MPI_COMM_WORLD);
        } else {
            MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            end = MPI_Wtime();
            receive_matched(&message);
        }
        printf("MPI_%s %f\n", i == 0 ? "Probe" : "Mprobe", end - begin);
    }
}

static void tags(int is_named)
{
    int *most, has_most, tag;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &has_most);
    tag = *most < 1 << 27 ? *most : 1 << 27;
    for (int i = 0; i < 1000; i++)
        MPI_Sendrecv(buffer, 100, MPI_CHAR, 1 - rank, tag, buffer + 100, 100, MPI_CHAR, 1 - rank, is_named ? tag : MPI_ANY_TAG,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int provided;
    const char *what = argc > 1 ? argv[1] : "";
    MPI_Comm other;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!strcmp(what, "matched"))
        matched(other);
    else if (!strcmp(what, "off"))
        off();
    else if (!strcmp(what, "filter"))
        filter();
    else if (!strcmp(what, "failed"))
        failed();
    else if (!strcmp(what, "many"))
        many();
    else if (!strcmp(what, "probe"))
        probe();
    else if (!strcmp(what, "tags") || !strcmp(what, "any"))
        tags(!strcmp(what, "tags"));
    MPI_Finalize();
    return 0;
}
