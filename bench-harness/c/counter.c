/* A PMPI tool in C that counts calls with relaxed atomic increments, and reports at the end. */
#include <stdatomic.h>
#include <stdio.h>

static _Atomic unsigned long counts[4];
#define BEFORE(function) atomic_fetch_add_explicit(&counts[function], 1, memory_order_relaxed)
#include "wrapper.h"

__attribute__((destructor)) static void report(void)
{
    for (int i = 0; i < 4; i++)
        if (counts[i])
            fprintf(stderr, "%d: %lu\n", i, counts[i]);
}
