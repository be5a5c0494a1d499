/* Does what a file says: messages in batches, by 1 thread or by several that MPI may be called by all
 * at once. A line: thread batch completion from to send receive datatype count extra repeat.
 *
 * No deadlock: all processes go through a thread's messages in the same order, and what does not
 * block is complete at the batch's end. Each thread has a communicator, each message a tag. */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);               \
            _exit(98);                                                                            \
        }                                                                                         \
    } while (0)

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { THREADS = 4, TYPES = 10, PENDING = 512, EXTENT = 160, GO = 1 << 14 };
enum { SEND, SSEND, BSEND, RSEND, ISEND, ISSEND, IBSEND, SEND_INIT, SSEND_INIT, FREED };
enum { RECV, RECV_ANY, IRECV, RECV_INIT, MRECV, IMRECV, IRECV_ANY, SENDRECV };

struct message {
    int thread, batch, completion, from, to, send, receive, type, count, extra, repeat, tag;
};

static struct message *messages;
static int message_count, rank;
static MPI_Comm comms[THREADS];

/* A thread's requests of a batch: what is pending, and what is persistent. */
struct batch {
    MPI_Comm comm;
    MPI_Datatype types[TYPES];
    MPI_Request pending[PENDING], persistent[PENDING];
    void *buffers[PENDING];
    int pendings, persistents, buffer_count;
};

static void make_types(MPI_Datatype *types)
{
    const int lengths[3] = {2, 3, 1}, places[2] = {0, 6};
    const MPI_Aint bytes[3] = {0, 16, 40};
    types[0] = MPI_BYTE;
    types[1] = MPI_INT;
    types[2] = MPI_DOUBLE;
    types[3] = MPI_DOUBLE_INT;
    MPI_Type_vector(3, 2, 4, MPI_INT, &types[4]);
    MPI_Type_create_struct(3, lengths, bytes,
                           (const MPI_Datatype[]){MPI_INT, MPI_DOUBLE, MPI_CHAR}, &types[5]);
    MPI_Type_contiguous(2, types[5], &types[6]);
    MPI_Type_create_resized(MPI_SHORT, 0, 8, &types[7]);
    MPI_Type_create_indexed_block(2, 2, places, MPI_FLOAT, &types[8]);
    MPI_Type_create_hvector(2, 1, 48, types[4], &types[9]);
    for (int i = 4; i < TYPES; i++)
        MPI_Type_commit(&types[i]);
}

static void add(struct batch *batch, MPI_Request request)
{
    CHECK(batch->pendings + 2 < PENDING);
    /* With null requests among them. */
    if (batch->pendings % 3 == 0)
        batch->pending[batch->pendings++] = MPI_REQUEST_NULL;
    batch->pending[batch->pendings++] = request;
}

/* What a process does of a message as its receiver, the `i`th time. */
static void receive(struct batch *batch, const struct message *m, int i, MPI_Request *persistent)
{
    const MPI_Comm comm = batch->comm;
    const MPI_Datatype type = batch->types[m->type];
    const int count = m->count + m->extra, tag = m->tag, self = m->from == m->to;
    int way = m->receive, flag = 0;
    char *in = malloc((size_t)(count + 1) * EXTENT);
    CHECK(in && batch->buffer_count < PENDING);
    batch->buffers[batch->buffer_count++] = in;
    /* There must be a receive before a message to oneself, or a ready one. */
    if ((self || m->send == RSEND) && way != RECV_INIT && way != IRECV_ANY)
        way = IRECV;
    MPI_Request request;
    MPI_Status status;
    MPI_Message message;
    switch (way) {
    case RECV:
        MPI_Recv(in, count, type, m->from, tag, comm, &status);
        break;
    case RECV_ANY:
        MPI_Recv(in, count, type, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE);
        break;
    case IRECV:
    case IRECV_ANY:
        MPI_Irecv(in, count, type, way == IRECV ? m->from : MPI_ANY_SOURCE, tag, comm, &request);
        add(batch, request);
        break;
    case RECV_INIT:
        if (i == 0)
            MPI_Recv_init(in, count, type, m->from, tag, comm, persistent);
        else if (!self) /* else at the sender's */
            MPI_Wait(persistent, i % 2 ? &status : MPI_STATUS_IGNORE);
        MPI_Start(persistent);
        break;
    case MRECV:
        MPI_Mprobe(m->from, tag, comm, &message, &status);
        MPI_Mrecv(in, count, type, &message, MPI_STATUS_IGNORE);
        break;
    case IMRECV:
        while (!flag)
            MPI_Improbe(MPI_ANY_SOURCE, tag, comm, &flag, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(in, count, type, &message, &request);
        add(batch, request);
        break;
    case SENDRECV:
        MPI_Sendrecv(in, 5, MPI_INT, MPI_PROC_NULL, 0, in, count, type, m->from, tag, comm,
                     &status);
        break;
    }
    if (m->send == RSEND && !self)
        MPI_Send(NULL, 0, MPI_BYTE, m->from, tag + GO, comm);
}

static char out[3200 * EXTENT];

static void send(struct batch *batch, const struct message *m, int i, MPI_Request *persistent)
{
    const MPI_Comm comm = batch->comm;
    const MPI_Datatype type = batch->types[m->type];
    const int count = m->count, tag = m->tag, self = m->from == m->to;
    MPI_Request request;
    switch (m->send) {
    case SEND:
        MPI_Send(out, count, type, m->to, tag, comm);
        break;
    case SSEND:
        MPI_Ssend(out, count, type, m->to, tag, comm);
        break;
    case BSEND:
        MPI_Bsend(out, count, type, m->to, tag, comm);
        break;
    case RSEND:
        if (!self)
            MPI_Recv(NULL, 0, MPI_BYTE, m->to, tag + GO, comm, MPI_STATUS_IGNORE);
        MPI_Rsend(out, count, type, m->to, tag, comm);
        break;
    case ISEND:
        MPI_Isend(out, count, type, m->to, tag, comm, &request);
        add(batch, request);
        break;
    case ISSEND:
        MPI_Issend(out, count, type, m->to, tag, comm, &request);
        add(batch, request);
        break;
    case IBSEND:
        MPI_Ibsend(out, count, type, m->to, tag, comm, &request);
        add(batch, request);
        break;
    case SEND_INIT:
    case SSEND_INIT:
        if (i > 0)
            MPI_Wait(persistent, MPI_STATUS_IGNORE);
        else if (m->send == SEND_INIT)
            MPI_Send_init(out, count, type, m->to, tag, comm, persistent);
        else
            MPI_Ssend_init(out, count, type, m->to, tag, comm, persistent);
        MPI_Startall(1, persistent);
        break;
    case FREED: /* without an end that this process would see */
        MPI_Isend(out, count, type, m->to, tag, comm, &request);
        MPI_Request_free(&request);
        break;
    }
}

static void exchange(struct batch *batch, const struct message *m)
{
    MPI_Request receiving = MPI_REQUEST_NULL, sending = MPI_REQUEST_NULL;
    for (int i = 0; i < m->repeat; i++) {
        if (m->to == rank)
            receive(batch, m, i, &receiving);
        if (m->from == rank)
            send(batch, m, i, &sending);
        if (m->to == rank && m->from == rank && receiving != MPI_REQUEST_NULL)
            MPI_Wait(&receiving, MPI_STATUS_IGNORE);
    }
    /* The last start is pending with the others. */
    if (receiving != MPI_REQUEST_NULL)
        add(batch, batch->persistent[batch->persistents++] = receiving);
    if (sending != MPI_REQUEST_NULL)
        add(batch, batch->persistent[batch->persistents++] = sending);
}

static void complete(struct batch *batch, int way)
{
    MPI_Status statuses[PENDING];
    MPI_Request *requests = batch->pending;
    int indices[PENDING], n = batch->pendings, done = 0, flag = 0, index, count;
    switch (way) {
    case 0:
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        break;
    case 1:
        MPI_Waitall(n, requests, statuses);
        break;
    case 2:
        while (!flag)
            MPI_Testall(n, requests, &flag, MPI_STATUSES_IGNORE);
        break;
    case 3:
        do
            MPI_Waitany(n, requests, &index, MPI_STATUS_IGNORE);
        while (index != MPI_UNDEFINED);
        break;
    case 4:
        do
            MPI_Waitsome(n, requests, &count, indices, MPI_STATUSES_IGNORE);
        while (count != MPI_UNDEFINED);
        break;
    case 5:
        do
            MPI_Testsome(n, requests, &count, indices, statuses);
        while (count != MPI_UNDEFINED);
        break;
    case 6:
        do
            MPI_Testany(n, requests, &index, &flag, statuses);
        while (!flag || index != MPI_UNDEFINED);
        break;
    case 7:
        for (done = n - 1; done >= 0; done--)
            MPI_Wait(&requests[done], statuses);
        break;
    case 8: /* forwards, since a process may wait for messages in their order */
        for (done = 0; done < n; done++)
            for (flag = 0; !flag;)
                MPI_Test(&requests[done], &flag, MPI_STATUS_IGNORE);
        break;
    }
}

static void *run(void *argument)
{
    const int thread = (int)(long)argument;
    static __thread struct batch batch;
    int next = 0;
    batch.comm = comms[thread];
    while (next < message_count) {
        if (messages[next].thread != thread) {
            next++;
            continue;
        }
        const int number = messages[next].batch, way = messages[next].completion;
        batch.pendings = batch.persistents = batch.buffer_count = 0;
        make_types(batch.types);
        /* A receive for nothing. */
        if (number % 4 == 0) {
            MPI_Request request;
            int nothing;
            MPI_Irecv(&nothing, 1, MPI_INT, rank, 0, batch.comm, &request);
            MPI_Cancel(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        for (; next < message_count; next++) {
            if (messages[next].thread != thread)
                continue;
            if (messages[next].batch != number)
                break;
            exchange(&batch, &messages[next]);
        }
        for (int i = 4; i < TYPES; i++)
            MPI_Type_free(&batch.types[i]);
        complete(&batch, way);
        for (int i = 0; i < batch.persistents; i++)
            MPI_Request_free(&batch.persistent[i]);
        for (int i = 0; i < batch.buffer_count; i++)
            free(batch.buffers[i]);
        MPI_Barrier(batch.comm);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    CHECK(argc == 3);
    const int threads = atoi(argv[2]);
    int provided, room = 1 << 24;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    CHECK(threads == 1 || provided == MPI_THREAD_MULTIPLE);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    FILE *file = fopen(argv[1], "r");
    CHECK(file && fscanf(file, "%d", &message_count) == 1);
    messages = malloc((message_count + 1) * sizeof *messages);
    for (int i = 0; i < message_count; i++) {
        struct message *m = &messages[i];
        CHECK(fscanf(file, "%d%d%d%d%d%d%d%d%d%d%d", &m->thread, &m->batch, &m->completion,
                     &m->from, &m->to, &m->send, &m->receive, &m->type, &m->count, &m->extra,
                     &m->repeat) == 11);
        m->tag = i + 1;
        CHECK(m->tag < GO && m->count < 3200);
    }
    fclose(file);
    void *buffer = malloc(room);
    MPI_Buffer_attach(buffer, room);
    for (int i = 0; i < threads; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    pthread_t others[THREADS];
    for (long i = 1; i < threads; i++)
        CHECK(pthread_create(&others[i], NULL, run, (void *)i) == 0);
    run(0);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    for (int i = 0; i < threads; i++)
        MPI_Comm_free(&comms[i]);
    MPI_Buffer_detach(&buffer, &room);
    free(buffer);
    free(messages);
    MPI_Finalize();
    return 0;
}
