/* What one-sided communication moves: each transfer, to another process, to oneself and to nobody,
 * on a window whose ranks are not the world's. Needs 2 ranks or more. */
#include "moved.h"

#pragma GCC diagnostic ignored "-Wstringop-overflow"

#define R "one-sided"

#define NAME(name) name##_int
#define F(function) function
#include "bandwidth_onesided_forms.h"

#ifdef HAVE_MPI_Put_c
#define NAME(name) name##_large
#define F(function) function##_c
#include "bandwidth_onesided_forms.h"
#endif

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, here;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    MPI_Comm_rank(reversed, &here);
    double *memory;
    MPI_Win win;
    MPI_Win_allocate(64 * sizeof *memory, sizeof *memory, MPI_INFO_NULL, reversed, &memory, &win);
    memset(memory, 0, 64 * sizeof *memory);
    MPI_Barrier(reversed);
    MPI_Win_lock_all(0, win);
    const int targets[] = {(here + 1) % size, here, MPI_PROC_NULL};
    for (int i = 0; i < 3; i++) {
        const int target = targets[i], there = target != MPI_PROC_NULL;
        transfers_int(win, target);
#ifdef HAVE_MPI_Put_c
        transfers_large(win, target);
#endif
        long x = 1, y = 0, old = 5;
        MPI_Fetch_and_op(&x, &old, MPI_LONG, target, 16, MPI_SUM, win);
        MPI_Win_flush_all(win);
        moved(REDUCED, R, "MPI_LONG", there);
        MPI_Fetch_and_op(&x, &old, MPI_LONG, target, 16, MPI_REPLACE, win);
        MPI_Win_flush_all(win);
        moved(SENT, R, "MPI_LONG", there);
        MPI_Fetch_and_op(NULL, &old, MPI_LONG, target, 16, MPI_NO_OP, win);
        MPI_Win_flush_all(win);
        MPI_Compare_and_swap(&x, &y, &old, MPI_LONG, target, 16, win);
        MPI_Win_flush_all(win);
        moved(SENT, R, "MPI_LONG", there);
        moved(RECEIVED, R, "MPI_LONG", there * 4);
    }
    MPI_Win_unlock_all(win);

    /* Every other int of six, into three in a row: by what they are made of, on this side. */
    MPI_Datatype every_other;
    int gaps[6] = {0};
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Win_fence(0, win);
    MPI_Put(gaps, 1, every_other, (here + 1) % size, 32, 3, MPI_INT, win);
    moved(SENT, R, "MPI_INT", 3);
    MPI_Win_fence(0, win);
    MPI_Get(gaps, 1, every_other, (here + 1) % size, 32, 3, MPI_INT, win);
    moved(RECEIVED, R, "MPI_INT", 3);
    MPI_Win_fence(0, win);
    MPI_Type_free(&every_other);
    MPI_Win_free(&win);
    MPI_Comm_free(&reversed);
    MPI_Finalize();
    return 0;
}
