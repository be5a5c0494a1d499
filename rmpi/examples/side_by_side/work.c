/* The first process hands out work, and the others do it. */
#include <mpi.h>
#include <stdio.h>

enum { PARTS = 20, NUMBERS = 500 };
enum { WORK, STOP, RESULT };

struct chain { int start, steps; };

/* The longest way to 1 of the numbers of a part: half of an
   even number, or 3 n + 1. */
static struct chain longest(int part) {
    struct chain best = {0, -1};
    for (int i = 1; i <= NUMBERS; i++) {
        long n = part * NUMBERS + i;
        int start = n, steps = 0;
        for (; n != 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
        if (steps > best.steps)
            best = (struct chain){start, steps};
    }
    return best;
}

static int done;
static struct chain chains[PARTS];

static void hand_out(int *next, int worker) {
    int tag = *next < PARTS ? WORK : STOP;
    MPI_Send(next, 1, MPI_INT, worker, tag, MPI_COMM_WORLD);
    *next += tag == WORK;
    done += tag == STOP;
}

static void work(void) {
    for (;;) {
        int part;
        MPI_Status status;
        MPI_Recv(&part, 1, MPI_INT, 0, MPI_ANY_TAG,
                 MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == STOP) return;
        struct chain chain = longest(part);
        int result[3] = {part, chain.start, chain.steps};
        MPI_Send(result, 3, MPI_INT, 0, RESULT,
                 MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank, size, next = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank != 0) {
        work();
    } else {
        for (int worker = 1; worker < size; worker++)
            hand_out(&next, worker);
        while (done < size - 1) {
            int result[3];
            MPI_Status status;
            MPI_Recv(result, 3, MPI_INT, MPI_ANY_SOURCE,
                     RESULT, MPI_COMM_WORLD, &status);
            chains[result[0]] =
                (struct chain){result[1], result[2]};
            hand_out(&next, status.MPI_SOURCE);
        }
        /* A process without others does it alone. */
        for (; next < PARTS; next++)
            chains[next] = longest(next);
        for (int i = 0; i < PARTS; i += 5)
            printf("part %d: %d takes %d steps\n", i,
                   chains[i].start, chains[i].steps);
    }
    MPI_Finalize();
}
