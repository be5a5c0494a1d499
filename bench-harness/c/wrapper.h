/* A PMPI tool for the functions of programs.h: BEFORE(MPI_X) is what it does at a call. */
#include <mpi.h>

enum {
#define FUNCTION(type, name, parameters, arguments) F_##name,
#include "programs.h"
#undef FUNCTION
    FUNCTIONS
};

#define FUNCTION(type, name, parameters, arguments)                                                \
    type MPI_##name parameters                                                                     \
    {                                                                                              \
        BEFORE(F_##name);                                                                          \
        return PMPI_##name arguments;                                                              \
    }
#include "programs.h"
#undef FUNCTION
