/* A program that has no end but a signal's: it sends to itself, and a timer sends it SIGTERM from the middle of whatever
 * it does, as a batch system does at a job's time limit. */
#include <signal.h>
#include <sys/time.h>

#include "expect.h"

static void time_is_over(int signal)
{
    (void)signal;
    kill(getpid(), SIGTERM);
}

int main(int argc, char **argv)
{
    struct itimerval timer = {.it_value = {.tv_usec = 300000}};
    int out = 0, in;
    MPI_Init(&argc, &argv);
    signal(SIGALRM, time_is_over);
    setitimer(ITIMER_REAL, &timer, NULL);
    for (;;)
        (MPI_Sendrecv)(&out, 1, MPI_INT, 0, 0, &in, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                       MPI_STATUS_IGNORE);
}
