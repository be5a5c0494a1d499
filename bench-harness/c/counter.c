/* A PMPI tool in C that counts calls with relaxed atomic increments, and reports at the end. */
#include <stdatomic.h>
#include <stdio.h>

static _Atomic unsigned long counts[100];
#define BEFORE(function) atomic_fetch_add_explicit(&counts[function], 1, memory_order_relaxed)
#include "wrapper.h"

static const char *const names[] = {
#define FUNCTION(type, name, parameters, arguments) #name,
#include "programs.h"
};

__attribute__((destructor)) static void report(void)
{
    for (int i = 0; i < FUNCTIONS; i++)
        if (counts[i])
            fprintf(stderr, "MPI_%s: %lu\n", names[i], counts[i]);
}
