/* The communication patterns that `patterns` has in Rust, in C as one writes it. */
#include <mpi.h>

void c_ping_pong(double *buffer, int count, int rounds) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
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

void c_ping_pong_bytes(char *buffer, int count, int rounds) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            MPI_Send(buffer, count, MPI_UINT8_T, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, count, MPI_UINT8_T, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            MPI_Recv(buffer, count, MPI_UINT8_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, count, MPI_UINT8_T, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* Windows of 16 messages, acknowledged. */
void c_bandwidth(char *buffer, int count, int rounds) {
    int rank;
    char done = 0;
    MPI_Request requests[16];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            for (int k = 0; k < 16; k++)
                MPI_Isend(buffer, count, MPI_UINT8_T, 1, 0, MPI_COMM_WORLD, &requests[k]);
            MPI_Waitall(16, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&done, 1, MPI_UINT8_T, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == 1) {
            for (int k = 0; k < 16; k++)
                MPI_Irecv(buffer + (long)k * count, count, MPI_UINT8_T, 0, 0, MPI_COMM_WORLD,
                          &requests[k]);
            MPI_Waitall(16, requests, MPI_STATUSES_IGNORE);
            MPI_Send(&done, 1, MPI_UINT8_T, 0, 1, MPI_COMM_WORLD);
        }
    }
}

void c_allreduce(const double *send, double *receive, int count, int rounds) {
    for (int i = 0; i < rounds; i++)
        MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

void c_alltoall(const double *send, double *receive, int count, int rounds) {
    for (int i = 0; i < rounds; i++)
        MPI_Alltoall(send, count, MPI_DOUBLE, receive, count, MPI_DOUBLE, MPI_COMM_WORLD);
}

/* Rank 0 sends to all others, and hears from each. */
void c_one_to_many(double *buffer, int count, int rounds) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < rounds; i++) {
        if (rank == 0) {
            for (int other = 1; other < size; other++)
                MPI_Send(buffer, count, MPI_DOUBLE, other, 0, MPI_COMM_WORLD);
            for (int other = 1; other < size; other++)
                MPI_Recv(buffer, count, MPI_DOUBLE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, count, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

/* Calls that cost as little as MPI can: what is left is the language's. */
void c_call_rank(int rounds) {
    int rank;
    for (int i = 0; i < rounds; i++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

void c_call_send(double *buffer, int count, int rounds) {
    for (int i = 0; i < rounds; i++)
        MPI_Send(buffer, count, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
}

void c_call_isend_wait(double *buffer, int count, int rounds) {
    MPI_Request request;
    for (int i = 0; i < rounds; i++) {
        MPI_Isend(buffer, count, MPI_DOUBLE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

void c_call_allreduce(const double *send, double *receive, int count, int rounds) {
    for (int i = 0; i < rounds; i++)
        MPI_Allreduce(send, receive, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
}
