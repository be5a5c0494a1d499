/* What MPI-4 lets a program free after MPI_Finalize: `./late WHEN`, with `after`, `atexit` or `destructor`; anything else leaves it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static MPI_Info before, during;
static const char *when = "";

static void free_all(void)
{
    MPI_Info_free(&before);
    MPI_Info_free(&during);
}

__attribute__((destructor)) static void at_the_end(void)
{
    if (!strcmp(when, "destructor")) free_all();
}

int main(int argc, char **argv)
{
    when = argc > 1 ? argv[1] : "";
    if (!strcmp(when, "atexit")) atexit(free_all);
#if MPI_VERSION >= 4
    MPI_Info_create(&before);
    MPI_Init(&argc, &argv);
#else
    MPI_Init(&argc, &argv);
    MPI_Info_create(&before);
#endif
    MPI_Info_dup(before, &during); /* LEFT */
#if MPI_VERSION < 4
    free_all();
    when = "";
#endif
    MPI_Finalize();
    if (!strcmp(when, "after")) {
        free_all();
        /* Others may have the same handles. */
        MPI_Info_create(&before);
        MPI_Info_set(before, "key", "value");
        MPI_Info_free(&before);
    }
    printf("over %d\n", MPI_VERSION);
    return 0;
}
