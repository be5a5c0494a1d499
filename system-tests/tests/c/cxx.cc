// C++: a static object whose constructor calls MPI before main, and whose destructor calls MPI
// after MPI_Finalize.
#include <cstdio>

// Leaves out the C++ bindings that MPI-3.0 removed and that old headers still bring.
#define MPICH_SKIP_MPICXX 1
#define OMPI_SKIP_MPICXX 1
#include "expect.h"

namespace {

class Witness {
  public:
    Witness()
    {
        int initialized = -1, finalized = -1;
        MPI_Initialized(&initialized);
        MPI_Finalized(&finalized);
        CHECK(!initialized && !finalized);
    }

    ~Witness()
    {
        int finalized = -1;
        MPI_Finalized(&finalized);
        CHECK(finalized);
        if (tells)
            std::printf("the witness saw the end\n");
    }

    bool tells = false;
};

Witness witness;

} // namespace

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, sum = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        CHECK(sum == size * (size - 1) / 2);
        std::printf("sum %d\n", sum);
        witness.tells = true;
    }
    MPI_Finalize();
    return 0;
}
