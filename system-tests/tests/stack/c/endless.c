/* Calls MPI_Comm_rank whenever MPI_Comm_rank is called. */
#include "qmpi.h"

int Endless_Comm_rank(MPI_Comm comm, int *rank, int level, vector *v)
{
    volatile char room[1000];
    room[0] = (char)level;
    (void)v;
    return MPI_Comm_rank(comm, rank) + room[0] - (char)level;
}

char *get_interceptions(int id)
{
    return id == _MPI_Comm_rank ? "Endless_Comm_rank" : "NULL";
}
