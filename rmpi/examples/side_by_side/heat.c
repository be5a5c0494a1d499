/* Heat in a plate that is hot at its upper edge. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 48, STEPS = 100 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int size, rank, up, down, left, right;
    int dims[2] = {0, 0}, periods[2] = {0, 0};
    MPI_Comm grid;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1,
                    &grid);
    MPI_Comm_rank(grid, &rank);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);

    /* With the neighbours' cells around its own. */
    int rows = SIDE / dims[0], columns = SIDE / dims[1];
    int width = columns + 2;
    size_t bytes = (rows + 2) * width * sizeof(double);
    double *cells = calloc(1, bytes), *old = malloc(bytes);
    if (up == MPI_PROC_NULL)
        for (int j = 0; j < width; j++) cells[j] = 100;

    MPI_Datatype column;
    MPI_Type_vector(rows, 1, width, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    double *first = cells + width + 1;
    double *last_row = cells + rows * width + 1;
    for (int step = 1; step <= STEPS; step++) {
        MPI_Request r[8];
        MPI_Irecv(cells + 1, columns, MPI_DOUBLE, up, 0,
                  grid, &r[0]);
        MPI_Irecv(last_row + width, columns, MPI_DOUBLE,
                  down, 1, grid, &r[1]);
        MPI_Irecv(first - 1, 1, column, left, 2, grid, &r[2]);
        MPI_Irecv(first + columns, 1, column, right, 3, grid,
                  &r[3]);
        MPI_Isend(first, columns, MPI_DOUBLE, up, 1, grid,
                  &r[4]);
        MPI_Isend(last_row, columns, MPI_DOUBLE, down, 0,
                  grid, &r[5]);
        MPI_Isend(first, 1, column, left, 3, grid, &r[6]);
        MPI_Isend(first + columns - 1, 1, column, right, 2,
                  grid, &r[7]);
        MPI_Waitall(8, r, MPI_STATUSES_IGNORE);

        memcpy(old, cells, bytes);
        double sum = 0, all;
        for (int i = 1; i <= rows; i++)
            for (int j = 1; j <= columns; j++) {
                int at = i * width + j;
                cells[at] = 0.25 * (old[at - 1] + old[at + 1] +
                    old[at - width] + old[at + width]);
                sum += cells[at];
            }
        if (step % 25 == 0) {
            MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM,
                          grid);
            if (rank == 0)
                printf("step %d: heat %.6f\n", step, all);
        }
    }
    MPI_Type_free(&column);
    MPI_Comm_free(&grid);
    free(cells);
    free(old);
    MPI_Finalize();
}
