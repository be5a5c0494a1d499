/* Numbers that lie anywhere are sorted over all processes. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 1000, SAMPLES = 16 };

static int compare(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void sort(int32_t *numbers, int count) {
    qsort(numbers, count, sizeof *numbers, compare);
}

/* Sums of all before each; gives the sum of all. */
static int places(const int *counts, int *places, int size) {
    int sum = 0;
    for (int i = 0; i < size; i++) {
        places[i] = sum;
        sum += counts[i];
    }
    return sum;
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int32_t numbers[COUNT];
    uint32_t state = rank + 1;
    for (int i = 0; i < COUNT; i++) {
        state = (state * 1103515245u + 12345u) & 0x7fffffff;
        numbers[i] = state;
    }
    sort(numbers, COUNT);

    int32_t mine[SAMPLES];
    for (int i = 0; i < SAMPLES; i++)
        mine[i] = numbers[i * COUNT / SAMPLES];
    int32_t *all = malloc(size * SAMPLES * sizeof *all);
    MPI_Allgather(mine, SAMPLES, MPI_INT32_T, all, SAMPLES,
                  MPI_INT32_T, MPI_COMM_WORLD);
    sort(all, size * SAMPLES);

    /* The numbers are sorted: what goes to a process lies
       together. */
    int *to = calloc(size, sizeof *to);
    for (int i = 0, other = 0; i < COUNT; i++) {
        while (other + 1 < size &&
               numbers[i] >= all[(other + 1) * SAMPLES])
            other++;
        to[other]++;
    }
    int *from = malloc(size * sizeof *from);
    int *to_at = malloc(size * sizeof *to_at);
    int *from_at = malloc(size * sizeof *from_at);
    MPI_Alltoall(to, 1, MPI_INT, from, 1, MPI_INT,
                 MPI_COMM_WORLD);
    places(to, to_at, size);
    int count = places(from, from_at, size);
    int32_t *sorted = malloc(count * sizeof *sorted);
    MPI_Alltoallv(numbers, to, to_at, MPI_INT32_T, sorted,
                  from, from_at, MPI_INT32_T, MPI_COMM_WORLD);
    sort(sorted, count);

    int32_t part[3] = {count, sorted[0], sorted[count - 1]};
    int32_t *parts = malloc(size * sizeof part);
    MPI_Gather(part, 3, MPI_INT32_T, parts, 3, MPI_INT32_T, 0,
               MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("rank %d: %d numbers from %d to %d\n", i,
               parts[3 * i], parts[3 * i + 1],
               parts[3 * i + 2]);
    free(all);
    free(to);
    free(from);
    free(to_at);
    free(from_at);
    free(sorted);
    free(parts);
    MPI_Finalize();
}
