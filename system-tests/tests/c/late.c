/* Knows nothing of MPI, and loads a module that does, as Python does. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv) {
    void *module = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!module) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    int (*run)(int *, char ***) = (int (*)(int *, char ***))dlsym(module, "run");
    return run ? run(&argc, &argv) : 2;
}
