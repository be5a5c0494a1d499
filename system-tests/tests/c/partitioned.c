/* Partitioned communication: messages whose parts are declared ready one by one, in ranges and
 * in lists, with as many parts on both sides or not, and whose arrival is asked for by part.
 * Needs 2 ranks or more. */
#include "expect.h"

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
#ifdef HAVE_MPI_Psend_init
    enum { PARTS = 8, LENGTH = 16, ALL = PARTS * LENGTH };
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double out[ALL], in[ALL];
    MPI_Request requests[2];

    /* First with the same parts on both sides, then with half as many that are twice as long. */
    for (int halves = 0; halves < 2; halves++) {
        int parts = halves ? PARTS / 2 : PARTS, length = ALL / parts, flag;
        MPI_Psend_init(out, PARTS, LENGTH, MPI_DOUBLE, right, halves, MPI_COMM_WORLD,
                       MPI_INFO_NULL, &requests[0]);
        MPI_Precv_init(in, parts, length, MPI_DOUBLE, left, halves, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[1]);
        for (int round = 0; round < 6; round++) {
            for (int i = 0; i < ALL; i++) {
                out[i] = rank * 1e6 + round * 1e3 + i;
                in[i] = -1;
            }
            if (round % 2 == 0) {
                MPI_Startall(2, requests);
            } else {
                MPI_Start(&requests[0]);
                MPI_Start(&requests[1]);
            }
            switch (round % 3) {
            case 0:
                for (int i = PARTS - 1; i >= 0; i--)
                    MPI_Pready(i, requests[0]);
                break;
            case 1:
                MPI_Pready_range(4, PARTS - 1, requests[0]);
                MPI_Pready_range(0, 0, requests[0]);
                MPI_Pready_range(1, 3, requests[0]);
                break;
            case 2:
                MPI_Pready_list(4, (int[]){7, 1, 5, 3}, requests[0]);
                MPI_Pready_list(1, (int[]){2}, requests[0]);
                MPI_Pready_list(3, (int[]){0, 4, 6}, requests[0]);
                break;
            }
            for (int i = 0; i < parts && round < 3; i++) {
                for (flag = 0; !flag;)
                    MPI_Parrived(requests[1], i, &flag);
                CHECK(in[i * length] == left * 1e6 + round * 1e3 + i * length);
            }
            MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            for (int i = 0; i < ALL; i++)
                CHECK(in[i] == left * 1e6 + round * 1e3 + i);
        }
        MPI_Request_free(&requests[0]);
        MPI_Request_free(&requests[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            printf("%s\n", halves ? "different parts ok" : "same parts ok");
    }
#else
    if (rank == 0)
        printf("no partitioned communication\n");
#endif
    MPI_Finalize();
    return 0;
}
