/* For test programs: counts the program's own MPI calls as the compiler sees them, by macros
 * around every call, and says at the end what a call counter must have seen.
 *
 * calls.h is generated: for each function that the MPI library has, HAVE_MPI_X and
 *   #define MPI_X(...) (expect_call("MPI_X"), MPI_X(__VA_ARGS__))
 * unless mpi.h makes it a macro, which calls nothing.
 *
 * EXPECT_DIR names the folder for the counts, one file a process: "MPI_X n" lines. */
#ifndef EXPECT_H
#define EXPECT_H

#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *name;
    unsigned long calls;
} expect_table[1024];
static pthread_mutex_t expect_lock = PTHREAD_MUTEX_INITIALIZER;

/* Writes the counts; runs by itself at exit, and by hand before what ends the process otherwise. */
static void expect_write(void)
{
    const char *folder = getenv("EXPECT_DIR");
    if (!folder)
        return;
    char path[4096];
    snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
    FILE *file = fopen(path, "w");
    if (!file) {
        perror(path);
        _exit(99);
    }
    for (int i = 0; i < 1024 && expect_table[i].name; i++)
        fprintf(file, "%s %lu\n", expect_table[i].name, expect_table[i].calls);
    fclose(file);
}

__attribute__((destructor)) static void expect_at_exit(void) { expect_write(); }

/* Adds n calls of a function, for threads that count for themselves. */
static inline int expect_calls(const char *name, unsigned long n)
{
    pthread_mutex_lock(&expect_lock);
    int i = 0;
    while (expect_table[i].name && strcmp(expect_table[i].name, name) != 0)
        i++;
    expect_table[i].name = name;
    expect_table[i].calls += n;
    pthread_mutex_unlock(&expect_lock);
    return 0;
}

static inline int expect_call(const char *name) { return expect_calls(name, 1); }

/* The program's own check: says where it failed, and fails the run. */
#define CHECK(condition)                                                                          \
    do {                                                                                          \
        if (!(condition)) {                                                                       \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);               \
            expect_write();                                                                       \
            _exit(98);                                                                            \
        }                                                                                         \
    } while (0)

#include "calls.h"

#endif
