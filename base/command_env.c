#include "base/command_child.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Variables of this program that its commands get, too: which configuration,
 * server and cluster the schedulers' commands use.  docs/schedulers.md lists
 * them. */
static const char *const passed[] = {
    "SLURM_CONF",    "SLURM_CONF_SERVER", "SLURM_CLUSTERS", "SLURM_JWT",
    "PBS_CONF_FILE", "PBS_SERVER",        "PBS_DEFAULT",    "LSF_ENVDIR",
    "LSF_SERVERDIR", "LSF_BINDIR",        "LSF_LIBDIR",
};

enum { OWN = 3, PASSED = sizeof(passed) / sizeof(passed[0]) };

struct setting {
    const char *name, *value;
};

static bool sets(const char *const *env, const char *name)
{
    size_t n = strlen(name);
    for (; env && *env; env++)
        if (strncmp(*env, name, n) == 0 && (*env)[n] == '=')
            return true;
    return false;
}

/* Write "name=value" at *at and advance it. */
static char *put_setting(char **at, const char *name, const char *value)
{
    char *start = *at;
    size_t n = strlen(name), m = strlen(value);
    memcpy(start, name, n);
    start[n] = '=';
    memcpy(start + n + 1, value, m + 1);
    *at = start + n + m + 2;
    return start;
}

/* All settings that more does not have; returns how many. */
static size_t collect(const char *path, const char *tz, const char *const *more,
                      struct setting ret[OWN + PASSED])
{
    struct setting all[OWN + PASSED] = {
        {"PATH", path}, {"LC_ALL", "C"}, {"TZ", tz ? tz : "UTC0"}};
    size_t n = 0;
    for (size_t i = 0; i < PASSED; i++)
        all[OWN + i] = (struct setting){passed[i], getenv(passed[i])};
    for (size_t i = 0; i < OWN + PASSED; i++)
        if (all[i].value && !sets(more, all[i].name))
            ret[n++] = all[i];
    return n;
}

char **bj_command_env(const char *path, const char *tz, const char *const *more)
{
    struct setting own[OWN + PASSED];
    const size_t owned = collect(path, tz, more, own);
    size_t n = 0, bytes = 0;
    for (; more && more[n]; n++)
        ;
    for (size_t i = 0; i < owned; i++)
        bytes += strlen(own[i].name) + strlen(own[i].value) + 2;
    char **env = malloc((n + owned + 1) * sizeof(*env) + bytes);
    if (!env)
        return NULL;
    char *at = (char *)(env + n + owned + 1);
    for (size_t i = 0; i < owned; i++)
        env[i] = put_setting(&at, own[i].name, own[i].value);
    for (size_t i = 0; i < n; i++)
        env[owned + i] = (char *)(uintptr_t)more[i];
    env[owned + n] = NULL;
    return env;
}
