/* A right program: rank 1 waits for a word that rank 0 puts into its window behind the data, as programs do that look at memory which
 * others change. What the other rank has flushed before the word is there. 2 ranks. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
    int r, *memory, sum = 0;
    MPI_Win win;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &r);
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    memory[0] = memory[1] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    for (int round = 1; round <= 50; round++) {
        int data = round, flag;
        if (r == 0) {
            MPI_Put(&data, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
            MPI_Put(&round, 1, MPI_INT, 1, 1, 1, MPI_INT, win);
            MPI_Win_flush(1, win);
        } else {
            while (*(volatile int *)&memory[1] != round) {
                MPI_Win_sync(win);
                MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
            }
            sum += memory[0];
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(win);
    if (r == 1) printf("%d\n", sum);
    MPI_Win_free(&win);
    MPI_Finalize();
    puts("done");
    return 0;
}
