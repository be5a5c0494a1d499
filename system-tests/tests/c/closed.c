/* Opens the library of the first argument and closes it, as programs with plugins do, and says whether it is still
 * there. No MPI. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    if (dlclose(library) != 0)
        return 2;
    puts(dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) ? "it stays" : "it is gone");
    return 0;
}
