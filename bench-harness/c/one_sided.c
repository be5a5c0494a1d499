/* One-sided communication as `one_sided` has it in Rust, in C as one writes it. */
#include <mpi.h>
#include <string.h>

static MPI_Win win = MPI_WIN_NULL;
static MPI_Group all, others, neighbours;
static double *memory;
static int rank, size, rows, columns;

void c_open(double *unused, int length, int per_row) {
    int ranks[2], count = 0, other;
    (void)unused;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Win_allocate((MPI_Aint)length * sizeof *memory, sizeof *memory, MPI_INFO_NULL,
                     MPI_COMM_WORLD, &memory, &win);
    memset(memory, 0, (size_t)length * sizeof *memory);
    columns = per_row;
    rows = per_row ? length / per_row - 2 : 0;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    other = rank == 0 ? 1 % size : 0;
    MPI_Group_incl(all, 1, &other, &others);
    if (rank > 0)
        ranks[count++] = rank - 1;
    if (rank + 1 < size)
        ranks[count++] = rank + 1;
    MPI_Group_incl(all, count, ranks, &neighbours);
    MPI_Barrier(MPI_COMM_WORLD);
}

void c_close(void) {
    MPI_Group_free(&all);
    MPI_Group_free(&others);
    MPI_Group_free(&neighbours);
    MPI_Win_free(&win);
}

/* What is written to and read from outside of measurements. */
double *c_memory(void) { return memory; }

void c_send_ping_pong(double *buffer, int count, int rounds) {
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Send(buffer, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, count, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(buffer, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

void c_put_ping_pong(double *buffer, int count, int rounds) {
    for (int i = 0; i < rounds && rank < 2; i++) {
        for (int turn = 0; turn < 2; turn++) {
            if (rank == turn) {
                MPI_Win_start(others, 0, win);
                MPI_Put(buffer, count, MPI_DOUBLE, 1 - rank, 0, count, MPI_DOUBLE, win);
                MPI_Win_complete(win);
            } else {
                MPI_Win_post(others, 0, win);
                MPI_Win_wait(win);
            }
        }
    }
}

void c_get_ping_pong(double *buffer, int count, int rounds) {
    for (int i = 0; i < rounds && rank < 2; i++) {
        for (int turn = 0; turn < 2; turn++) {
            if (rank == turn) {
                MPI_Win_start(others, 0, win);
                MPI_Get(buffer, count, MPI_DOUBLE, 1 - rank, 0, count, MPI_DOUBLE, win);
                MPI_Win_complete(win);
            } else {
                MPI_Win_post(others, 0, win);
                MPI_Win_wait(win);
            }
        }
    }
}

/* Rank 0 writes to all others, and each to rank 0. */
void c_put_one_to_many(double *buffer, int count, int rounds) {
    for (int i = 0; i < rounds; i++) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        if (rank == 0)
            for (int other = 1; other < size; other++)
                MPI_Put(buffer, count, MPI_DOUBLE, other, 0, count, MPI_DOUBLE, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        if (rank != 0)
            MPI_Put(buffer, count, MPI_DOUBLE, 0, (MPI_Aint)rank * count, count, MPI_DOUBLE, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    }
}

/* Rank 0 reads from all others, and each from rank 0. */
void c_get_one_to_many(double *buffer, int count, int rounds) {
    for (int i = 0; i < rounds; i++) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        if (rank == 0)
            for (int other = 1; other < size; other++)
                MPI_Get(buffer + (size_t)other * count, count, MPI_DOUBLE, other, 0, count,
                        MPI_DOUBLE, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        if (rank != 0)
            MPI_Get(buffer, count, MPI_DOUBLE, 0, (MPI_Aint)rank * count, count, MPI_DOUBLE, win);
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
    }
}

/* One colour of red-black successive over-relaxation; the first row is the upper halo. */
static void relax(double *grid, int colour) {
    for (int i = 1; i <= rows; i++) {
        const double *above = grid + (size_t)(i - 1) * columns;
        const double *below = grid + (size_t)(i + 1) * columns;
        double *row = grid + (size_t)i * columns;
        for (int j = 1 + (rank * rows + i + colour) % 2; j < columns - 1; j += 2)
            row[j] += 1.5 * (0.25 * (above[j] + below[j] + row[j - 1] + row[j + 1]) - row[j]);
    }
}

/* This rank's first and last rows become halos of the ranks above and below. */
static void put_up(void) {
    MPI_Put(memory + columns, columns, MPI_DOUBLE, rank - 1, (MPI_Aint)(rows + 1) * columns,
            columns, MPI_DOUBLE, win);
}

static void put_down(void) {
    MPI_Put(memory + (size_t)rows * columns, columns, MPI_DOUBLE, rank + 1, 0, columns, MPI_DOUBLE,
            win);
}

void c_sor_fence(double *unused, int count, int rounds) {
    (void)unused, (void)count;
    for (int step = 0; step < 2 * rounds; step++) {
        MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
        if (rank > 0)
            put_up();
        if (rank + 1 < size)
            put_down();
        MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
        relax(memory, step % 2);
    }
}

void c_sor_pscw(double *unused, int count, int rounds) {
    (void)unused, (void)count;
    for (int step = 0; step < 2 * rounds; step++) {
        MPI_Win_post(neighbours, 0, win);
        MPI_Win_start(neighbours, 0, win);
        if (rank > 0)
            put_up();
        if (rank + 1 < size)
            put_down();
        MPI_Win_complete(win);
        MPI_Win_wait(win);
        relax(memory, step % 2);
    }
}

void c_sor_lock(double *unused, int count, int rounds) {
    (void)unused, (void)count;
    for (int step = 0; step < 2 * rounds; step++) {
        if (rank > 0) {
            MPI_Win_lock(MPI_LOCK_SHARED, rank - 1, 0, win);
            put_up();
            MPI_Win_unlock(rank - 1, win);
        }
        if (rank + 1 < size) {
            MPI_Win_lock(MPI_LOCK_SHARED, rank + 1, 0, win);
            put_down();
            MPI_Win_unlock(rank + 1, win);
        }
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, 0, win);
        relax(memory, step % 2);
        MPI_Win_unlock(rank, win);
        MPI_Barrier(MPI_COMM_WORLD);
    }
}
