// Calls from places that the program says itself, as sites.c: "site FUNCTION LINES COUNT".
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

#include <mpi.h>

// Keeps a call from being the last thing that its function does, which the compiler would make a jump.
#define STAY __asm__ volatile("" ::: "memory")
#define APART __attribute__((noinline, noclone))

// The tools do not see this call.
static bool is_first()
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

static void site(const char *lines, int a, int b, int c, int count)
{
    char text[200];
    std::snprintf(text, sizeof text, lines, a, b, c);
    if (is_first())
        std::printf("site MPI_Barrier %s %d\n", text, count);
}

namespace of_the_program {

template <typename T> struct Field {
    std::vector<T> values = std::vector<T>(3);
    enum { METHOD = __LINE__ + 1 };
    APART T sum() const { MPI_Barrier(MPI_COMM_WORLD); STAY; return std::accumulate(values.begin(), values.end(), T()); }
};

struct Base {
    virtual ~Base() = default;
    virtual int work() = 0;
};

struct Derived : Base {
    enum { VIRTUAL = __LINE__ + 1 };
    APART int work() override { MPI_Barrier(MPI_COMM_WORLD); STAY; return 1; }
    enum { DESTRUCTOR = __LINE__ + 1 };
    APART ~Derived() override { MPI_Barrier(MPI_COMM_WORLD); STAY; }
};

enum { INLINED = __LINE__ + 1 };
__attribute__((always_inline)) inline void inlined() { MPI_Barrier(MPI_COMM_WORLD); STAY; }

enum { THROWS = __LINE__ + 1 };
APART void throws() { MPI_Barrier(MPI_COMM_WORLD); STAY; throw 7; }

} // namespace of_the_program

using namespace of_the_program;

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);

    int line = __LINE__ + 2;
    for (int i = 0; i < 10; i++) {
        Field<double>().sum(); STAY;
    }
    site("sites.cc:%d / sites.cc:%d /", Field<double>::METHOD, line, 0, 10);

    auto base = std::make_unique<Derived>();
    Base *pointer = base.get();
    __asm__ volatile("" : "+r"(pointer));
    line = __LINE__ + 1;
    pointer->work(); STAY;
    site("sites.cc:%d / sites.cc:%d /", Derived::VIRTUAL, line, 0, 1);
    base.release();
    line = __LINE__ + 1;
    delete pointer; STAY;
    // The destructor that frees the memory, too, is a function that calls the other one.
    site("sites.cc:%d / sites.cc:%d / sites.cc:%d /", Derived::DESTRUCTOR, Derived::DESTRUCTOR, line, 1);

    int place = __LINE__ + 1;
    inlined();
    site("sites.cc:%d sites.cc:%d /", INLINED, place, 0, 1);

    int caught = __LINE__ + 3;
    for (int i = 0; i < 5; i++) {
        try {
            throws();
        } catch (int) {
            STAY;
        }
    }
    site("sites.cc:%d / sites.cc:%d /", THROWS, caught, 0, 5);

    int lambda_line = __LINE__ + 1;
    auto lambda = [](int n) __attribute__((noinline)) { MPI_Barrier(MPI_COMM_WORLD); STAY; return n; };
    int call = __LINE__ + 1;
    lambda(3); STAY;
    site("sites.cc:%d / sites.cc:%d /", lambda_line, call, 0, 1);

    MPI_Finalize();
    return 0;
}
