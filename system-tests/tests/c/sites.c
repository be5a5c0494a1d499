/* Calls from places that the program says itself: "site FUNCTION LINES COUNT", where LINES are the lines of the call
 * and of its callers, each followed by " / ". */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <ucontext.h>

#include <mpi.h>

/* Keeps a call from being the last thing that its function does, which the compiler would make a jump. */
#define STAY __asm__ volatile("" ::: "memory")
#define APART __attribute__((noinline, noclone))

/* The tools do not see this call. */
static int is_first(void)
{
    int rank;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0;
}

static void site(const char *function, int count, int a, int b, int c)
{
    if (!is_first())
        return;
    printf("site %s sites.c:%d / ", function, a);
    if (b)
        printf("sites.c:%d / ", b);
    if (c)
        printf("sites.c:%d / ", c);
    printf("%d\n", count);
}

enum { OUTER = __LINE__ + 1 };
static APART void barrier(void) { MPI_Barrier(MPI_COMM_WORLD); STAY; }
enum { MIDDLE = __LINE__ + 1 };
static APART void wrapper(void) { barrier(); STAY; }

/* Stack frames of many sizes, and the same call from two places of one function, in turns. */
enum { ROOM = __LINE__ + 3 };
static APART void room(int n)
{
    volatile char some[n]; some[n - 1] = 0; MPI_Barrier(MPI_COMM_WORLD); some[0] = 0;
}

enum { INLINED = __LINE__ + 1 };
static inline __attribute__((always_inline)) void inlined(void) { int f; MPI_Initialized(&f); STAY; }

/* So deep that not all callers are in the site. */
enum { DEEP = __LINE__ + 3, DEEPER = __LINE__ + 5 };
static APART void recursion(int n)
{
    if (n == 0) { MPI_Barrier(MPI_COMM_WORLD); STAY; return; }

    recursion(n - 1);
    STAY;
}

static void handler(int signal) { int flag; (void)signal; MPI_Initialized(&flag); STAY; }

enum { THREAD = __LINE__ + 1 };
static void *thread(void *nothing) { int f; for (int i = 0; i < 7; i++) { MPI_Finalized(&f); STAY; } return nothing; }

/* On a stack of its own, where nothing is unwound. */
static ucontext_t here, there;
static char stack[1 << 16];
enum { FIBER = __LINE__ + 1 };
static void fiber(void) { int size; MPI_Comm_size(MPI_COMM_WORLD, &size); STAY; }

int main(int argc, char **argv)
{
    int provided, start = __LINE__ + 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    site("MPI_Init_thread", 1, start, 0, 0);

    int loop = __LINE__ + 3, once = __LINE__ + 5, direct = __LINE__ + 6;
    for (int i = 0; i < 10; i++) {
        STAY;
        wrapper();
    }
    wrapper();
    barrier();
    site("MPI_Barrier", 10, OUTER, MIDDLE, loop);
    site("MPI_Barrier", 1, OUTER, MIDDLE, once);
    site("MPI_Barrier", 1, OUTER, direct, 0);

    int first = __LINE__ + 2, second = __LINE__ + 3;
    for (int i = 1; i < 50; i++) {
        room(16 * i);
        room(16 * (50 - i));
    }
    site("MPI_Barrier", 49, ROOM, first, 0);
    site("MPI_Barrier", 49, ROOM, second, 0);

    for (int i = 10; i < 20; i++)
        recursion(i);
    site("MPI_Barrier", 10, DEEP, DEEPER, DEEPER);

    int place = __LINE__ + 1;
    inlined();
    if (is_first())
        printf("site MPI_Initialized sites.c:%d sites.c:%d / 1\n", INLINED, place);

    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    sigaltstack(&other, NULL);
    raise(SIGUSR1);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);

    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, thread, NULL);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    site("MPI_Finalized", 21, THREAD, 0, 0);

    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = sizeof stack;
    there.uc_link = &here;
    makecontext(&there, fiber, 0);
    swapcontext(&here, &there);
    site("MPI_Comm_size", 1, FIBER, 0, 0);

    int end = __LINE__ + 2;
    site("MPI_Finalize", 1, end, 0, 0);
    MPI_Finalize();
    return 0;
}
