/* A tool for TUM's QMPI that does nothing with the functions of programs.h, as its examples are written. */
#include "qmpi.h"

#include <string.h>

#define NEXT(name)                                                                                 \
    void *next = NULL;                                                                             \
    QMPI_TABLE_QUERY(_MPI_##name, &next, VECTOR_GET(v, level)->table);
#define ALL(...) __VA_ARGS__
#define PARAMETERS(...) (__VA_ARGS__, int level, vector *v)
#define EXECUTE(name, ...) EXEC_FUNC(next, level, _MPI_##name, v, __VA_ARGS__)

#define FUNCTION(type, name, parameters, arguments)                                                \
    type Empty_##name PARAMETERS parameters                                                        \
    {                                                                                              \
        NEXT(name)                                                                                 \
        return EXECUTE(name, ALL arguments);                                                       \
    }
#define FUNCTION0(type, name)                                                                      \
    type Empty_##name(int level, vector *v)                                                        \
    {                                                                                              \
        NEXT(name)                                                                                 \
        return EXEC_FUNC(next, level, _MPI_##name, v);                                             \
    }
#include "programs.h"
#undef FUNCTION
#undef FUNCTION0

char *get_interceptions(int id)
{
    switch (id) {
#define FUNCTION(type, name, parameters, arguments)                                                \
    case _MPI_##name: return "Empty_" #name;
#define FUNCTION0(type, name) FUNCTION(type, name, , )
#include "programs.h"
    default: return "NULL";
    }
}
