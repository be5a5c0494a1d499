/* Every rank ends itself by SIGTERM, as a batch system ends a job at its time limit. With more
 * than one, the launcher may kill a rank before it comes to that. */
#include <signal.h>

#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    for (int round = 0; round < 10; round++)
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        printf("now terminate\n");
        fflush(stdout);
    }

    /* No rank ends before all have written their counts, which have the barrier in them. */
    expect_call("MPI_Barrier");
    expect_write();
    (MPI_Barrier)(MPI_COMM_WORLD);
    raise(SIGTERM);
    return 1;
}
