/* Calls what it intercepts three times below it, and once from above. */
#include "qmpi.h"

int Recursive_Comm_rank(MPI_Comm comm, int *rank, int level, vector *v)
{
    static int above;
    void *next = NULL;
    int other;
    if (!above++)
        MPI_Comm_rank(comm, &other);
    QMPI_TABLE_QUERY(_MPI_Comm_rank, &next, VECTOR_GET(v, level)->table);
    for (int i = 0; i < 2; i++)
        EXEC_FUNC(next, level, _MPI_Comm_rank, v, comm, &other);
    return EXEC_FUNC(next, level, _MPI_Comm_rank, v, comm, rank);
}

char *get_interceptions(int id)
{
    return id == _MPI_Comm_rank ? "Recursive_Comm_rank" : "NULL";
}
