/* A tool that promises a function that it has not. */
#include "qmpi.h"

char *get_interceptions(int id)
{
    return id == _MPI_Send ? "Missing_Send" : "NULL";
}
