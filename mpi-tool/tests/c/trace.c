/* Programs for traces. The first argument says which:
 *
 *   random SEED THREADS   messages between all ranks, each with a length of its own, so that one knows which it is
 *   late                  a late sender, a late receiver and a late rank at a barrier; says how long the others waited
 *   nobody CALLS          messages to nobody, with tags and communicators that come again and again, and others; then it
 *                         kills itself
 *   again SEED CALLS      messages and collective operations that come again and again among others, on communicators that
 *                         are freed and made anew with other ranks
 *   exchange CALLS        the same messages with both neighbours in a ring, so often
 *   forever               messages to nobody, and at times in a ring, until the program is killed
 */
#include <mpi.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* MPICH 4.0 declares array_of_statuses[], and its MPI_STATUSES_IGNORE is no array. */
#pragma GCC diagnostic ignored "-Wstringop-overflow"

enum { BATCHES = 12, MOST = 24, LONGEST = BATCHES * MOST * 8 };
enum { SEND, ISEND, ISSEND, PERSISTENT, SENDS };
enum { RECV, IRECV, MRECV, IMRECV, RECV_INIT, RECEIVES };

static int rank, size, threads;
static unsigned seed;

struct message {
    int from, to, tag, send, length;
};

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void receive(int how, int source, int tag, MPI_Comm comm, char *buffer, MPI_Request *request)
{
    MPI_Message message;
    *request = MPI_REQUEST_NULL;
    switch (how) {
    case RECV:
        MPI_Recv(buffer, LONGEST, MPI_CHAR, source, tag, comm, MPI_STATUS_IGNORE);
        break;
    case IRECV:
        MPI_Irecv(buffer, LONGEST, MPI_CHAR, source, tag, comm, request);
        break;
    case MRECV:
        MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(buffer, LONGEST, MPI_CHAR, &message, MPI_STATUS_IGNORE);
        break;
    case IMRECV:
        MPI_Mprobe(source, tag, comm, &message, MPI_STATUS_IGNORE);
        MPI_Imrecv(buffer, LONGEST, MPI_CHAR, &message, request);
        break;
    case RECV_INIT:
        MPI_Recv_init(buffer, LONGEST, MPI_CHAR, source, tag, comm, request);
        MPI_Start(request);
        break;
    }
}

static void *random_messages(void *argument)
{
    struct { int thread; MPI_Comm comm; } *own = argument;
    unsigned state = seed * 7919u + (unsigned)own->thread;
    int rank;
    char *buffers = malloc((size_t)2 * MOST * LONGEST);
    int id = 0;
    MPI_Comm_rank(own->comm, &rank);
    for (int batch = 0; batch < BATCHES; batch++) {
        struct message messages[MOST];
        MPI_Request requests[2 * MOST];
        int count = 1 + (int)(next(&state) % MOST), pending = 0, how[MOST], wild[16];
        for (int peer = 0; peer < 16; peer++)
            wild[peer] = (int)(next(&state) % 3);
        for (int i = 0; i < count; i++) {
            struct message one = {.from = (int)(next(&state) % (unsigned)size), .to = (int)(next(&state) % (unsigned)size),
                                  .tag = (int)(next(&state) % 3), .send = (int)(next(&state) % SENDS)};
            one.length = (++id * threads + own->thread) % LONGEST;
            how[i] = (int)(next(&state) % RECEIVES);
            messages[i] = one;
        }
        /* What does not block comes first: sends, and then receives. */
        for (int i = 0; i < count; i++) {
            struct message one = messages[i];
            char *buffer = buffers + (size_t)i * LONGEST;
            if (one.from != rank)
                continue;
            MPI_Request *request = &requests[pending++];
            if (one.send == ISSEND)
                MPI_Issend(buffer, one.length, MPI_CHAR, one.to, one.tag, own->comm, request);
            else if (one.send == PERSISTENT) {
                MPI_Send_init(buffer, one.length, MPI_CHAR, one.to, one.tag, own->comm, request);
                MPI_Start(request);
            } else
                MPI_Isend(buffer, one.length, MPI_CHAR, one.to, one.tag, own->comm, request);
        }
        /* All receives of a rank in a batch name source and tag, or none does: so none takes what another one needs. */
        for (int i = 0; i < count; i++) {
            struct message one = messages[i];
            if (one.to != rank)
                continue;
            int source = wild[rank % 16] == 1 ? MPI_ANY_SOURCE : one.from;
            int tag = wild[rank % 16] >= 1 ? MPI_ANY_TAG : one.tag;
            receive(how[i], source, tag, own->comm, buffers + (size_t)(MOST + i) * LONGEST, &requests[pending++]);
        }
        MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < pending; i++)
            if (requests[i] != MPI_REQUEST_NULL)
                MPI_Request_free(&requests[i]);
        MPI_Barrier(own->comm);
    }
    free(buffers);
    if (rank == 0)
        printf("%d\n", id);
    return NULL;
}

static void late(void)
{
    double begin, other, waited[2] = {0, 0};
    char *large = malloc(8 << 20);
    memset(large, 0, 8 << 20);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        usleep(300000);
        begin = MPI_Wtime();
        MPI_Send(&begin, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
    } else {
        begin = MPI_Wtime();
        MPI_Recv(&other, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("late sender MPI_Recv %f\n", other - begin);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    begin = MPI_Wtime();
    if (rank == 0)
        MPI_Ssend(large, 8 << 20, MPI_CHAR, 1, 1, MPI_COMM_WORLD);
    else {
        usleep(200000);
        other = MPI_Wtime();
        MPI_Recv(large, 8 << 20, MPI_CHAR, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(&other, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        MPI_Recv(&other, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("late receiver MPI_Ssend %f\n", other - begin);
        usleep(250000);
    }
    begin = MPI_Wtime();
    MPI_Allreduce(&begin, &other, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 1)
        printf("collective MPI_Allreduce %f\n", other - begin);
    /* By one call, by two sends at once, by a persistent one, and beside a receive that is there already: each four times, so that
       the last calls of each repeat others. */
    for (int turn = 0; turn < 16; turn++) {
        int way = turn / 4;
        MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            if (way == 2) {
                MPI_Send_init(large, 8 << 20, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &requests[0]);
                MPI_Start(&requests[0]);
            } else if (way == 3)
                MPI_Issend(large, 8 << 20, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &requests[0]);
            else
                MPI_Isend(large, 8 << 20, MPI_CHAR, 1, 3, MPI_COMM_WORLD, &requests[0]);
            if (way == 1)
                MPI_Isend(large, 8 << 20, MPI_CHAR, 1, 4, MPI_COMM_WORLD, &requests[1]);
            if (way == 3)
                MPI_Irecv(&other, 1, MPI_DOUBLE, 1, 4, MPI_COMM_WORLD, &requests[1]);
            begin = MPI_Wtime();
            if (way == 0)
                MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            else
                MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            if (way == 2)
                MPI_Request_free(&requests[0]);
            MPI_Recv(&other, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            waited[way > 0] += other - begin;
        } else {
            if (way == 3)
                MPI_Send(&begin, 1, MPI_DOUBLE, 0, 4, MPI_COMM_WORLD);
            usleep((100000 + 30000 * way) / 4);
            if (way == 1)
                MPI_Recv(large, 8 << 20, MPI_CHAR, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            usleep(20000 / 4);
            other = MPI_Wtime();
            MPI_Recv(large, 8 << 20, MPI_CHAR, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&other, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
        }
    }
    if (rank == 0)
        printf("late receiver MPI_Wait %f\nlate receiver MPI_Waitall %f\n", waited[0], waited[1]);
    free(large);
}

enum { SSEND_RECV, SEND_RECV, SENDRECV, REPLACE, BARRIER, BCAST, REDUCE, ALLREDUCE, IN_PLACE, GATHER, ALLTOALL, SCAN,
       ISEND_IRECV, ISSEND_IRECV, LONG_IRECV, EXCHANGE, CANCELLED, FREED, KINDS };
enum { POOL = 30, ROOM = 64, LONG = 300 };

struct again {
    int kind, from, to, count, sent, tag, datatype, is_wild, wants_status, world;
};

static struct again random_again(void)
{
    struct again one = {.kind = (int)(next(&seed) % KINDS), .from = (int)(next(&seed) % (unsigned)size),
                        .to = (int)(next(&seed) % (unsigned)size), .count = (int)(next(&seed) % 6),
                        .tag = (int)(next(&seed) % 3), .datatype = (int)(next(&seed) % 3),
                        .is_wild = (int)(next(&seed) % 2), .wants_status = (int)(next(&seed) % 2),
                        .world = (int)(next(&seed) % 2)};
    one.sent = next(&seed) % 2 ? one.count : (int)(next(&seed) % (unsigned)(one.count + 1));
    if (one.from == one.to)
        one.to = (one.to + 1) % size;
    return one;
}

/* One of three functions completes a request. */
static void complete(int how, MPI_Request *request)
{
    MPI_Status status;
    int which;
    if (how == 0)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    else if (how == 1)
        MPI_Waitall(1, request, &status);
    else
        MPI_Waitany(1, request, &which, MPI_STATUS_IGNORE);
}

/* A message that goes on when its calls have returned, and one to nobody. */
static void start_again(const struct again *one, MPI_Comm comm, MPI_Datatype datatype, int own, int source, int tag)
{
    static double a[LONG + ROOM], b[LONG + ROOM], c[ROOM];
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int more = one->kind == LONG_IRECV ? LONG : 0;
    if (own == one->from && one->kind == ISSEND_IRECV)
        MPI_Issend(a, one->sent, datatype, one->to, one->tag, comm, &requests[0]);
    else if (own == one->from)
        MPI_Isend(a, one->sent + more, datatype, one->to, one->tag, comm, &requests[0]);
    else if (own == one->to)
        MPI_Irecv(b, one->count + more, datatype, source, tag, comm, &requests[0]);
    MPI_Irecv(c, one->count, datatype, MPI_PROC_NULL, one->tag, comm, &requests[1]);
    if (one->wants_status)
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    else {
        complete(one->tag, &requests[1]);
        complete(one->tag, &requests[0]);
    }
}

/* Two equal messages each way at a time, completed by one of four functions. */
static void exchange_again(const struct again *one, MPI_Comm comm, MPI_Datatype datatype, int to, int source, int tag)
{
    static double sent[2][ROOM], received[2][ROOM];
    MPI_Request requests[5];
    MPI_Status statuses[5];
    int which;
    for (int i = 0; i < 2; i++)
        MPI_Irecv(received[i], one->count, datatype, to == MPI_PROC_NULL ? to : source, tag, comm, &requests[i]);
    for (int i = 0; i < 2; i++)
        MPI_Isend(sent[i], i ? one->sent : one->count, datatype, to, one->tag, comm, &requests[2 + i]);
    requests[4] = MPI_REQUEST_NULL;
    if (one->wants_status)
        MPI_Waitall(5, requests, one->tag ? statuses : MPI_STATUSES_IGNORE);
    else if (one->tag == 0)
        for (int i = 4; i >= 0; i--)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    else if (one->tag == 1)
        for (int i = 0; i < 4; i++)
            MPI_Waitany(1, &requests[i ^ 1], &which, MPI_STATUS_IGNORE);
    else
        MPI_Waitall(2, requests, statuses), MPI_Waitall(3, requests + 2, MPI_STATUSES_IGNORE);
}

static void call_again(const struct again *one, MPI_Comm comm, MPI_Datatype datatype)
{
    MPI_Request request;
    static double a[ROOM], b[ROOM];
    MPI_Status status, *wanted = one->wants_status ? &status : MPI_STATUS_IGNORE;
    int own, told, source = one->is_wild ? MPI_ANY_SOURCE : one->from, tag = one->is_wild ? MPI_ANY_TAG : one->tag;
    MPI_Aint address;
    MPI_Comm_rank(comm, &own);
    /* These only tell something. */
    MPI_Type_size(datatype, &told);
    MPI_Get_address(a + one->count, &address);
    if (one->tag)
        MPI_Comm_size(one->world ? MPI_COMM_WORLD : comm, &told);
    int to = own == one->from ? one->to : own == one->to ? one->from : MPI_PROC_NULL;
    switch (one->kind) {
    case SSEND_RECV:
    case SEND_RECV:
        if (own == one->from && one->kind == SSEND_RECV)
            MPI_Ssend(a, one->sent, datatype, one->to, one->tag, comm);
        else if (own == one->from)
            MPI_Send(a, one->sent, datatype, one->to, one->tag, comm);
        else if (own == one->to) {
            MPI_Recv(b, one->count, datatype, source, tag, comm, wanted);
            if (one->wants_status)
                MPI_Get_count(&status, datatype, &told);
        }
        break;
    case SENDRECV:
        MPI_Sendrecv(a, one->sent, datatype, to, one->tag, b, one->count, datatype, to, tag, comm, wanted);
        break;
    case REPLACE:
        MPI_Sendrecv_replace(a, one->count, datatype, to, one->tag, to, one->tag, comm, wanted);
        break;
    case BARRIER:
        MPI_Barrier(comm);
        break;
    case BCAST:
        MPI_Bcast(a, one->count, datatype, one->from, comm);
        break;
    case REDUCE:
        MPI_Reduce(a, b, one->count, MPI_DOUBLE, MPI_SUM, one->to, comm);
        break;
    case ALLREDUCE:
        MPI_Allreduce(a, b, one->count, one->tag ? MPI_DOUBLE : MPI_LONG, MPI_MAX, comm);
        break;
    case IN_PLACE:
        MPI_Allreduce(MPI_IN_PLACE, b, one->count, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case GATHER:
        MPI_Gather(a, one->count, datatype, b, one->count, datatype, one->to, comm);
        break;
    case ALLTOALL:
        MPI_Alltoall(a, one->count, datatype, b, one->count, datatype, comm);
        break;
    case SCAN:
        MPI_Scan(a, b, one->count, MPI_DOUBLE, MPI_SUM, comm);
        break;
    case ISEND_IRECV:
    case ISSEND_IRECV:
    case LONG_IRECV:
        start_again(one, comm, datatype, own, source, tag);
        break;
    case EXCHANGE:
        exchange_again(one, comm, datatype, to, one->is_wild ? MPI_ANY_SOURCE : to, tag);
        break;
    case CANCELLED:
        MPI_Irecv(b, one->count, datatype, one->is_wild ? MPI_ANY_SOURCE : own, 77, comm, &request);
        MPI_Cancel(&request);
        complete(one->tag, &request);
        break;
    case FREED:
        if (own == one->from) {
            MPI_Isend(a, one->sent, datatype, one->to, one->tag, comm, &request);
            MPI_Request_free(&request);
        } else if (own == one->to)
            MPI_Recv(b, one->count, datatype, source, tag, comm, wanted);
        break;
    }
}

/* Eight calls in each round. */
static void exchange(int rounds)
{
    double in[2], out[2] = {1, 2};
    MPI_Request requests[4];
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    for (int i = 0; i < rounds; i++) {
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_DOUBLE, right, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(&out[1], 1, MPI_DOUBLE, left, 2, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(&out[0], 1, MPI_DOUBLE, right, 3, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

/* All ranks draw the same numbers. */
static void again(int calls)
{
    struct again pool[POOL];
    MPI_Comm other = MPI_COMM_NULL;
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_FLOAT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < POOL; i++)
        pool[i] = random_again();
    for (int i = 0; i < calls; i++) {
        if (i % 97 == 0) {
            if (other != MPI_COMM_NULL)
                MPI_Comm_free(&other);
            MPI_Comm_split(MPI_COMM_WORLD, 0, next(&seed) % 2 ? -rank : rank, &other);
        }
        if (next(&seed) % 16 == 0)
            pool[next(&seed) % POOL] = random_again();
        const struct again *one = &pool[next(&seed) % POOL];
        for (unsigned times = next(&seed) % 5; times > 0; times--)
            call_again(one, one->world ? MPI_COMM_WORLD : other,
                       one->datatype == 0 ? MPI_DOUBLE : one->datatype == 1 ? MPI_FLOAT : pair);
        /* A receive from anywhere must not meet the next message. */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Comm_free(&other);
    MPI_Type_free(&pair);
}

int main(int argc, char **argv)
{
    int provided;
    const char *what = argc > 1 ? argv[1] : "";
    seed = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    int number = argc > 3 ? atoi(argv[3]) : 1;
    threads = strcmp(what, "random") ? 1 : number;
    MPI_Init_thread(&argc, &argv, threads > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (!strcmp(what, "random")) {
        struct { int thread; MPI_Comm comm; } own[8];
        pthread_t all[8];
        for (int i = 0; i < threads; i++) {
            own[i].thread = i;
            MPI_Comm_split(MPI_COMM_WORLD, 0, i % 2 ? -rank : rank, &own[i].comm);
        }
        if (threads == 1)
            random_messages(&own[0]);
        else {
            for (int i = 0; i < threads; i++)
                pthread_create(&all[i], NULL, random_messages, &own[i]);
            for (int i = 0; i < threads; i++)
                pthread_join(all[i], NULL);
        }
        for (int i = 0; i < threads; i++)
            MPI_Comm_free(&own[i].comm);
    } else if (!strcmp(what, "late"))
        late();
    else if (!strcmp(what, "again"))
        again(number);
    else if (!strcmp(what, "exchange"))
        exchange((int)seed);
    else if (!strcmp(what, "nobody")) {
        MPI_Comm other;
        MPI_Comm_dup(MPI_COMM_WORLD, &other);
        for (int i = 0; i < (int)seed; i++) {
            MPI_Comm comm = i % 7 == 3 ? other : MPI_COMM_WORLD;
            if (i % 11 == 5)
                MPI_Sendrecv(&i, 1, MPI_INT, MPI_PROC_NULL, i % 2, &i, 1, MPI_INT, MPI_PROC_NULL, 9, comm,
                             MPI_STATUS_IGNORE);
            else
                MPI_Send(&i, 1, MPI_INT, MPI_PROC_NULL, i % 1000 < 900 ? 5 : i % 3, comm);
        }
        raise(SIGKILL);
    } else
        for (int number = 0;; number++) {
            /* As a rule to nobody, which goes on while the others do not have a processor. */
            int is_for_nobody = number % 4096 != 0;
            int to = is_for_nobody ? MPI_PROC_NULL : (rank + 1) % size;
            int from = is_for_nobody ? MPI_PROC_NULL : (rank + size - 1) % size;
            MPI_Sendrecv_replace(&number, 1, MPI_INT, to, number % 1000, from, number % 1000, MPI_COMM_WORLD,
                                 MPI_STATUS_IGNORE);
        }
    MPI_Finalize();
    return 0;
}
