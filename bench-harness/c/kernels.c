/* Histogram, index gather and random permutation, as the actors' examples have them, in C as one writes it for
 * speed: messages to one rank are collected and leave by MPI_Isend (`isend`), or all at once by MPI_Alltoallv
 * (`alltoallv`; a permutation needs several rounds of it). Arguments: the kernel, the form, and the examples'
 * --updates, --table, --buffer. Checks its results and prints a rate, as the examples do. */
#include "kernels.h"

#define EMPTY UINT64_MAX

static uint64_t *mine, *results;

struct pair {
    uint32_t result, place;
};

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
    results[reply.at] = reply.value;
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
    dart.at = place % places;
    postpone(place / places, dart);
}

static void dart_handler(int from, const void *message) {
    struct wide dart;
    memcpy(&dart, message, sizeof dart);
    if (mine[dart.at] == EMPTY)
        mine[dart.at] = dart.value;
    else if (!push_second(from, dart, missed_handler))
        missed_handler(from, message);
}

/* What waits for room in a buffer. */
static int histogram_again(void) {
    return 0;
}

static int gather_again(void) {
    return again(reply_handler);
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
        permutation_send(place / places, (struct wide){place % places, rank * (places / 2) + i});
    }
    permutation_finish();
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
    read_options(argc, argv);
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
