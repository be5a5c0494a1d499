/* The program of `mpi-tool demo` and `mpi-tool doctor`: the temperature of a rod, in pieces.
 *
 * Each rank has a piece of the rod, computes new temperatures from old ones, and exchanges those at its ends with its
 * neighbours. The work is unequal on purpose: later ranks compute more finely, so earlier ranks wait for them.
 *
 *   example ABI STEPS        ABI is mpich, openmpi or standard; starts on any number of ranks
 *
 * It runs under every MPI without being compiled for it: it includes no mpi.h and is linked to no MPI. It calls the MPI
 * that is preloaded (LD_PRELOAD), through the tools that are preloaded before it, as mpi-tool starts it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A handle. Where an ABI's handles are ints, MPI reads the lower half of the register. */
typedef intptr_t handle;

static struct {
    handle world, type_double, sum;
    void *ignore;
} mpi;

static int (*init)(int *, char ***);
static int (*finalize)(void);
static int (*comm_rank)(handle, int *);
static int (*comm_size)(handle, int *);
static int (*sendrecv)(const void *, int, handle, int, int, void *, int, handle, int, int, handle, void *);
static int (*allreduce)(const void *, void *, int, handle, handle, handle);

/* What comes first in this process under a name: a tool's function, or MPI's. */
static void *found(const char *name)
{
    void *function = dlsym(RTLD_DEFAULT, name);
    if (!function) {
        fprintf(stderr, "example: %s is in no library of this process; start it by `mpi-tool demo`\n", name);
        exit(3);
    }
    return function;
}

/* The values of three ABIs, as their mpi.h have them. Open MPI's handles are addresses. */
static void choose(const char *abi)
{
    if (!strcmp(abi, "mpich")) {
        mpi.world = 0x44000000, mpi.type_double = 0x4c00080b, mpi.sum = 0x58000003, mpi.ignore = (void *)1;
    } else if (!strcmp(abi, "standard")) {
        mpi.world = 0x101, mpi.type_double = 0x214, mpi.sum = 0x21, mpi.ignore = 0;
    } else if (!strcmp(abi, "openmpi")) {
        mpi.world = (handle)found("ompi_mpi_comm_world");
        mpi.type_double = (handle)found("ompi_mpi_double");
        mpi.sum = (handle)found("ompi_mpi_op_sum");
        mpi.ignore = 0;
    } else {
        fprintf(stderr, "example: %s is no ABI: mpich, openmpi or standard\n", abi);
        exit(2);
    }
    *(void **)&init = found("MPI_Init");
    *(void **)&finalize = found("MPI_Finalize");
    *(void **)&comm_rank = found("MPI_Comm_rank");
    *(void **)&comm_size = found("MPI_Comm_size");
    *(void **)&sendrecv = found("MPI_Sendrecv");
    *(void **)&allreduce = found("MPI_Allreduce");
}

enum { CELLS = 2000 };

static int rank, ranks;
static double rod[CELLS + 2], next[CELLS + 2];

/* Sends the temperature at one end to a neighbour, and gets that of the neighbour's end. The rod is a ring. */
__attribute__((noinline)) static void exchange(void)
{
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    sendrecv(&rod[CELLS], 1, mpi.type_double, right, 0, &rod[0], 1, mpi.type_double, left, 0, mpi.world, mpi.ignore);
    sendrecv(&rod[1], 1, mpi.type_double, left, 1, &rod[CELLS + 1], 1, mpi.type_double, right, 1, mpi.world,
             mpi.ignore);
}

/* New temperatures. A rank computes the more sweeps the higher its number is. */
__attribute__((noinline)) static double compute(void)
{
    double change = 0;
    for (int sweep = 0; sweep < 500 * (rank + 1); sweep++) {
        change = 0;
        for (int cell = 1; cell <= CELLS; cell++) {
            next[cell] = rod[cell] + 0.2 * (rod[cell - 1] - 2 * rod[cell] + rod[cell + 1]);
            change += fabs(next[cell] - rod[cell]);
        }
        memcpy(&rod[1], &next[1], CELLS * sizeof *rod);
    }
    return change;
}

/* How much the whole rod has changed. */
__attribute__((noinline)) static double all_changes(double change)
{
    double sum = 0;
    allreduce(&change, &sum, 1, mpi.type_double, mpi.sum, mpi.world);
    return sum;
}

__attribute__((noinline)) static double solve(int steps)
{
    double change = 0;
    for (int step = 0; step < steps; step++) {
        exchange();
        change = all_changes(compute());
    }
    return change;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: example ABI STEPS (as `mpi-tool demo` starts it)\n");
        return 2;
    }
    choose(argv[1]);
    init(&argc, &argv);
    comm_rank(mpi.world, &rank);
    comm_size(mpi.world, &ranks);
    for (int cell = 1; cell <= CELLS; cell++)
        rod[cell] = rank == 0 && cell < CELLS / 2;
    double change = solve(atoi(argv[2]));
    if (rank == 0)
        printf("example: %d ranks, %s steps, last change %.3g\n", ranks, argv[2], change);
    return finalize();
}
