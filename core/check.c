#include "core/check.h"

#include "base/command.h"
#include "base/file.h"
#include "core/core.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Options of the core, and how it uses what they name. */
static const struct bj_check_path core_paths[] = {
    {"energy.state-file", W_OK, true},
    {"energy.redfish-password-file", R_OK, false},
    {"energy.redfish-ca-file", R_OK, false},
    {"record.dir", R_OK | W_OK | X_OK, false},
    {"record.ca-file", R_OK, false},
    {"record.cert-file", R_OK, false},
    {"record.key-file", R_OK, false},
    {"record.token-file", R_OK, false},
    {"gpu.xid-file", R_OK, false},
    {"gpu.kernel-log", R_OK, false},
    {"gpu.health-file", W_OK, true},
    {"gpu.job-map-dir", W_OK | X_OK, false},
    {"cluster.constants", R_OK, false},
    {"cluster.slurm-conf", R_OK, false},
    {"slurmrestd.unix-socket", W_OK, false},
    {"slurmrestd.token-file", R_OK, false},
    {"slurmrestd.ca-file", R_OK, false},
    {"emissions.file", R_OK, false},
    {"emissions.ca-file", R_OK, false},
};

int bj_check_paths(const struct bj_check_path *paths, size_t n,
                   const struct bj_optset *sets, size_t nsets,
                   bj_check_problem *problem, void *ctx)
{
    struct bj_err err = {0};
    int r = 0;
    for (size_t i = 0; i < n; i++) {
        const struct bj_optset *set;
        const struct bj_opt *o =
            bj_opt_find(sets, nsets, bj_slice_str(paths[i].option), &set);
        const char *path = NULL;
        if (o && o->kind == BJ_OPT_STR)
            memcpy(&path, (const char *)set->base + o->off, sizeof(path));
        if ((paths[i].made ? bj_file_makeable(paths[i].option, path, &err)
                           : bj_file_usable(paths[i].option, path,
                                            paths[i].mode, &err)) < 0) {
            problem(ctx, &err);
            r = -EINVAL;
        }
    }
    return r;
}

/* The program of a command line, whose words blanks separate. */
static int check_command(const char *option, const char *line,
                         struct bj_err *err)
{
    char program[PATH_MAX], found[PATH_MAX];
    struct bj_slice rest = bj_slice_str(line), word;
    if (!bj_slice_word(&rest, &word) || word.n >= sizeof(program))
        return 0;
    snprintf(program, sizeof(program), "%.*s", (int)word.n, word.p);
    int r =
        bj_command_find(program, BJ_COMMAND_PATH, found, sizeof(found), err);
    return r >= 0 ? 0 : bj_err_wrap(err, r, "%s", option);
}

int bj_check_core(struct bj_conf *conf, bj_check_problem *problem, void *ctx)
{
    struct bj_optset sets[BJ_CONF_SETS];
    struct bj_err err = {0};
    bj_conf_sets(conf, sets);
    int r =
        bj_check_paths(core_paths, sizeof(core_paths) / sizeof(core_paths[0]),
                       sets, BJ_CONF_SETS, problem, ctx);
    if (check_command("energy.command", conf->energy.command, &err) < 0) {
        problem(ctx, &err);
        r = -EINVAL;
    }
    err = (struct bj_err){0};
    if (bj_core_check(conf, &err) < 0) {
        problem(ctx, &err);
        r = -EINVAL;
    }
    return r;
}
