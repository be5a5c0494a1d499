/* Histogram, index gather and random permutation, as the actors' examples have them, in C as one writes it for
 * speed: messages to one rank are collected and leave by MPI_Isend (`isend`), or all at once by MPI_Alltoallv
 * (`alltoallv`; a permutation needs several rounds of it). Arguments: the kernel, the form, and the examples'
 * --updates, --table, --buffer. Checks its results and prints a rate, as the examples do. */
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RECEIVES = 4, AWAY = 16 };
#define EMPTY UINT64_MAX

static int rank, size;
static long updates = 1000000, table = 1000, buffer = 1024;

static uint64_t state;

static void seed(int of) {
    state = ((uint64_t)of + 1) * 0x9e3779b97f4a7c15u | 1;
}

static inline uint64_t below(uint64_t bound) {
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (uint64_t)((unsigned __int128)(state * 0x2545f4914f6cdd1du) * bound >> 64);
}

static void *allocate(size_t bytes) {
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

static void lane_make(struct lane *lane, int tag, size_t item) {
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

static void lane_end(struct lane *lane) {
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

/* The kernels. Messages of the second kind are sent by handlers, which must not wait: what does not fit into a
 * buffer grows a list. */
static struct lane first, second;
static uint64_t *mine, *results;

struct pair {
    uint32_t result, place;
};
struct wide {
    uint64_t result, element;
};

static struct {
    struct wide message;
    int to;
} *later;
static long laters, laters_room;

static void postpone(int to, struct wide message) {
    if (laters == laters_room) {
        laters_room = laters_room ? 2 * laters_room : buffer;
        later = realloc(later, laters_room * sizeof *later);
        if (!later)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    later[laters].to = to;
    later[laters++].message = message;
}

static void count_handler(int from, const void *message) {
    uint32_t place;
    (void)from;
    memcpy(&place, message, sizeof place);
    mine[place]++;
}

static void reply_handler(int from, const void *message) {
    struct wide reply;
    (void)from;
    memcpy(&reply, message, sizeof reply);
    results[reply.result] = reply.element;
}

static inline int push_second(int to, struct wide message, handler *handle) {
    if (second.filled[to] == buffer && !leave(&second, to, handle, sizeof message))
        return 0;
    memcpy(second.fill[to] + second.filled[to]++ * sizeof message, &message, sizeof message);
    return 1;
}

static void request_handler(int from, const void *message) {
    struct pair request;
    memcpy(&request, message, sizeof request);
    struct wide reply = {request.result, mine[request.place]};
    if (laters || !push_second(from, reply, reply_handler))
        postpone(from, reply);
}

static long places;

/* Throws a dart again, when there is room. */
static void missed_handler(int from, const void *message) {
    struct wide dart;
    (void)from;
    memcpy(&dart, message, sizeof dart);
    uint64_t place = below((uint64_t)places * size);
    dart.element = place % places;
    postpone(place / places, dart);
}

static void dart_handler(int from, const void *message) {
    struct wide dart;
    memcpy(&dart, message, sizeof dart);
    if (mine[dart.element] == EMPTY)
        mine[dart.element] = dart.result;
    else if (!push_second(from, dart, missed_handler))
        missed_handler(from, message);
}

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

/* What waits for room in a buffer. */
static int histogram_again(void) {
    return 0;
}

static int gather_again(void) {
    long count = laters, kept = 0;
    for (long i = 0; i < count; i++)
        if (!push_second(later[i].to, later[i].message, reply_handler))
            later[kept++] = later[i];
    laters = kept;
    return kept < count;
}

static int permutation_again(void);

KERNEL(histogram, count_handler, uint32_t, 0, reply_handler)
KERNEL(gather, request_handler, struct pair, 1, reply_handler)
KERNEL(permutation, dart_handler, struct wide, 1, missed_handler)

static int permutation_again(void) {
    long count = laters;
    for (long i = 0; i < count; i++)
        permutation_send(later[i].to, later[i].message);
    laters -= count;
    memmove(later, later + count, laters * sizeof *later);
    return count > 0;
}

/* Which rank and which element, for each update. */
static uint32_t *ranks, *elements;

static void histogram_isend(void) {
    for (long i = 0; i < updates; i++)
        histogram_send(ranks[i], elements[i]);
    histogram_finish();
}

static void gather_isend(void) {
    for (long i = 0; i < updates; i++)
        gather_send(ranks[i], (struct pair){i, elements[i]});
    gather_finish();
}

static void permutation_isend(void) {
    for (long i = 0; i < places / 2; i++) {
        uint64_t place = below((uint64_t)places * size);
        permutation_send(place / places, (struct wide){rank * (places / 2) + i, place % places});
    }
    permutation_finish();
}

/* What each rank sends and receives, sorted by rank. */
struct exchange {
    int *counts, *starts, *theirs, *their_starts;
    long coming;
};

static void exchange_make(struct exchange *exchange) {
    int **all[] = {&exchange->counts, &exchange->starts, &exchange->theirs, &exchange->their_starts};
    for (int i = 0; i < 4; i++)
        *all[i] = allocate((size + 1) * sizeof(int));
}

static void exchange_free(struct exchange *exchange) {
    free(exchange->counts);
    free(exchange->starts);
    free(exchange->theirs);
    free(exchange->their_starts);
}

static void exchange_counts(struct exchange *exchange) {
    MPI_Alltoall(exchange->counts, 1, MPI_INT, exchange->theirs, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) {
        exchange->starts[i + 1] = exchange->starts[i] + exchange->counts[i];
        exchange->their_starts[i + 1] = exchange->their_starts[i] + exchange->theirs[i];
    }
    exchange->coming = exchange->their_starts[size];
}

static void histogram_alltoallv(int gathers) {
    struct exchange exchange;
    exchange_make(&exchange);
    for (long i = 0; i < updates; i++)
        exchange.counts[ranks[i]]++;
    exchange_counts(&exchange);
    uint32_t *out = allocate(updates * sizeof *out), *in = allocate(exchange.coming * sizeof *in);
    uint32_t *order = gathers ? allocate(updates * sizeof *order) : NULL;
    int *at = allocate(size * sizeof *at);
    memcpy(at, exchange.starts, size * sizeof *at);
    for (long i = 0; i < updates; i++) {
        if (gathers)
            order[at[ranks[i]]] = i;
        out[at[ranks[i]]++] = elements[i];
    }
    MPI_Alltoallv(out, exchange.counts, exchange.starts, MPI_UINT32_T, in, exchange.theirs, exchange.their_starts,
                  MPI_UINT32_T, MPI_COMM_WORLD);
    if (gathers) {
        uint64_t *found = allocate(exchange.coming * sizeof *found), *back = allocate(updates * sizeof *back);
        for (long i = 0; i < exchange.coming; i++)
            found[i] = mine[in[i]];
        MPI_Alltoallv(found, exchange.theirs, exchange.their_starts, MPI_UINT64_T, back, exchange.counts,
                      exchange.starts, MPI_UINT64_T, MPI_COMM_WORLD);
        for (long i = 0; i < updates; i++)
            results[order[i]] = back[i];
        free(found);
        free(back);
    } else {
        for (long i = 0; i < exchange.coming; i++)
            mine[in[i]]++;
    }
    free(order);
    free(out);
    free(in);
    free(at);
    exchange_free(&exchange);
}

/* Rounds: all darts are thrown, and those that missed come back. */
static void permutation_alltoallv(void) {
    long darts = places / 2, everybody;
    uint64_t *numbers = allocate(darts * sizeof *numbers);
    uint64_t *throws = allocate(darts * sizeof *throws);
    for (long i = 0; i < darts; i++)
        numbers[i] = rank * darts + i;
    do {
        struct exchange exchange;
        exchange_make(&exchange);
        for (long i = 0; i < darts; i++) {
            throws[i] = below((uint64_t)places * size);
            exchange.counts[throws[i] / places] += 2;
        }
        exchange_counts(&exchange);
        uint64_t *out = allocate(2 * darts * sizeof *out), *in = allocate(exchange.coming * sizeof *in);
        int *at = allocate(size * sizeof *at);
        memcpy(at, exchange.starts, size * sizeof *at);
        for (long i = 0; i < darts; i++) {
            int *to = &at[throws[i] / places];
            out[(*to)++] = numbers[i];
            out[(*to)++] = throws[i] % places;
        }
        MPI_Alltoallv(out, exchange.counts, exchange.starts, MPI_UINT64_T, in, exchange.theirs, exchange.their_starts,
                      MPI_UINT64_T, MPI_COMM_WORLD);
        for (long i = 0; i < exchange.coming; i += 2) {
            int stuck = mine[in[i + 1]] == EMPTY;
            if (stuck)
                mine[in[i + 1]] = in[i];
            in[i + 1] = stuck;
        }
        MPI_Alltoallv(in, exchange.theirs, exchange.their_starts, MPI_UINT64_T, out, exchange.counts, exchange.starts,
                      MPI_UINT64_T, MPI_COMM_WORLD);
        long missed = 0;
        for (long i = 0; i < 2 * darts; i += 2)
            if (!out[i + 1])
                numbers[missed++] = out[i];
        darts = missed;
        free(out);
        free(in);
        free(at);
        exchange_free(&exchange);
        MPI_Allreduce(&darts, &everybody, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    } while (everybody);
    free(numbers);
    free(throws);
}

static uint64_t element(uint64_t of, uint64_t place) {
    return (of + 1) << 40 | (3 * place + 1);
}

static int is_right(const char *kernel) {
    long numbers = places / 2, count = kernel[0] == 'h' ? table * size : numbers * size;
    uint64_t *expected = allocate(count * sizeof *expected);
    int right = 1;
    if (kernel[0] == 'i') {
        for (long i = 0; i < updates; i++)
            right &= results[i] == element(ranks[i], elements[i]);
    } else if (kernel[0] == 'h') {
        for (long i = 0; i < updates; i++)
            expected[ranks[i] * table + elements[i]]++;
        MPI_Allreduce(MPI_IN_PLACE, expected, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        right = !memcmp(expected + rank * table, mine, table * sizeof *mine);
    } else {
        for (long i = 0; i < places; i++)
            if (mine[i] != EMPTY)
                expected[mine[i]]++;
        MPI_Allreduce(MPI_IN_PLACE, expected, count, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        for (long i = 0; i < count; i++)
            right &= expected[i] == 1;
    }
    free(expected);
    return right;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) {
        fprintf(stderr, "usage: kernels histogram|index_gather|random_permutation isend|alltoallv\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const char *kernel = argv[1];
    int by_isend = !strcmp(argv[2], "isend");
    for (int i = 3; i + 1 < argc; i += 2)
        *(!strcmp(argv[i], "--updates") ? &updates : !strcmp(argv[i], "--table") ? &table : &buffer) =
            atol(argv[i + 1]);
    /* A permutation's numbers. */
    long numbers = kernel[0] == 'r' ? (updates ? updates : table) : 0;
    places = 2 * numbers;
    seed(rank);
    mine = allocate((places ? places : table) * sizeof *mine);
    ranks = allocate(updates * sizeof *ranks);
    elements = allocate(updates * sizeof *elements);
    results = allocate(updates * sizeof *results);
    for (long i = 0; i < places; i++)
        mine[i] = EMPTY;
    for (long i = 0; kernel[0] == 'i' && i < table; i++)
        mine[i] = element(rank, i);
    for (long i = 0; !places && i < updates; i++) {
        uint64_t random = below((uint64_t)table * size);
        ranks[i] = random % size;
        elements[i] = random / size;
    }
    if (by_isend) {
        lane_make(&first, 0, kernel[0] == 'h' ? sizeof(uint32_t)
                             : places         ? sizeof(struct wide)
                                              : sizeof(struct pair));
        if (kernel[0] != 'h')
            lane_make(&second, 1, sizeof(struct wide));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    if (places)
        by_isend ? permutation_isend() : permutation_alltoallv();
    else if (kernel[0] == 'i')
        by_isend ? gather_isend() : histogram_alltoallv(1);
    else
        by_isend ? histogram_isend() : histogram_alltoallv(0);
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - began;
    if (by_isend) {
        lane_end(&first);
        if (kernel[0] != 'h')
            lane_end(&second);
    }
    int right = is_right(kernel), all;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("million a second: %.2f\n", (places ? numbers : updates) * (double)size / seconds / 1e6);
        printf("%s: %s\n", kernel, all ? "right" : "WRONG");
    }
    MPI_Finalize();
    free(mine);
    free(ranks);
    free(elements);
    free(results);
    free(later);
    return !all;
}
