/* Objects that are there before MPI_Init or after MPI_Finalize: `./outside freed` or `./outside left`. Before MPI-4 there are none. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
#if MPI_VERSION >= 4
    int is_freed = argc > 1 && !strcmp(argv[1], "freed");
    MPI_Info before, during;
    MPI_Session session;
    MPI_Info_create(&before);
    MPI_Info_set(before, "key", "value");
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session); /* SESSION */
    MPI_Init(&argc, &argv);
    MPI_Info_dup(before, &during);
    MPI_Info_free(&before);
    MPI_Finalize();
    MPI_Info_free(&during);
    MPI_Info_create(&before);
    MPI_Info_free(&before);
    if (is_freed) MPI_Session_finalize(&session);
    puts("with a session");
#else
    MPI_Init(&argc, &argv);
    MPI_Finalize();
#endif
    return 0;
}
