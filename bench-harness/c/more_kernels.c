/* Permute matrix, triangle counting and triangular solve, as the examples have them, in C as one writes it for speed:
 * with MPI_Isend (`isend`) as the actors' examples, with MPI_Alltoallv (`alltoallv`) as the plain ones. Arguments: the
 * kernel, the form, and the examples' --updates, --table, --buffer. Checks its results and prints a rate, as the
 * examples do. Numbers are dealt out to the ranks in turn: `number` belongs to rank `number % size`, and is its
 * `number / size`th. */
#include "kernels.h"

/* What this rank does in the time. */
static uint64_t operations;

/* Another number for each number. */
static uint64_t mix(uint64_t number) {
    number = (number ^ number >> 31) * 0x7fb5d329728ea185u;
    number = (number ^ number >> 27) * 0x81dadef4bc2dd44du;
    return number ^ number >> 33;
}

static uint64_t sum(uint64_t of) {
    MPI_Allreduce(MPI_IN_PLACE, &of, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return of;
}

/* Sorts a short list, and drops what is there twice. Returns how many are left. */
static long sort(uint64_t *list, long count) {
    long kept = 0;
    for (long i = 1; i < count; i++) {
        uint64_t one = list[i];
        long at = i;
        for (; at > 0 && list[at - 1] > one; at--)
            list[at] = list[at - 1];
        list[at] = one;
    }
    for (long i = 0; i < count; i++)
        if (!i || list[i] != list[kept - 1])
            list[kept++] = list[i];
    return kept;
}

/* Pairs of numbers for other ranks: first they are counted, then put in order, then all sent at once. */
struct batch {
    struct exchange exchange;
    struct wide *out, *in;
    int *at;
    long coming;
};

static void batch_make(struct batch *batch) {
    exchange_make(&batch->exchange);
    batch->at = allocate(size * sizeof *batch->at);
    batch->out = batch->in = NULL;
}

static inline void batch_count(struct batch *batch, int to, long count) {
    batch->exchange.counts[to] += 2 * count;
}

/* All are counted. */
static void batch_begin(struct batch *batch) {
    exchange_counts(&batch->exchange);
    batch->coming = batch->exchange.coming / 2;
    batch->out = allocate(batch->exchange.starts[size] * sizeof(uint64_t));
    batch->in = allocate(batch->exchange.coming * sizeof(uint64_t));
    for (int i = 0; i < size; i++)
        batch->at[i] = batch->exchange.starts[i] / 2;
}

static inline void batch_put(struct batch *batch, int to, uint64_t at, uint64_t value) {
    batch->out[batch->at[to]++] = (struct wide){at, value};
}

static void batch_send(struct batch *batch) {
    struct exchange *exchange = &batch->exchange;
    MPI_Alltoallv(batch->out, exchange->counts, exchange->starts, MPI_UINT64_T, batch->in, exchange->theirs,
                  exchange->their_starts, MPI_UINT64_T, MPI_COMM_WORLD);
}

static void batch_free(struct batch *batch) {
    exchange_free(&batch->exchange);
    free(batch->at);
    free(batch->out);
    free(batch->in);
}

/* Permute matrix: the rows and columns of a sparse matrix get other numbers, and entries move to their rows' ranks. */

/* A permutation that is computed: multiplication by a number without a common divisor, and an addition. */
struct shuffle {
    uint64_t factor, first;
};

static struct shuffle of_rows, of_columns;

static struct shuffle shuffle_make(uint64_t of) {
    uint64_t order = (uint64_t)table * size, factor = mix(of) % order | 1;
    for (;; factor += 2) {
        uint64_t a = factor, b = order;
        while (b) {
            uint64_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            return (struct shuffle){factor, mix(of + 1) % order};
    }
}

static uint64_t shuffled(struct shuffle shuffle, uint64_t number) {
    return ((unsigned __int128)number * shuffle.factor + shuffle.first) % ((uint64_t)table * size);
}

/* The columns of a row, which come one by one. */
struct row {
    uint64_t *columns;
    uint32_t count, room;
};

/* New numbers of this rank's rows and columns; of each entry the row's place here, and the column. */
static uint64_t *new_rows, *new_columns, *old_rows, *old_columns;
/* The result: by rows, or as entries of `arrived`. */
static struct row *matrix;
static struct batch arrived;

static void permute_prepare(void) {
    of_rows = shuffle_make(1);
    of_columns = shuffle_make(2);
    new_rows = allocate(table * sizeof *new_rows);
    new_columns = allocate(table * sizeof *new_columns);
    for (long i = 0; i < table; i++) {
        new_rows[i] = shuffled(of_rows, (uint64_t)i * size + rank);
        new_columns[i] = shuffled(of_columns, (uint64_t)i * size + rank);
    }
    old_rows = allocate(updates * sizeof *old_rows);
    old_columns = allocate(updates * sizeof *old_columns);
    for (long i = 0; i < updates; i++) {
        old_rows[i] = below(table);
        old_columns[i] = below((uint64_t)table * size);
    }
    matrix = allocate(table * sizeof *matrix);
    operations = updates;
}

static void entry_handler(int from, const void *message) {
    struct wide entry;
    (void)from;
    memcpy(&entry, message, sizeof entry);
    struct row *row = &matrix[entry.at / size];
    if (row->count == row->room) {
        row->room = row->room ? 2 * row->room : 4;
        row->columns = realloc(row->columns, row->room * sizeof *row->columns);
        if (!row->columns)
            MPI_Abort(MPI_COMM_WORLD, 1);
    }
    row->columns[row->count++] = entry.value;
}

/* The row has its new number, and the column gets it here. */
static void column_handler(int from, const void *message) {
    struct wide entry;
    (void)from;
    memcpy(&entry, message, sizeof entry);
    entry.value = new_columns[entry.value / size];
    int to = entry.at % size;
    if (laters || !push_second(to, entry, entry_handler))
        postpone(to, entry);
}

static int permute_again(void) {
    return again(entry_handler);
}

KERNEL(permute, column_handler, struct wide, 1, entry_handler)

static void permute_isend(void) {
    for (long i = 0; i < updates; i++) {
        permute_send(old_columns[i] % size, (struct wide){new_rows[old_rows[i]], old_columns[i]});
        /* Soon, or the list grows until the end. */
        if (laters > buffer)
            permute_again();
    }
    permute_finish();
}

/* All requests for new columns, all replies, and all entries. */
static void permute_alltoallv(void) {
    struct exchange exchange;
    exchange_make(&exchange);
    for (long i = 0; i < updates; i++)
        exchange.counts[old_columns[i] % size]++;
    exchange_counts(&exchange);
    uint64_t *out = allocate(updates * sizeof *out), *in = allocate(exchange.coming * sizeof *in);
    uint32_t *order = allocate(updates * sizeof *order);
    int *at = allocate(size * sizeof *at);
    memcpy(at, exchange.starts, size * sizeof *at);
    for (long i = 0; i < updates; i++) {
        order[i] = at[old_columns[i] % size]++;
        out[order[i]] = old_columns[i];
    }
    MPI_Alltoallv(out, exchange.counts, exchange.starts, MPI_UINT64_T, in, exchange.theirs, exchange.their_starts,
                  MPI_UINT64_T, MPI_COMM_WORLD);
    for (long i = 0; i < exchange.coming; i++)
        in[i] = new_columns[in[i] / size];
    MPI_Alltoallv(in, exchange.theirs, exchange.their_starts, MPI_UINT64_T, out, exchange.counts, exchange.starts,
                  MPI_UINT64_T, MPI_COMM_WORLD);
    batch_make(&arrived);
    for (long i = 0; i < updates; i++)
        batch_count(&arrived, new_rows[old_rows[i]] % size, 1);
    batch_begin(&arrived);
    for (long i = 0; i < updates; i++) {
        uint64_t row = new_rows[old_rows[i]];
        batch_put(&arrived, row % size, row, out[order[i]]);
    }
    batch_send(&arrived);
    free(out);
    free(in);
    free(order);
    free(at);
    exchange_free(&exchange);
}

/* Each entry is there as often as it should be, or sums of hashes are equal by chance. */
static int permute_is_right(void) {
    uint64_t order = (uint64_t)table * size, expected = 0, found = 0;
    for (long i = 0; i < updates; i++)
        expected += mix(shuffled(of_rows, old_rows[i] * size + rank) * order + shuffled(of_columns, old_columns[i]));
    for (long i = 0; i < table; i++) {
        for (uint32_t n = 0; n < matrix[i].count; n++)
            found += mix(((uint64_t)i * size + rank) * order + matrix[i].columns[n]);
        free(matrix[i].columns);
    }
    int here = 1;
    if (arrived.in) {
        for (long i = 0; i < arrived.coming; i++) {
            here &= (int)(arrived.in[i].at % size) == rank;
            found += mix(arrived.in[i].at * order + arrived.in[i].value);
        }
        batch_free(&arrived);
    }
    free(new_rows);
    free(new_columns);
    free(old_rows);
    free(old_columns);
    free(matrix);
    return (sum(expected) == sum(found)) & here;
}

/* Triangle counting: how many triples of vertices of a random graph are neighbours of one another. */

/* Of each vertex of this rank the neighbours of smaller numbers, in order: where they begin, and they. */
static long *starts;
static uint64_t *neighbours, triangles;

/* Everybody can compute them. Few of them are far away, so that there are triangles. */
static long smaller_neighbours(uint64_t vertex, uint64_t edges, uint64_t *list) {
    uint64_t count = edges < vertex ? edges : vertex, near = vertex < 4 * edges ? vertex : 4 * edges;
    for (uint64_t n = 0; n < count; n++) {
        uint64_t random = mix(vertex * edges + n);
        list[n] = random % 4 ? vertex - 1 - random / 4 % near : random / 4 % vertex;
    }
    return sort(list, count);
}

/* The updates of each element of the table. */
static long share(void) {
    return (updates + table - 1) / table;
}

/* The lists of `count` vertices, of which this is the first and that the distance from one to the next. */
static void make_lists(long count, uint64_t one, uint64_t step, long **begin, uint64_t **lists) {
    *begin = allocate((count + 1) * sizeof **begin);
    *lists = allocate(count * share() * sizeof **lists);
    for (long i = 0; i < count; i++)
        (*begin)[i + 1] = (*begin)[i] + smaller_neighbours(one + i * step, share(), *lists + (*begin)[i]);
}

static void triangles_prepare(void) {
    make_lists(table, rank, size, &starts, &neighbours);
    for (long i = 0; i < table; i++) {
        uint64_t count = starts[i + 1] - starts[i];
        operations += count * (count - 1) / 2;
    }
}

/* Are two vertices neighbours? The greater one's rank knows. */
static inline int is_edge(struct wide edge) {
    const uint64_t *list = neighbours + starts[edge.at / size];
    long count = starts[edge.at / size + 1] - starts[edge.at / size];
    while (count > 1) {
        long half = count / 2;
        list += list[half] <= edge.value ? half : 0;
        count -= half;
    }
    return count && *list == edge.value;
}

static void edge_handler(int from, const void *message) {
    struct wide edge;
    (void)from;
    memcpy(&edge, message, sizeof edge);
    triangles += is_edge(edge);
}

static int triangles_again(void) {
    return 0;
}

KERNEL(triangles, edge_handler, struct wide, 0, edge_handler)

static void triangles_isend(void) {
    for (long i = 0; i < table; i++) {
        const uint64_t *list = neighbours + starts[i];
        for (long at = 0; at < starts[i + 1] - starts[i]; at++)
            for (long n = 0, to = list[at] % size; n < at; n++)
                triangles_send(to, (struct wide){list[at], list[n]});
    }
    triangles_finish();
}

static void triangles_alltoallv(void) {
    struct batch batch;
    batch_make(&batch);
    for (long i = 0; i < table; i++)
        for (long at = starts[i]; at < starts[i + 1]; at++)
            batch_count(&batch, neighbours[at] % size, at - starts[i]);
    batch_begin(&batch);
    for (long i = 0; i < table; i++) {
        const uint64_t *list = neighbours + starts[i];
        for (long at = 0; at < starts[i + 1] - starts[i]; at++)
            for (long n = 0, to = list[at] % size; n < at; n++)
                batch_put(&batch, to, list[at], list[n]);
    }
    batch_send(&batch);
    for (long i = 0; i < batch.coming; i++)
        triangles += is_edge(batch.in[i]);
    batch_free(&batch);
}

/* Of each vertex, marked neighbours that are neighbours of neighbours. */
static int triangles_is_right(void) {
    long vertices = table * size, *begin;
    uint64_t expected = 0, *lists;
    make_lists(vertices, 0, 1, &begin, &lists);
    uint32_t *marks = allocate(vertices * sizeof *marks);
    for (long i = 0; i < vertices; i++) {
        for (long at = begin[i]; at < begin[i + 1]; at++)
            marks[lists[at]] = i;
        for (long at = begin[i]; at < begin[i + 1]; at++)
            for (long other = begin[lists[at]]; other < begin[lists[at] + 1]; other++)
                /* Vertex 0 has no smaller neighbour, so that its number marks nothing. */
                expected += marks[lists[other]] == i;
    }
    free(begin);
    free(lists);
    free(marks);
    free(starts);
    free(neighbours);
    return sum(triangles) == expected;
}

/* Triangular solve: a sparse, lower triangular system of equations with ones on its diagonal. A row is solved when all
 * columns of it are, and then tells the rows that have its column: with MPI_Isend as soon as it is, with MPI_Alltoallv
 * in rounds. Numbers are integers that wrap, so that the result is exact. */

/* A row that has a column, and its factor there. */
struct part {
    uint64_t row, factor;
};

/* The right side, less the parts of columns that are solved; in the end the solution. */
static uint64_t *values;
/* How many columns of each row are not solved. */
static uint32_t *unsolved;
/* Of each column of this rank its parts: where they begin, and they. */
static long *part_starts;
static struct part *parts;
/* Rows that are solved and have to tell it: with MPI_Isend `laters` of them, which no handler does. */
static uint64_t *solved;

static uint64_t solution(uint64_t row) {
    return mix(row);
}

static long columns_of(uint64_t row, uint64_t entries, uint64_t *list) {
    uint64_t count = entries < row ? entries : row;
    for (uint64_t n = 0; n < count; n++)
        list[n] = mix(row * entries + n) % row;
    return sort(list, count);
}

static uint64_t factor_of(uint64_t row, uint64_t column) {
    return mix(row ^ column << 20) % 9 - 4;
}

static void solve_prepare(void) {
    uint64_t *list = allocate(share() * sizeof *list), order = (uint64_t)table * size;
    values = allocate(table * sizeof *values);
    unsolved = allocate(table * sizeof *unsolved);
    solved = allocate(table * sizeof *solved);
    part_starts = allocate((table + 1) * sizeof *part_starts);
    for (uint64_t row = 0; row < order; row++) {
        long count = columns_of(row, share(), list), is_mine = (int)(row % size) == rank;
        if (is_mine) {
            values[row / size] = solution(row);
            unsolved[row / size] = count;
            operations += count;
        }
        for (long i = 0; i < count; i++) {
            if (is_mine)
                values[row / size] += factor_of(row, list[i]) * solution(list[i]);
            if ((int)(list[i] % size) == rank)
                part_starts[list[i] / size + 1]++;
        }
    }
    for (long i = 0; i < table; i++)
        part_starts[i + 1] += part_starts[i];
    parts = allocate(part_starts[table] * sizeof *parts);
    long *at = allocate(table * sizeof *at);
    memcpy(at, part_starts, table * sizeof *at);
    for (uint64_t row = 0; row < order; row++)
        for (long i = 0, count = columns_of(row, share(), list); i < count; i++)
            if ((int)(list[i] % size) == rank)
                parts[at[list[i] / size]++] = (struct part){row, factor_of(row, list[i])};
    free(at);
    free(list);
}

/* Returns whether the row is solved. */
static inline int subtract(struct wide told) {
    values[told.at / size] -= told.value;
    return --unsolved[told.at / size] == 0;
}

static void solved_handler(int from, const void *message) {
    struct wide told;
    (void)from;
    memcpy(&told, message, sizeof told);
    if (subtract(told))
        solved[laters++] = told.at / size;
}

static int solve_again(void);

KERNEL(solve, solved_handler, struct wide, 0, solved_handler)

/* Meanwhile handlers may solve more rows. */
static int solve_again(void) {
    int is_busy = laters > 0;
    while (laters) {
        uint64_t column = solved[--laters];
        for (long at = part_starts[column]; at < part_starts[column + 1]; at++)
            solve_send(parts[at].row % size, (struct wide){parts[at].row, parts[at].factor * values[column]});
    }
    return is_busy;
}

static void solve_isend(void) {
    for (long i = 0; i < table; i++)
        if (!unsolved[i])
            solved[laters++] = i;
    solve_finish();
}

static void solve_alltoallv(void) {
    char *is_told = allocate(table);
    uint64_t waiting = table;
    do {
        struct batch batch;
        batch_make(&batch);
        long now = 0;
        for (long i = 0; i < table; i++) {
            if (is_told[i] || unsolved[i])
                continue;
            is_told[i] = 1;
            solved[now++] = i;
            for (long at = part_starts[i]; at < part_starts[i + 1]; at++)
                batch_count(&batch, parts[at].row % size, 1);
        }
        batch_begin(&batch);
        for (long i = 0; i < now; i++)
            for (long at = part_starts[solved[i]]; at < part_starts[solved[i] + 1]; at++)
                batch_put(&batch, parts[at].row % size, parts[at].row, parts[at].factor * values[solved[i]]);
        batch_send(&batch);
        for (long i = 0; i < batch.coming; i++)
            subtract(batch.in[i]);
        batch_free(&batch);
        waiting -= now;
    } while (sum(waiting));
    free(is_told);
}

static int solve_is_right(void) {
    int right = 1;
    for (long i = 0; i < table; i++)
        right &= values[i] == solution((uint64_t)i * size + rank);
    free(values);
    free(unsolved);
    free(solved);
    free(part_starts);
    free(parts);
    return right;
}

static const struct kernel {
    const char *name;
    long updates, table;
    int has_second;
    void (*prepare)(void), (*isend)(void), (*alltoallv)(void);
    int (*is_right)(void);
} kernels[] = {
    {"permute_matrix", 100000, 10000, 1, permute_prepare, permute_isend, permute_alltoallv, permute_is_right},
    {"triangle_counting", 80000, 10000, 0, triangles_prepare, triangles_isend, triangles_alltoallv,
     triangles_is_right},
    {"triangular_solve", 40000, 10000, 0, solve_prepare, solve_isend, solve_alltoallv, solve_is_right},
};

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const struct kernel *kernel = NULL;
    for (unsigned i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (argc > 2 && !strcmp(argv[1], kernels[i].name))
            kernel = &kernels[i];
    int by_isend = argc > 2 && !strcmp(argv[2], "isend");
    if (!kernel || (!by_isend && strcmp(argv[2], "alltoallv"))) {
        fprintf(stderr, "usage: more_kernels permute_matrix|triangle_counting|triangular_solve isend|alltoallv\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
        return 2;
    }
    updates = kernel->updates;
    table = kernel->table;
    read_options(argc, argv);
    seed(rank);
    kernel->prepare();
    if (by_isend) {
        lane_make(&first, 0, sizeof(struct wide));
        if (kernel->has_second)
            lane_make(&second, 1, sizeof(struct wide));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    double began = MPI_Wtime();
    by_isend ? kernel->isend() : kernel->alltoallv();
    MPI_Barrier(MPI_COMM_WORLD);
    double seconds = MPI_Wtime() - began;
    if (by_isend) {
        lane_end(&first);
        if (kernel->has_second)
            lane_end(&second);
    }
    int right = kernel->is_right(), all;
    MPI_Allreduce(&right, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    double rate = sum(operations) / seconds / 1e6;
    if (rank == 0) {
        printf("million a second: %.*f\n", rate < 10 ? 6 : 2, rate);
        printf("%s: %s\n", kernel->name, all ? "right" : "WRONG");
    }
    MPI_Finalize();
    free(later);
    return !all;
}
