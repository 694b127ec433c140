#include "core/gpu/lib.h"

#include <dlfcn.h>
#include <string.h>

static void *lib_load(const char *file, const char *const *names)
{
    void *lib = NULL;
    if (file && *file)
        return strcmp(file, "none") == 0 ? NULL
                                         : dlopen(file, RTLD_NOW | RTLD_LOCAL);
    for (; !lib && *names; names++)
        lib = dlopen(*names, RTLD_NOW | RTLD_LOCAL);
    return lib;
}

int bj_gpu_lib_open(const char *file, const char *const *names,
                    const struct bj_gpu_symbol *symbols, size_t n, void *calls,
                    void **ret, struct bj_err *err)
{
    void *lib = lib_load(file, names);
    if (!lib)
        return bj_err_set(err, -ENODEV, "cannot load %s",
                          file && *file ? file : names[0]);
    for (size_t i = 0; i < n; i++) {
        void *found = dlsym(lib, symbols[i].name);
        if (!found && symbols[i].must) {
            bj_err_set(err, -ELIBBAD, "%s has no %s", names[0],
                       symbols[i].name);
            dlclose(lib);
            return -ELIBBAD;
        }
        memcpy((char *)calls + symbols[i].off, &found, sizeof(found));
    }
    *ret = lib;
    return 0;
}
