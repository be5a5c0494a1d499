/* Links the MPI library and makes no MPI call at all. */
#include "expect.h"

int main(int argc, char **argv)
{
    static volatile int never = 0;
    if (never)
        MPI_Init(&argc, &argv);
    printf("nothing\n");
    return 0;
}
