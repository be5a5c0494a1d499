/*
 * A PMPI tool in C that counts what is sent and received, in elements and bytes, by type, and
 * prints the sums over all ranks at the end: the yardstick for one in Rust.
 *
 * A thread counts in a block of its own, by loads and stores that are relaxed atomics: no locked
 * instruction. Receives that are under way are in a hash table with one mutex, which nobody takes
 * while it is empty. A count is added when a call has succeeded.
 *
 * Of a collective, a rank sends what it contributes and receives what it gets, its own part
 * included. An element of a derived type is one item of it. Not seen: persistent requests,
 * Sendrecv_replace, v- and w- and non-blocking collectives, one-sided calls, files.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Types, the most frequent ones first; what is in no line is derived. */
#define TYPES(X)                                                                                   \
    X(MPI_DOUBLE) X(MPI_INT) X(MPI_BYTE) X(MPI_CHAR) X(MPI_FLOAT) X(MPI_LONG) X(MPI_UNSIGNED)      \
    X(MPI_UNSIGNED_LONG) X(MPI_LONG_LONG) X(MPI_UNSIGNED_LONG_LONG) X(MPI_INT64_T)                 \
    X(MPI_UINT64_T) X(MPI_INT32_T) X(MPI_UINT32_T) X(MPI_INT16_T) X(MPI_UINT16_T) X(MPI_INT8_T)    \
    X(MPI_UINT8_T) X(MPI_SHORT) X(MPI_UNSIGNED_SHORT) X(MPI_SIGNED_CHAR) X(MPI_UNSIGNED_CHAR)      \
    X(MPI_WCHAR) X(MPI_LONG_DOUBLE) X(MPI_C_BOOL) X(MPI_C_FLOAT_COMPLEX)                           \
    X(MPI_C_DOUBLE_COMPLEX) X(MPI_C_LONG_DOUBLE_COMPLEX) X(MPI_AINT) X(MPI_OFFSET) X(MPI_COUNT)    \
    X(MPI_PACKED)

#define INDEX(type) INDEX_##type,
enum { TYPES(INDEX) DERIVED, KINDS };
#define NAME(type) #type,
static const char *const names[KINDS] = {TYPES(NAME) "derived"};

enum { SENT, RECEIVED, WAYS };
enum { ELEMENTS, BYTES, UNITS };

struct block {
    _Atomic uint64_t counts[WAYS][KINDS][UNITS];
    struct block *next;
};
static _Atomic(struct block *) blocks;
static __thread struct block *mine __attribute__((tls_model("initial-exec")));

/* A block outlives its thread: its counts are wanted at the end. */
static struct block *new_block(void)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block) {
        fputs("bandwidth_counter: no memory\n", stderr);
        abort();
    }
    block->next = atomic_load(&blocks);
    while (!atomic_compare_exchange_weak(&blocks, &block->next, block))
        ;
    return mine = block;
}

static void add(int way, int kind, uint64_t elements, uint64_t bytes)
{
    struct block *block = mine ? mine : new_block();
    _Atomic uint64_t *counts = block->counts[way][kind];
    /* Only this thread writes. */
    for (int unit = 0; unit < UNITS; unit++) {
        uint64_t count = atomic_load_explicit(&counts[unit], memory_order_relaxed);
        count += unit == ELEMENTS ? elements : bytes;
        atomic_store_explicit(&counts[unit], count, memory_order_relaxed);
    }
}

/* A type, in a form that may outlive its handle. */
struct type {
    int kind;
    int size;
};

static struct type type_of(MPI_Datatype datatype)
{
    const MPI_Datatype table[DERIVED] = {
#define HANDLE(type) type,
        TYPES(HANDLE)
    };
    struct type type = {0, 0};
    while (type.kind < DERIVED && table[type.kind] != datatype)
        type.kind++;
    if (PMPI_Type_size(datatype, &type.size) != MPI_SUCCESS || type.size < 0)
        type.size = 0;
    return type;
}

static void count(int way, MPI_Datatype datatype, int64_t elements)
{
    struct type type = type_of(datatype);
    add(way, type.kind, (uint64_t)elements, (uint64_t)elements * (uint64_t)type.size);
}

static void count_status(struct type type, const MPI_Status *status)
{
    int cancelled = 0;
    MPI_Count bytes = 0;
    PMPI_Test_cancelled(status, &cancelled);
    /* In bytes: the type may have been freed since, and its last item may be incomplete. */
    if (cancelled || PMPI_Get_elements_x(status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes <= 0)
        return;
    add(RECEIVED, type.kind, type.size ? (uint64_t)bytes / (uint64_t)type.size : 0,
        (uint64_t)bytes);
}

/*
 * Receives under way. MPI may give a request's handle away again as soon as it has completed it, so
 * another thread may enter the same handle before we have removed ours: hence the numbers.
 */
struct pending {
    MPI_Request request;
    struct type type;
    uint64_t number; /* 0: none */
    struct pending *next;
};
#define BUCKETS 4096
static struct pending *table[BUCKETS], *unused;
static uint64_t last_number;
static _Atomic long under_way;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct pending **bucket(MPI_Request request)
{
    uint64_t hash = (uint64_t)(uintptr_t)request * 0x9e3779b97f4a7c15u;
    return &table[hash >> 52];
}

static void enter(MPI_Request request, MPI_Datatype datatype)
{
    struct type type = type_of(datatype);
    pthread_mutex_lock(&lock);
    struct pending *pending = unused;
    if (pending)
        unused = pending->next;
    else if (!(pending = malloc(sizeof *pending))) {
        fputs("bandwidth_counter: no memory\n", stderr);
        abort();
    }
    struct pending **head = bucket(request);
    *pending = (struct pending){request, type, ++last_number, *head};
    *head = pending;
    atomic_fetch_add_explicit(&under_way, 1, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
}

/* Copies out what is known of some requests before MPI completes them. Is anything? */
static int find(int n, const MPI_Request *requests, struct pending *found)
{
    int any = 0;
    pthread_mutex_lock(&lock);
    for (int i = 0; i < n; i++) {
        struct pending *pending = *bucket(requests[i]);
        while (pending && pending->request != requests[i])
            pending = pending->next;
        found[i].number = 0;
        if (pending) {
            found[i] = *pending;
            any = 1;
        }
    }
    pthread_mutex_unlock(&lock);
    return any;
}

static void leave(const struct pending *found)
{
    pthread_mutex_lock(&lock);
    struct pending **link = bucket(found->request);
    while (*link && (*link)->number != found->number)
        link = &(*link)->next;
    struct pending *pending = *link;
    if (pending) {
        *link = pending->next;
        pending->next = unused;
        unused = pending;
        atomic_fetch_sub_explicit(&under_way, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&lock);
}

static void completed(const struct pending *found, const MPI_Status *status, int result)
{
    if (!found->number)
        return;
    leave(found);
    if (result == MPI_SUCCESS)
        count_status(found->type, status);
}

/* Room for what is found of n requests, and for their statuses if the application wants none. */
struct room {
    struct pending few_found[16], *found;
    MPI_Status few_statuses[16], *statuses;
    int any;
};

static void open_room(struct room *room, int n, const MPI_Request *requests, MPI_Status *statuses,
                      MPI_Status *ignore)
{
    room->any = 0;
    room->found = room->few_found;
    room->statuses = statuses;
    /* The thread that entered these requests handed them to this one, so it sees their number. */
    if (n <= 0 || atomic_load_explicit(&under_way, memory_order_relaxed) == 0)
        return;
    if (n > 16)
        room->found = malloc((size_t)n * sizeof *room->found);
    if (room->found && find(n, requests, room->found)) {
        room->any = 1;
        if (statuses == ignore)
            room->statuses = n > 16 ? malloc((size_t)n * sizeof *statuses) : room->few_statuses;
    }
    if (!room->found || (room->any && !room->statuses)) {
        fputs("bandwidth_counter: no memory\n", stderr);
        abort();
    }
}

static void close_room(struct room *room, const MPI_Status *statuses)
{
    if (room->found != room->few_found)
        free(room->found);
    if (room->statuses != statuses && room->statuses != room->few_statuses)
        free(room->statuses);
}

/* How one request of several came out. */
static int outcome(int result, const MPI_Status *status)
{
    return result == MPI_ERR_IN_STATUS ? status->MPI_ERROR : result;
}

#define SEND(name)                                                                                 \
    int MPI_##name(const void *buf, int n, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)\
    {                                                                                              \
        int result = PMPI_##name(buf, n, datatype, dest, tag, comm);                               \
        if (result == MPI_SUCCESS && dest != MPI_PROC_NULL)                                        \
            count(SENT, datatype, n);                                                              \
        return result;                                                                             \
    }
SEND(Send)
SEND(Bsend)
SEND(Ssend)
SEND(Rsend)

int MPI_Isend(const void *buf, int n, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    int result = PMPI_Isend(buf, n, datatype, dest, tag, comm, request);
    if (result == MPI_SUCCESS && dest != MPI_PROC_NULL)
        count(SENT, datatype, n);
    return result;
}

int MPI_Recv(void *buf, int n, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
             MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Recv(buf, n, datatype, source, tag, comm, used);
    if (result == MPI_SUCCESS)
        count_status(type_of(datatype), used);
    return result;
}

int MPI_Irecv(void *buf, int n, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
              MPI_Request *request)
{
    int result = PMPI_Irecv(buf, n, datatype, source, tag, comm, request);
    if (result == MPI_SUCCESS && source != MPI_PROC_NULL)
        enter(*request, datatype);
    return result;
}

int MPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                 void *recvbuf, int recvcount, MPI_Datatype recvtype, int source, int recvtag,
                 MPI_Comm comm, MPI_Status *status)
{
    MPI_Status own, *used = status == MPI_STATUS_IGNORE ? &own : status;
    int result = PMPI_Sendrecv(sendbuf, sendcount, sendtype, dest, sendtag, recvbuf, recvcount,
                               recvtype, source, recvtag, comm, used);
    if (result == MPI_SUCCESS) {
        if (dest != MPI_PROC_NULL)
            count(SENT, sendtype, sendcount);
        count_status(type_of(recvtype), used);
    }
    return result;
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    struct room room;
    open_room(&room, 1, request, status, MPI_STATUS_IGNORE);
    int result = PMPI_Wait(request, room.statuses);
    if (room.any)
        completed(room.found, room.statuses, result);
    close_room(&room, status);
    return result;
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    struct room room;
    open_room(&room, 1, request, status, MPI_STATUS_IGNORE);
    int result = PMPI_Test(request, flag, room.statuses);
    if (room.any && (result != MPI_SUCCESS || *flag))
        completed(room.found, room.statuses, result);
    close_room(&room, status);
    return result;
}

int MPI_Waitall(int n, MPI_Request *requests, MPI_Status *statuses)
{
    struct room room;
    open_room(&room, n, requests, statuses, MPI_STATUSES_IGNORE);
    int result = PMPI_Waitall(n, requests, room.statuses);
    for (int i = 0; room.any && i < n; i++) {
        int one = outcome(result, &room.statuses[i]);
        if (one != MPI_ERR_PENDING)
            completed(&room.found[i], &room.statuses[i], one);
    }
    close_room(&room, statuses);
    return result;
}

int MPI_Testall(int n, MPI_Request *requests, int *flag, MPI_Status *statuses)
{
    struct room room;
    open_room(&room, n, requests, statuses, MPI_STATUSES_IGNORE);
    int result = PMPI_Testall(n, requests, flag, room.statuses);
    for (int i = 0; room.any && (result != MPI_SUCCESS || *flag) && i < n; i++) {
        int one = outcome(result, &room.statuses[i]);
        if (one != MPI_ERR_PENDING)
            completed(&room.found[i], &room.statuses[i], one);
    }
    close_room(&room, statuses);
    return result;
}

int MPI_Waitany(int n, MPI_Request *requests, int *index, MPI_Status *status)
{
    struct room room;
    open_room(&room, n, requests, status, MPI_STATUS_IGNORE);
    int result = PMPI_Waitany(n, requests, index, room.statuses);
    if (room.any && *index != MPI_UNDEFINED)
        completed(&room.found[*index], room.statuses, result);
    close_room(&room, status);
    return result;
}

int MPI_Testany(int n, MPI_Request *requests, int *index, int *flag, MPI_Status *status)
{
    struct room room;
    open_room(&room, n, requests, status, MPI_STATUS_IGNORE);
    int result = PMPI_Testany(n, requests, index, flag, room.statuses);
    if (room.any && (result != MPI_SUCCESS || *flag) && *index != MPI_UNDEFINED)
        completed(&room.found[*index], room.statuses, result);
    close_room(&room, status);
    return result;
}

#define SOME(name)                                                                                 \
    int MPI_##name(int n, MPI_Request *requests, int *done, int *indices, MPI_Status *statuses)    \
    {                                                                                              \
        struct room room;                                                                          \
        open_room(&room, n, requests, statuses, MPI_STATUSES_IGNORE);                              \
        int result = PMPI_##name(n, requests, done, indices, room.statuses);                       \
        int known = result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS;                          \
        for (int i = 0; room.any && known && *done != MPI_UNDEFINED && i < *done; i++)             \
            completed(&room.found[indices[i]], &room.statuses[i],                                  \
                      outcome(result, &room.statuses[i]));                                         \
        close_room(&room, statuses);                                                               \
        return result;                                                                             \
    }
SOME(Waitsome)
SOME(Testsome)

int MPI_Request_free(MPI_Request *request)
{
    struct room room;
    open_room(&room, 1, request, MPI_STATUS_IGNORE, MPI_STATUS_IGNORE);
    int result = PMPI_Request_free(request);
    if (room.any && result == MPI_SUCCESS)
        leave(room.found);
    return result;
}

/* How many ranks a rank exchanges with, and what it is to a root. */
static int peers(MPI_Comm comm)
{
    int inter = 0, n = 0;
    PMPI_Comm_test_inter(comm, &inter);
    (inter ? PMPI_Comm_remote_size : PMPI_Comm_size)(comm, &n);
    return n;
}

struct part {
    int is_root;   /* it has the root's buffer */
    int is_member; /* it has the others' buffer; of an inter-communicator, never both */
};

static struct part part_of(int root, MPI_Comm comm)
{
    int inter = 0, rank = 0;
    PMPI_Comm_test_inter(comm, &inter);
    if (inter)
        return (struct part){root == MPI_ROOT, root != MPI_ROOT && root != MPI_PROC_NULL};
    PMPI_Comm_rank(comm, &rank);
    return (struct part){rank == root, 1};
}

int MPI_Bcast(void *buffer, int n, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    int result = PMPI_Bcast(buffer, n, datatype, root, comm);
    if (result == MPI_SUCCESS) {
        struct part part = part_of(root, comm);
        if (part.is_root)
            count(SENT, datatype, n);
        else if (part.is_member)
            count(RECEIVED, datatype, n);
    }
    return result;
}

int MPI_Reduce(const void *sendbuf, void *recvbuf, int n, MPI_Datatype datatype, MPI_Op op,
               int root, MPI_Comm comm)
{
    int result = PMPI_Reduce(sendbuf, recvbuf, n, datatype, op, root, comm);
    if (result == MPI_SUCCESS) {
        struct part part = part_of(root, comm);
        if (part.is_member)
            count(SENT, datatype, n);
        if (part.is_root)
            count(RECEIVED, datatype, n);
    }
    return result;
}

int MPI_Allreduce(const void *sendbuf, void *recvbuf, int n, MPI_Datatype datatype, MPI_Op op,
                  MPI_Comm comm)
{
    int result = PMPI_Allreduce(sendbuf, recvbuf, n, datatype, op, comm);
    if (result == MPI_SUCCESS) {
        count(SENT, datatype, n);
        count(RECEIVED, datatype, n);
    }
    return result;
}

int MPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
               int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int result =
        PMPI_Gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    if (result == MPI_SUCCESS) {
        struct part part = part_of(root, comm);
        if (part.is_member && sendbuf == MPI_IN_PLACE)
            count(SENT, recvtype, recvcount);
        else if (part.is_member)
            count(SENT, sendtype, sendcount);
        if (part.is_root)
            count(RECEIVED, recvtype, (int64_t)recvcount * peers(comm));
    }
    return result;
}

int MPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    int result =
        PMPI_Scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root, comm);
    if (result == MPI_SUCCESS) {
        struct part part = part_of(root, comm);
        if (part.is_root)
            count(SENT, sendtype, (int64_t)sendcount * peers(comm));
        if (part.is_member && recvbuf == MPI_IN_PLACE)
            count(RECEIVED, sendtype, sendcount);
        else if (part.is_member)
            count(RECEIVED, recvtype, recvcount);
    }
    return result;
}

int MPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int result = PMPI_Allgather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    if (result == MPI_SUCCESS) {
        if (sendbuf == MPI_IN_PLACE)
            count(SENT, recvtype, recvcount);
        else
            count(SENT, sendtype, sendcount);
        count(RECEIVED, recvtype, (int64_t)recvcount * peers(comm));
    }
    return result;
}

int MPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    int result = PMPI_Alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm);
    if (result == MPI_SUCCESS) {
        int n = peers(comm);
        if (sendbuf == MPI_IN_PLACE)
            count(SENT, recvtype, (int64_t)recvcount * n);
        else
            count(SENT, sendtype, (int64_t)sendcount * n);
        count(RECEIVED, recvtype, (int64_t)recvcount * n);
    }
    return result;
}

int MPI_Finalize(void)
{
    static uint64_t own[WAYS][KINDS][UNITS], sums[WAYS][KINDS][UNITS];
    int rank = 0;
    for (struct block *block = atomic_load(&blocks); block; block = block->next)
        for (int way = 0; way < WAYS; way++)
            for (int kind = 0; kind < KINDS; kind++)
                for (int unit = 0; unit < UNITS; unit++)
                    own[way][kind][unit] += atomic_load_explicit(&block->counts[way][kind][unit],
                                                                 memory_order_relaxed);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(own, sums, WAYS * KINDS * UNITS, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    for (int way = 0; rank == 0 && way < WAYS; way++)
        for (int kind = 0; kind < KINDS; kind++)
            if (sums[way][kind][ELEMENTS] || sums[way][kind][BYTES])
                fprintf(stderr, "%s %s: %llu elements, %llu bytes\n",
                        way == SENT ? "sent" : "received", names[kind],
                        (unsigned long long)sums[way][kind][ELEMENTS],
                        (unsigned long long)sums[way][kind][BYTES]);
    return PMPI_Finalize();
}
