/* Two phases on two hosts. Phase 2: the first rank of host1 works for 0.4 s and all others for 0.2 s. Phase 3: all ranks
   of host1 work for 0.4 s and those of host2 for 0.2 s. All wait for each other at the end of each. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void works(int phase, int milliseconds)
{
    MPI_Pcontrol(phase);
    usleep(milliseconds * 1000);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Pcontrol(-phase);
}

int main(int argc, char **argv)
{
    int rank, ranks, place, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Comm host;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(name, &length);
    printf("rank %d of %d is on %s\n", rank, ranks, name);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_free(&host);
    int is_first = strncmp(name, "host1", 5) == 0;
    MPI_Barrier(MPI_COMM_WORLD);
    works(2, is_first && place == 0 ? 400 : 200);
    works(3, is_first ? 400 : 200);
    MPI_Finalize();
    return 0;
}
