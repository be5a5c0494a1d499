/* What `amg` does, by hypre: conjugate gradients with BoomerAMG, which AMG 2006 is made of, on the same
 * Laplacian of a box.
 *
 *   boomeramg -P PX PY PZ -n NX NY NZ
 *
 * It checks itself, too: a right side whose solution is known in closed form. */
#include <mpi.h>

#include <HYPRE.h>
#include <HYPRE_IJ_mv.h>
#include <HYPRE_krylov.h>
#include <HYPRE_parcsr_ls.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int points[3] = {16, 16, 16}, processes[3] = {1, 1, 1}, place[3];

/* The number of a point, over all ranks: those of a rank are consecutive. */
static HYPRE_BigInt number(const int at[3])
{
    const int *p = processes, *n = points;
    int rank = at[0] / n[0] + p[0] * (at[1] / n[1] + p[1] * (at[2] / n[2]));
    int local = at[0] % n[0] + n[0] * (at[1] % n[1] + n[1] * (at[2] % n[2]));
    return (HYPRE_BigInt)rank * n[0] * n[1] * n[2] + local;
}

static void where(int row, int at[3])
{
    int local[3] = {row % points[0], row / points[0] % points[1], row / points[0] / points[1]};
    for (int axis = 0; axis < 3; axis++)
        at[axis] = place[axis] * points[axis] + local[axis];
}

static double wave(int row)
{
    int at[3];
    double product = 1;
    where(row, at);
    for (int axis = 0; axis < 3; axis++)
        product *= sin(M_PI * (at[axis] + 1) / (points[axis] * processes[axis] + 1));
    return product;
}

static HYPRE_IJVector vector(HYPRE_BigInt first, int own)
{
    HYPRE_IJVector vector;
    HYPRE_IJVectorCreate(MPI_COMM_WORLD, first, first + own - 1, &vector);
    HYPRE_IJVectorSetObjectType(vector, HYPRE_PARCSR);
    HYPRE_IJVectorInitialize(vector);
    return vector;
}

static HYPRE_ParVector filled(HYPRE_IJVector vector, HYPRE_BigInt first, int own, const double *values)
{
    void *object;
    for (int row = 0; row < own; row++) {
        HYPRE_BigInt index = first + row;
        HYPRE_IJVectorSetValues(vector, 1, &index, &values[row]);
    }
    HYPRE_IJVectorAssemble(vector);
    HYPRE_IJVectorGetObject(vector, &object);
    return object;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    processes[0] = ranks;
    for (int i = 1; i + 3 < argc; i++)
        for (int axis = 0; axis < 3; axis++) {
            if (strcmp(argv[i], "-n") == 0)
                points[axis] = atoi(argv[i + 1 + axis]);
            if (strcmp(argv[i], "-P") == 0)
                processes[axis] = atoi(argv[i + 1 + axis]);
        }
    if (processes[0] * processes[1] * processes[2] != ranks) {
        fprintf(stderr, "%d ranks, but -P makes another number of them\n", ranks);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    place[0] = rank % processes[0];
    place[1] = rank / processes[0] % processes[1];
    place[2] = rank / processes[0] / processes[1];
    int own = points[0] * points[1] * points[2];
    HYPRE_BigInt first = (HYPRE_BigInt)rank * own;
    HYPRE_Init();

    double start = MPI_Wtime();
    HYPRE_IJMatrix matrix;
    HYPRE_IJMatrixCreate(MPI_COMM_WORLD, first, first + own - 1, first, first + own - 1, &matrix);
    HYPRE_IJMatrixSetObjectType(matrix, HYPRE_PARCSR);
    HYPRE_IJMatrixInitialize(matrix);
    for (int row = 0; row < own; row++) {
        int at[3], entries = 1;
        where(row, at);
        HYPRE_BigInt index = first + row, columns[7] = {index};
        double values[7] = {6};
        for (int axis = 0; axis < 3; axis++)
            for (int step = -1; step <= 1; step += 2) {
                int there[3] = {at[0], at[1], at[2]};
                there[axis] += step;
                if (there[axis] < 0 || there[axis] >= points[axis] * processes[axis])
                    continue;
                columns[entries] = number(there);
                values[entries++] = -1;
            }
        HYPRE_IJMatrixSetValues(matrix, 1, &entries, &index, columns, values);
    }
    HYPRE_IJMatrixAssemble(matrix);
    void *a;
    HYPRE_IJMatrixGetObject(matrix, &a);

    double exact = 0, discrete = 0;
    for (int axis = 0; axis < 3; axis++) {
        double angle = M_PI / (points[axis] * processes[axis] + 1);
        exact += angle * angle;
        discrete += 4 * sin(angle / 2) * sin(angle / 2);
    }
    double *values = malloc(own * sizeof *values);
    for (int row = 0; row < own; row++)
        values[row] = exact * wave(row);
    HYPRE_ParVector right_wave = filled(vector(first, own), first, own, values);
    for (int row = 0; row < own; row++)
        values[row] = 1;
    HYPRE_ParVector right = filled(vector(first, own), first, own, values);
    memset(values, 0, own * sizeof *values);
    HYPRE_IJVector solution = vector(first, own);
    HYPRE_ParVector x = filled(solution, first, own, values);

    HYPRE_Solver solver, preconditioner;
    HYPRE_ParCSRPCGCreate(MPI_COMM_WORLD, &solver);
    HYPRE_PCGSetMaxIter(solver, 100);
    HYPRE_PCGSetTwoNorm(solver, 1);
    HYPRE_PCGSetTol(solver, 1e-8);
    HYPRE_BoomerAMGCreate(&preconditioner);
    HYPRE_BoomerAMGSetMaxIter(preconditioner, 1);
    HYPRE_BoomerAMGSetTol(preconditioner, 0);
    HYPRE_BoomerAMGSetRelaxType(preconditioner, 6); /* symmetric, which conjugate gradients want */
    HYPRE_PCGSetPrecond(solver, (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSolve,
                        (HYPRE_PtrToSolverFcn)HYPRE_BoomerAMGSetup, preconditioner);
    HYPRE_ParCSRPCGSetup(solver, a, right, x);
    double setup = MPI_Wtime() - start;

    int iterations, more;
    start = MPI_Wtime();
    HYPRE_ParCSRPCGSolve(solver, a, right, x);
    double seconds = MPI_Wtime() - start;
    HYPRE_PCGGetNumIterations(solver, &iterations);

    HYPRE_PCGSetTol(solver, 1e-12);
    HYPRE_ParCSRPCGSolve(solver, a, right_wave, x);
    HYPRE_PCGGetNumIterations(solver, &more);
    double error = 0, wrong = 0, height = 0;
    for (int row = 0; row < own; row++) {
        HYPRE_BigInt index = first + row;
        double value, here = wave(row);
        HYPRE_IJVectorGetValues(solution, 1, &index, &value);
        error = fmax(error, fabs(value - here));
        wrong = fmax(wrong, fabs(value - exact / discrete * here));
        height = fmax(height, here);
    }
    double mine[3] = {error, wrong, height}, all[3];
    MPI_Allreduce(mine, all, 3, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    double expected = (exact / discrete - 1) * all[2];
    if (rank == 0) {
        printf("setup seconds: %.6f\n", setup);
        printf("iterations: %d and %d\n", iterations, more);
        printf("solve seconds: %.6f\n", seconds);
        printf("discretisation error: %.6e (%.6e in theory)\n", all[0], expected);
    }
    if (iterations > 20 || all[1] > 1e-3 * expected) {
        fprintf(stderr, "the results are not those of this problem\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    HYPRE_Finalize();
    MPI_Finalize();
    return 0;
}
