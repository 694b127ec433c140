#include "standalone/check_config.h"

#include "base/command.h"
#include "base/fetch.h"
#include "base/file.h"
#include "base/listen.h"
#include "base/secret_file.h"
#include "base/tls.h"
#include "base/web.h"
#include "core/core.h"
#include "core/sender.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Options that name a file or directory, and how the exporter uses it. */
static const struct {
    const char *option;
    int mode;  /* of access(2) */
    bool made; /* the exporter makes the file */
} paths[] = {
    {"energy.state-file", W_OK, true},
    {"energy.redfish-password-file", R_OK, false},
    {"energy.redfish-ca-file", R_OK, false},
    {"record.dir", R_OK | W_OK | X_OK, false},
    {"record.ca-file", R_OK, false},
    {"record.cert-file", R_OK, false},
    {"record.key-file", R_OK, false},
    {"record.token-file", R_OK, false},
    {"gpu.job-map-dir", W_OK | X_OK, false},
    {"cluster.constants", R_OK, false},
    {"cluster.slurm-conf", R_OK, false},
    {"slurmrestd.unix-socket", W_OK, false},
    {"slurmrestd.token-file", R_OK, false},
    {"slurmrestd.ca-file", R_OK, false},
    {"emissions.file", R_OK, false},
    {"emissions.ca-file", R_OK, false},
    {"dialect.skip-uids", R_OK, false},
    {"trace.token-file", R_OK, false},
};

static int check_config_report(const struct bj_err *err)
{
    char text[320];
    fprintf(stderr, "batchjob_exporter: %s\n",
            bj_err_reason(err, text, sizeof(text)));
    return -EINVAL;
}

static int check_paths(struct bj_exporter_conf *conf)
{
    struct bj_optset sets[BJ_EXPORTER_SETS];
    struct bj_err err = {0};
    int r = 0;
    bj_exporter_conf_sets(conf, sets);
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        const struct bj_optset *set;
        const struct bj_opt *o = bj_opt_find(
            sets, BJ_EXPORTER_SETS, bj_slice_str(paths[i].option), &set);
        const char *path = NULL;
        if (o && o->kind == BJ_OPT_STR)
            memcpy(&path, (const char *)set->base + o->off, sizeof(path));
        if ((paths[i].made ? bj_file_makeable(paths[i].option, path, &err)
                           : bj_file_usable(paths[i].option, path,
                                            paths[i].mode, &err)) < 0)
            r = check_config_report(&err);
    }
    return r;
}

/* The program of a command line, whose words blanks separate. */
static int check_command(const char *option, const char *line)
{
    struct bj_err why = {0};
    char program[PATH_MAX], found[PATH_MAX];
    struct bj_slice rest = bj_slice_str(line), word;
    if (!bj_slice_word(&rest, &word) || word.n >= sizeof(program))
        return 0;
    snprintf(program, sizeof(program), "%.*s", (int)word.n, word.p);
    int r =
        bj_command_find(program, BJ_COMMAND_PATH, found, sizeof(found), &why);
    if (r >= 0)
        return 0;
    bj_err_wrap(&why, r, "%s", option);
    return check_config_report(&why);
}

int bj_exporter_check_records(const struct bj_exporter_conf *conf,
                              struct bj_err *err)
{
    const struct bj_sender_conf *s = &conf->core.sender;
    char token[512];
    if (!s->url || !s->url[0])
        return 0;
    int r = bj_tls_check_files(s->ca_file, NULL, NULL, err);
    if (r < 0)
        return bj_err_wrap(err, r, "record.ca-file");
    r = bj_tls_check_files(NULL, s->cert_file, s->key_file, err);
    if (r < 0)
        return bj_err_wrap(err, r, "record.cert-file");
    r = bj_secret_read(s->token_file, token, sizeof(token), err);
    explicit_bzero(token, sizeof(token));
    return r < 0 ? bj_err_wrap(err, r, "record.token-file") : 0;
}

/* Could the exporter listen, and would batchjob_stats_db accept its records? */
static int check_online(const struct bj_exporter_conf *conf)
{
    const struct bj_sender_conf *s = &conf->core.sender;
    struct bj_err err = {0};
    int r = bj_listen_try(&conf->listen, &err);
    if (r < 0)
        check_config_report(&err);
    if (!s->url || !s->url[0])
        return r;
    int tried = bj_sender_try(s, &err);
    if (tried == 0) {
        printf("record.url: batchjob_stats_db accepts records of this host\n");
        return r;
    }
    bj_err_wrap(&err, tried, "record.url%s",
                bj_fetch_is_placeholder(s->url)
                    ? ": the host in capitals is a placeholder of the documents"
                    : "");
    return check_config_report(&err);
}

int bj_exporter_check(struct bj_exporter_conf *conf, bool online)
{
    struct bj_web *web = NULL;
    struct bj_err err = {0};
    int r = check_paths(conf);
    if (check_command("energy.command", conf->core.energy.command) < 0)
        r = -EINVAL;
    if (bj_core_check(&conf->core, &err) < 0)
        r = check_config_report(&err);
    if (r == 0 && bj_exporter_check_records(conf, &err) < 0)
        r = check_config_report(&err);
    if (bj_web_new("web.config.file", conf->web_file, &web, &err) < 0)
        r = check_config_report(&err);
    bj_web_unref(web);
    if (r == 0 && online)
        r = check_online(conf);
    return r;
}
