/* An array in a file, of which each process has a part. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 12, COLUMNS = 24 };

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 1);
    int rank, size, dims[2] = {0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);

    /* A block of the array for each process. */
    MPI_Dims_create(size, 2, dims);
    int all[2] = {ROWS, COLUMNS};
    int mine[2] = {ROWS / dims[0], COLUMNS / dims[1]};
    int start[2] = {rank / dims[1] * mine[0],
                    rank % dims[1] * mine[1]};
    int count = mine[0] * mine[1];
    double *block = malloc(count * sizeof *block);
    for (int i = 0; i < count; i++) {
        int row = start[0] + i / mine[1];
        int column = start[1] + i % mine[1];
        block[i] = row * COLUMNS + column;
    }

    MPI_File file;
    int error = MPI_File_open(MPI_COMM_WORLD, argv[1],
        MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (error != MPI_SUCCESS) MPI_Abort(MPI_COMM_WORLD, 1);
    /* Files return errors, which nobody would see. */
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    MPI_Datatype part;
    MPI_Type_create_subarray(2, all, mine, start, MPI_ORDER_C,
                             MPI_DOUBLE, &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(file, 0, MPI_DOUBLE, part, "native",
                      MPI_INFO_NULL);
    MPI_File_write_all(file, block, count, MPI_DOUBLE,
                       MPI_STATUS_IGNORE);
    MPI_Type_free(&part);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);

    /* Now whole columns, which others have written. */
    int columns[2] = {ROWS, COLUMNS / size};
    int first[2] = {0, rank * columns[1]};
    MPI_Type_create_subarray(2, all, columns, first,
                             MPI_ORDER_C, MPI_DOUBLE, &part);
    MPI_Type_commit(&part);
    MPI_File_set_view(file, 0, MPI_DOUBLE, part, "native",
                      MPI_INFO_NULL);
    count = columns[0] * columns[1];
    block = realloc(block, count * sizeof *block);
    MPI_Status status;
    MPI_File_read_all(file, block, count, MPI_DOUBLE, &status);
    int got;
    MPI_Get_count(&status, MPI_DOUBLE, &got);
    MPI_Type_free(&part);
    MPI_File_close(&file);

    double sum = 0, sums[COLUMNS];
    for (int i = 0; i < got; i++) sum += block[i];
    MPI_Gather(&sum, 1, MPI_DOUBLE, sums, 1, MPI_DOUBLE, 0,
               MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < size; i++)
        printf("columns from %d: sum %.1f\n", i * columns[1],
               sums[i]);
    free(block);
    MPI_Finalize();
}
