/* Starts programs of aarch64 on a machine of x86-64.
 *
 * As `run PROGRAM ARGUMENT…`, it starts one below the emulator; a program of this machine, without it. As `mpiexec`, it is the
 * launcher for x86-64, which starts ranks by `run`.
 *
 * LD_PRELOAD and LD_LIBRARY_PATH name files of aarch64: `mpiexec` puts them aside, and `run` has them back. Both are linked
 * statically, so that they themselves load nothing of it, like the emulator. */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const VARIABLES[][2] = {
    {"LD_PRELOAD", "AARCH64_PRELOAD"},
    {"LD_LIBRARY_PATH", "AARCH64_LIBRARIES"},
};

static int fail(const char *program)
{
    fprintf(stderr, "%s: %s\n", program, strerror(errno));
    return 127;
}

#ifdef LAUNCHER

/* How many words behind an option belong to it. */
static int values(const char *option)
{
    static const char *const ONE[] = {"-n", "-np", "--np", "-c", "-x", "-ppn", "-host", "--host", "-hosts", "-f", "-wdir",
                                      "--map-by", "--bind-to", "-H", "--hostfile", "-genvlist", "-timeout", "--timeout"};
    static const char *const TWO[] = {"-env", "-genv", "--mca", "-mca", "--prtemca", "--pmixmca"};
    for (size_t i = 0; i < sizeof ONE / sizeof *ONE; i++)
        if (!strcmp(option, ONE[i]))
            return 1;
    for (size_t i = 0; i < sizeof TWO / sizeof *TWO; i++)
        if (!strcmp(option, TWO[i]))
            return 2;
    return 0;
}

int main(int count, char **words)
{
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(VARIABLES[i][0]);
        if (value && *value)
            setenv(VARIABLES[i][1], value, 1);
        unsetenv(VARIABLES[i][0]);
    }
    setenv("AARCH64_LIBRARIES", LIBRARIES, 0);
    char **all = calloc(2 * (size_t)count + 2, sizeof *all);
    if (!all)
        return fail("mpiexec");
    int length = 0, is_option = 1;
    all[length++] = LAUNCHER;
    for (int i = 1; i < count; i++) {
        if (is_option && words[i][0] == '-') {
            for (int more = values(words[i]); more > 0 && i + 1 < count; more--)
                all[length++] = words[i++];
        } else if (!strcmp(words[i], ":")) {
            is_option = 1;
        } else if (is_option) {
            is_option = 0;
            all[length++] = RUNNER;
        }
        all[length++] = words[i];
    }
    execv(LAUNCHER, all);
    return fail(LAUNCHER);
}

#else

/* Whether a file is a program of aarch64. */
static int is_foreign(const char *program)
{
    Elf64_Ehdr head;
    int file = open(program, O_RDONLY | O_CLOEXEC);
    int is_read = file >= 0 && read(file, &head, sizeof head) == sizeof head;
    if (file >= 0)
        close(file);
    return is_read && !memcmp(head.e_ident, ELFMAG, SELFMAG) && head.e_machine == EM_AARCH64;
}

int main(int count, char **words)
{
    for (int i = 0; i < 2; i++) {
        const char *value = getenv(VARIABLES[i][1]);
        if (value) {
            /* Tools that a launcher's option names say more. Folders are what Open MPI's launcher has added, for this machine. */
            setenv(VARIABLES[i][0], value, i > 0);
            unsetenv(VARIABLES[i][1]);
        }
    }
    if (count < 2) {
        fprintf(stderr, "run: no program\n");
        return 2;
    }
    if (!is_foreign(words[1])) {
        execvp(words[1], words + 1);
        return fail(words[1]);
    }
    char **all = calloc((size_t)count + 3, sizeof *all);
    if (!all)
        return fail("run");
    all[0] = EMULATOR;
    all[1] = "-L";
    all[2] = SYSTEM;
    memcpy(all + 3, words + 1, (size_t)(count - 1) * sizeof *all);
    execv(EMULATOR, all);
    return fail(EMULATOR);
}

#endif
