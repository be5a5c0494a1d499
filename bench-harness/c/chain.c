/* A tool that does nothing and can be preloaded often, under other names: the next one is found once, when
 * it is loaded. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>

#define FUNCTION(type, name, parameters, arguments)                                                \
    static type(*next_##name) parameters;                                                          \
    type MPI_##name parameters                                                                     \
    {                                                                                              \
        return next_##name arguments;                                                              \
    }
#include "programs.h"
#undef FUNCTION

__attribute__((constructor)) static void find(void)
{
#define FUNCTION(type, name, parameters, arguments)                                                \
    *(void **)&next_##name = dlsym(RTLD_NEXT, "MPI_" #name);
#include "programs.h"
}
