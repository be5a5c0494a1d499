/* A PMPI tool that counts calls and knows no prototype: each function adds one to its counter and
 * jumps to the next one with the registers as they were.
 *
 * entries.h is made of the MPI library's own symbols: an ENTRY for each MPI_X with a PMPI_X, and for
 * each mpi_x_ with a pmpi_x_.
 *
 * EXPECT_DIR names the folder for the counts, one file a process: "MPI_X n" lines. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct entry {
    unsigned long calls;
    char name[56];
};
extern struct entry __start_independent[], __stop_independent[];

#define ENTRY(name, next)                                                                          \
    __asm__(".pushsection independent, \"aw\"\n"                                                   \
            "1: .quad 0\n"                                                                         \
            ".asciz \"" #name "\"\n"                                                               \
            ".balign 64\n"                                                                         \
            ".popsection\n"                                                                        \
            ".pushsection .text\n"                                                                 \
            ".globl " #name "\n"                                                                   \
            ".type " #name ", @function\n" #name ": lock incq 1b(%rip)\n"                          \
            "jmp " #next "@PLT\n"                                                                  \
            ".popsection\n");
#include "entries.h"

__attribute__((destructor)) static void write_counts(void)
{
    const char *folder = getenv("EXPECT_DIR");
    FILE *file = NULL;
    for (struct entry *entry = __start_independent; entry < __stop_independent; entry++) {
        if (!folder || entry->calls == 0)
            continue;
        if (!file) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%ld", folder, (long)getpid());
            file = fopen(path, "w");
            if (!file) {
                perror(path);
                _exit(99);
            }
        }
        fprintf(file, "%s %lu\n", entry->name, entry->calls);
    }
    if (file)
        fclose(file);
}
