/* The communication patterns that `patterns` has in Rust, in C as one writes it. */
#include <mpi.h>
#include <stdlib.h>

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

static double dot(const double *a, const double *b, long length) {
    double mine = 0, all;
    for (long i = 0; i < length; i++)
        mine += a[i] * b[i];
    MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

/* A whole solver: conjugate gradients on the Laplacian of n by n by n points of each rank, which are in a row.
 * Each of the vectors x, r, p and q has a layer around its points. Begins again after each 25 steps. */
void c_conjugate_gradients(double *vectors, int n, int rounds) {
    long width = n + 2, layer = width * width, length = layer * width, own = layer * n;
    double *x = vectors, *r = x + length, *p = r + length, *q = p + length, square = 0;
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int round = 0; round < rounds; round++) {
        if (round % 25 == 0) {
            for (long i = 0; i < 4 * length; i++)
                vectors[i] = 0;
            for (int z = 1; z <= n; z++)
                for (int y = 1; y <= n; y++)
                    for (int at = 1; at <= n; at++)
                        r[at + width * (y + width * z)] = p[at + width * (y + width * z)] = 1;
            square = dot(r + layer, r + layer, own);
        }
        MPI_Request requests[2];
        int count = 0;
        if (rank > 0)
            MPI_Irecv(p, layer, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD, &requests[count++]);
        if (rank + 1 < size)
            MPI_Irecv(p + layer * (n + 1), layer, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD,
                      &requests[count++]);
        if (rank > 0)
            MPI_Send(p + layer, layer, MPI_DOUBLE, rank - 1, 0, MPI_COMM_WORLD);
        if (rank + 1 < size)
            MPI_Send(p + layer * n, layer, MPI_DOUBLE, rank + 1, 0, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++)
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        for (int z = 1; z <= n; z++)
            for (int y = 1; y <= n; y++) {
                const double *row = p + width * (y + width * z);
                double *result = q + width * (y + width * z);
                for (int at = 1; at <= n; at++)
                    result[at] = 6 * row[at] - row[at - 1] - row[at + 1] - row[at - width] -
                                 row[at + width] - row[at - layer] - row[at + layer];
            }
        double alpha = square / dot(p + layer, q + layer, own), before = square;
        for (long i = layer; i < layer + own; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        square = dot(r + layer, r + layer, own);
        for (long i = layer; i < layer + own; i++)
            p[i] = r[i] + square / before * p[i];
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

/* All processes' vectors, whose lengths they do not know of each other: the two calls and the memory that one cannot do without. */
void c_call_allgatherv_vec(const double *send, double *receive, int count, int rounds) {
    int size;
    MPI_Comm_size(MPI_COMM_SELF, &size);
    for (int i = 0; i < rounds; i++) {
        int *counts = malloc(size * sizeof *counts), *places = malloc(size * sizeof *places), sum = 0;
        MPI_Allgather(&count, 1, MPI_INT, counts, 1, MPI_INT, MPI_COMM_SELF);
        for (int rank = 0; rank < size; rank++) {
            places[rank] = sum;
            sum += counts[rank];
        }
        double *all = malloc(sum * sizeof *all);
        MPI_Allgatherv(send, count, MPI_DOUBLE, all, counts, places, MPI_DOUBLE, MPI_COMM_SELF);
        *receive = all[sum - 1];
        free(all);
        free(places);
        free(counts);
    }
}
