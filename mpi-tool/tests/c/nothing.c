/* A program without MPI. */
#include <stdio.h>

int main(void) {
    puts("no MPI here");
    return 0;
}
