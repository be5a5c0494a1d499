/* For programs that say what data they move: worked out from the standard, call by call, and
 * written beside what expect.h writes, as "unit|flow|class|datatype n" lines. */
#ifndef MOVED_H
#define MOVED_H

#include "expect.h"

#if defined MPICH_NUMVERSION && MPICH_NUMVERSION < 40100000
#define IS_MPICH_4_0 1
#else
#define IS_MPICH_4_0 0
#endif

enum flow { SENT, RECEIVED, REDUCED };

/* The predefined datatypes that the programs use, and how large C says that they are. */
static size_t size_in_c(const char *datatype)
{
    static const struct {
        const char *name;
        size_t size;
    } sizes[] = {
#define C_TYPE(name, type) {#name, sizeof(type)}
        C_TYPE(MPI_CHAR, char),
        C_TYPE(MPI_SIGNED_CHAR, signed char),
        C_TYPE(MPI_UNSIGNED_CHAR, unsigned char),
        C_TYPE(MPI_BYTE, char),
        C_TYPE(MPI_PACKED, char),
        C_TYPE(MPI_SHORT, short),
        C_TYPE(MPI_INT, int),
        C_TYPE(MPI_UNSIGNED, unsigned),
        C_TYPE(MPI_LONG, long),
        C_TYPE(MPI_LONG_LONG_INT, long long),
        C_TYPE(MPI_FLOAT, float),
        C_TYPE(MPI_DOUBLE, double),
        C_TYPE(MPI_INT8_T, char),
        C_TYPE(MPI_INT64_T, long long),
        C_TYPE(MPI_UINT16_T, short),
        C_TYPE(MPI_AINT, MPI_Aint),
        C_TYPE(MPI_COUNT, MPI_Count),
        C_TYPE(MPI_OFFSET, MPI_Offset),
        C_TYPE(MPI_C_BOOL, _Bool),
        C_TYPE(MPI_C_DOUBLE_COMPLEX, double _Complex),
        C_TYPE(MPI_2INT, int[2]),
        /* Pairs have the data of both, not the space between them. */
        {"MPI_DOUBLE_INT", sizeof(double) + sizeof(int)},
        {"MPI_SHORT_INT", sizeof(short) + sizeof(int)},
        {"MPI_LONG_INT", sizeof(long) + sizeof(int)},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (strcmp(sizes[i].name, datatype) == 0)
            return sizes[i].size;
    fprintf(stderr, "%s is not in the table\n", datatype);
    _exit(97);
}

/* This process moves so many elements. The class has the tool's name, without spaces. */
static void moved(enum flow flow, const char *class, const char *datatype, unsigned long elements)
{
    static const char *const flows[] = {"sent", "received", "reduced"};
    if (elements == 0)
        return;
    for (int bytes = 0; bytes < 2; bytes++) {
        char name[128];
        snprintf(name, sizeof name, "%s|%s|%s|%s", bytes ? "bytes" : "elements", flows[flow],
                 class, datatype);
        /* The table keeps the name. */
        expect_calls(strdup(name), bytes ? elements * size_in_c(datatype) : elements);
    }
}

#endif
