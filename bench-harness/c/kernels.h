/* What the kernels in C share: options, random numbers, messages that are collected and leave by MPI_Isend, the end of
 * it all, and what MPI_Alltoallv needs. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECEIVES = 4, AWAY = 16 };

static int rank, size;
static long updates = 1000000, table = 1000, buffer = 1024;

static inline void read_options(int argc, char **argv) {
    for (int i = 3; i + 1 < argc; i += 2)
        *(!strcmp(argv[i], "--updates") ? &updates : !strcmp(argv[i], "--table") ? &table : &buffer) =
            atol(argv[i + 1]);
}

static uint64_t state;

static inline void seed(int of) {
    state = ((uint64_t)of + 1) * 0x9e3779b97f4a7c15u | 1;
}

static inline uint64_t below(uint64_t bound) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint64_t)((unsigned __int128)(state * 0x2545f4914f6cdd1du) * bound >> 64);
}

static inline void *allocate(size_t bytes) {
    void *memory = calloc(bytes ? bytes : 1, 1);
    if (!memory) {
        fprintf(stderr, "out of memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return memory;
}

/* Messages of one kind: a buffer a rank that fills, buffers on their way, and buffers to receive into. */
struct lane {
    int tag;
    size_t item;
    char **fill;
    int *filled;
    char *local;
    char *away[AWAY];
    MPI_Request sends[AWAY];
    char *in[RECEIVES];
    MPI_Request receives[RECEIVES];
    int next;
    uint64_t sent, handled;
};

typedef void handler(int from, const void *message);

static inline void lane_make(struct lane *lane, int tag, size_t item) {
    lane->tag = tag;
    lane->item = item;
    lane->fill = allocate(size * sizeof *lane->fill);
    lane->filled = allocate(size * sizeof *lane->filled);
    for (int i = 0; i < size; i++)
        lane->fill[i] = allocate(buffer * item);
    for (int i = 0; i < AWAY; i++) {
        lane->away[i] = allocate(buffer * item);
        lane->sends[i] = MPI_REQUEST_NULL;
    }
    for (int i = 0; i < RECEIVES; i++) {
        lane->in[i] = allocate(buffer * item);
        MPI_Irecv(lane->in[i], buffer * item, MPI_BYTE, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &lane->receives[i]);
    }
    lane->local = allocate(buffer * item);
    lane->next = 0;
    lane->sent = lane->handled = 0;
}

static inline void lane_end(struct lane *lane) {
    for (int i = 0; i < RECEIVES; i++) {
        MPI_Cancel(&lane->receives[i]);
        MPI_Wait(&lane->receives[i], MPI_STATUS_IGNORE);
        free(lane->in[i]);
    }
    MPI_Waitall(AWAY, lane->sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < AWAY; i++)
        free(lane->away[i]);
    for (int i = 0; i < size; i++)
        free(lane->fill[i]);
    free(lane->local);
    free(lane->fill);
    free(lane->filled);
}

/* Begins to send what is collected for a rank, if a buffer can be on its way; to this rank itself, handles it. */
static inline __attribute__((always_inline)) int leave(struct lane *lane, int to, handler *handle, size_t item) {
    int index, flag, count = lane->filled[to];
    if (to == rank) {
        lane->filled[to] = 0;
        char *full = lane->fill[to];
        lane->fill[to] = lane->local;
        lane->local = full;
        for (int i = 0; i < count; i++)
            handle(rank, full + i * item);
        return 1;
    }
    for (index = 0; index < AWAY && lane->sends[index] != MPI_REQUEST_NULL; index++)
        ;
    if (index == AWAY) {
        MPI_Testany(AWAY, lane->sends, &index, &flag, MPI_STATUS_IGNORE);
        if (!flag)
            return 0;
    }
    char *empty = lane->away[index];
    lane->away[index] = lane->fill[to];
    lane->fill[to] = empty;
    lane->filled[to] = 0;
    lane->sent += count;
    MPI_Isend(lane->away[index], count * item, MPI_BYTE, to, lane->tag, MPI_COMM_WORLD, &lane->sends[index]);
    return 1;
}

/* Handles a buffer that has come, if one has. */
static inline __attribute__((always_inline)) int poll(struct lane *lane, handler *handle, size_t item) {
    int flag, bytes, at = lane->next;
    MPI_Status status;
    MPI_Test(&lane->receives[at], &flag, &status);
    if (!flag)
        return 0;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    int count = bytes / item;
    for (int i = 0; i < count; i++)
        handle(status.MPI_SOURCE, lane->in[at] + i * item);
    lane->handled += count;
    MPI_Irecv(lane->in[at], buffer * item, MPI_BYTE, MPI_ANY_SOURCE, lane->tag, MPI_COMM_WORLD, &lane->receives[at]);
    lane->next = (at + 1) % RECEIVES;
    return 1;
}

/* A place where this is needed, and what is needed there. */
struct wide {
    uint64_t at, value;
};

/* Messages of the second kind are sent by handlers, which must not wait: what does not fit into a buffer grows a
 * list. */
static struct lane first, second;

static struct {
    struct wide message;
    int to;
} *later;
static long laters, laters_room;

static inline void postpone(int to, struct wide message) {
    if (laters == laters_room) {
        laters_room = laters_room ? 2 * laters_room : buffer;
        later = realloc(later, laters_room * sizeof *later);
        if (!later)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    later[laters].to = to;
    later[laters++].message = message;
}

static inline int push_second(int to, struct wide message, handler *handle) {
    if (second.filled[to] == buffer && !leave(&second, to, handle, sizeof message))
        return 0;
    memcpy(second.fill[to] + second.filled[to]++ * sizeof message, &message, sizeof message);
    return 1;
}

/* Does again what did not fit. */
static inline __attribute__((always_inline)) int again(handler *handle) {
    long count = laters, kept = 0;
    for (long i = 0; i < count; i++)
        if (!push_second(later[i].to, later[i].message, handle))
            later[kept++] = later[i];
    laters = kept;
    return kept < count;
}

/* How a kernel sends messages of the first kind, and ends: NAME_again does what waits. */
#define KERNEL(NAME, FIRST, ITEM, TWO, SECOND)                                                                       \
    static int NAME##_poll(void) {                                                                                   \
        int busy = 0;                                                                                                \
        if (TWO)                                                                                                     \
            busy |= poll(&second, SECOND, sizeof(struct wide));                                                      \
        return busy | poll(&first, FIRST, sizeof(ITEM));                                                             \
    }                                                                                                                \
    static inline void NAME##_send(int to, ITEM message) {                                                           \
        if (first.filled[to] == buffer) {                                                                            \
            NAME##_poll();                                                                                           \
            while (first.filled[to] == buffer && !leave(&first, to, FIRST, sizeof(ITEM)))                            \
                NAME##_poll();                                                                                       \
        }                                                                                                            \
        memcpy(first.fill[to] + first.filled[to]++ * sizeof message, &message, sizeof message);                      \
    }                                                                                                                \
    static int NAME##_flush(void) {                                                                                  \
        int left = 0;                                                                                                \
        for (int to = 0; to < size; to++) {                                                                          \
            if (first.filled[to])                                                                                    \
                left |= leave(&first, to, FIRST, sizeof(ITEM));                                                      \
            if (TWO && second.filled[to])                                                                            \
                left |= leave(&second, to, SECOND, sizeof(struct wide));                                             \
        }                                                                                                            \
        return left;                                                                                                 \
    }                                                                                                                \
    static int NAME##_is_empty(void) {                                                                               \
        for (int to = 0; to < size; to++)                                                                            \
            if (first.filled[to] || (TWO && second.filled[to]))                                                      \
                return 0;                                                                                            \
        return !laters;                                                                                              \
    }                                                                                                                \
    /* Until as many messages were handled by one reduction as were sent by the next. */                             \
    static void NAME##_finish(void) {                                                                                \
        uint64_t before = UINT64_MAX, sums[2];                                                                       \
        for (;;) {                                                                                                   \
            while (NAME##_again() | NAME##_poll() || NAME##_flush() || !NAME##_is_empty())                           \
                ;                                                                                                    \
            uint64_t counts[2] = {first.sent + second.sent, first.handled + second.handled};                         \
            MPI_Request request;                                                                                     \
            int flag = 0;                                                                                            \
            MPI_Iallreduce(counts, sums, 2, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &request);                        \
            while (MPI_Test(&request, &flag, MPI_STATUS_IGNORE), !flag)                                              \
                if (!(NAME##_again() | NAME##_poll()))                                                               \
                    NAME##_flush();                                                                                  \
            if (before == sums[0])                                                                                   \
                return;                                                                                              \
            before = sums[1];                                                                                        \
        }                                                                                                            \
    }

/* What each rank sends and receives, sorted by rank. */
struct exchange {
    int *counts, *starts, *theirs, *their_starts;
    long coming;
};

static inline void exchange_make(struct exchange *exchange) {
    int **all[] = {&exchange->counts, &exchange->starts, &exchange->theirs, &exchange->their_starts};
    for (int i = 0; i < 4; i++)
        *all[i] = allocate((size + 1) * sizeof(int));
}

static inline void exchange_free(struct exchange *exchange) {
    free(exchange->counts);
    free(exchange->starts);
    free(exchange->theirs);
    free(exchange->their_starts);
}

static inline void exchange_counts(struct exchange *exchange) {
    MPI_Alltoall(exchange->counts, 1, MPI_INT, exchange->theirs, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        exchange->starts[i + 1] = exchange->starts[i] + exchange->counts[i];
        exchange->their_starts[i + 1] = exchange->their_starts[i] + exchange->theirs[i];
    }
    exchange->coming = exchange->their_starts[size];
}
