/* What the example tools of mpi-tool-layer are tried with: ./authors WHAT FILE. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int handled;

static void handler(MPI_Comm *comm, int *error, ...)
{
    int class;
    (void)comm;
    MPI_Error_class(*error, &class);
    handled += class == MPI_ERR_OTHER;
}

/* Six sends of each rank to itself. */
static void sends(int rank)
{
    MPI_Errhandler counted;
    int failed = 0, value = 7, got;
    MPI_Comm_create_errhandler(handler, &counted);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, counted);
    for (int i = 0; i < 6; i++) {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &request);
        if (MPI_Send(&value, 1, MPI_INT, rank, i, MPI_COMM_WORLD) != MPI_SUCCESS) {
            failed++;
            MPI_Cancel(&request);
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    printf("rank %d: %d failed, %d handled\n", rank, failed, handled);
    MPI_Errhandler_free(&counted);
}

/* Rank 0 writes 16 bytes at 32 and, without waiting, 8 bytes at 64; all read the 8. */
static void accesses(int rank, char *name)
{
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    char data[16] = "0123456789abcde";
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    if (rank == 0) {
        MPI_File_write_at(file, 32, data, 16, MPI_CHAR, &status);
        MPI_File_iwrite_at(file, 64, data, 2, MPI_INT, &request);
        MPI_Wait(&request, &status);
    }
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    MPI_File_read_at_all(file, 64, data, 8, MPI_CHAR, &status);
    MPI_File_close(&file);
}

/* Sixty-four megabytes in phase 1. */
static void memory(void)
{
    size_t size = 64 << 20;
    MPI_Pcontrol(1);
    volatile char *much = malloc(size);
    for (size_t at = 0; at < size; at += 1024) much[at] = 1;
    MPI_Pcontrol(2);
    free((void *)much);
    MPI_Pcontrol(0);
}

/* Rank 1 sends three messages of 4 bytes and one of 4,000 to rank 0, which receives some of them later. */
static void messages(int rank)
{
    static int data[1000], small[3];
    MPI_Request requests[2];
    if (rank == 1) {
        for (int i = 0; i < 3; i++) MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        MPI_Send(data, 1000, MPI_INT, 0, 6, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Irecv(&small[0], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(data, 1000, MPI_INT, MPI_ANY_SOURCE, 6, MPI_COMM_WORLD, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Recv(&small[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&small[2], 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (!strcmp(argv[1], "sends")) sends(rank);
    if (!strcmp(argv[1], "accesses")) accesses(rank, argv[2]);
    if (!strcmp(argv[1], "memory")) memory();
    if (!strcmp(argv[1], "messages")) messages(rank);
    MPI_Finalize();
    return 0;
}
