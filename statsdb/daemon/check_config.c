#include "statsdb/daemon/check_config.h"

#include "base/command.h"
#include "base/file.h"
#include "base/secret_file.h"
#include "store/db.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SECRET_BYTES = 65536 };

struct check {
    const char *cluster; /* the cluster whose options are checked; NULL: the
                            program's options */
    struct bj_err *err;  /* the last problem */
};

/* Begin a problem: print the one before it. */
static struct bj_err *next_problem(struct check *c)
{
    char text[320];
    if (c->err->code < 0)
        fprintf(stderr, "batchjob_stats_db: %s\n",
                bj_err_reason(c->err, text, sizeof(text)));
    return c->err;
}

static void problem(struct check *c, const char *option, int code,
                    const char *what)
{
    bj_err_set(next_problem(c), code, "%s%s%s: %s",
               c->cluster ? c->cluster : "", c->cluster ? ": " : "", option,
               what);
}

static bool is_set(const char *text)
{
    return text && text[0];
}

/* mode: R_OK, W_OK, X_OK of access(2). */
static void check_path(struct check *c, const char *option, const char *path,
                       int mode)
{
    char what[128];
    if (!is_set(path) || faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0)
        return;
    int why = -errno;
    snprintf(what, sizeof(what), "%s%s%s:", c->cluster ? c->cluster : "",
             c->cluster ? ": " : "", option);
    bj_file_fail(next_problem(c), why, what, AT_FDCWD, path, mode);
}

static void check_command(struct check *c, const char *option, const char *name)
{
    struct bj_err why = {0};
    char found[PATH_MAX], text[320];
    if (is_set(name) &&
        bj_command_find(name, BJ_COMMAND_PATH, found, sizeof(found), &why) < 0)
        problem(c, option, -EINVAL, bj_err_reason(&why, text, sizeof(text)));
}

static void check_secret(struct check *c, const char *option, const char *path)
{
    struct bj_err why = {0};
    char secret[SECRET_BYTES], text[320];
    if (bj_secret_read(path, secret, sizeof(secret), &why) < 0)
        problem(c, option, -EINVAL, bj_err_reason(&why, text, sizeof(text)));
    explicit_bzero(secret, sizeof(secret));
}

/* Check the directory of a file that the program will write. */
static void check_folder_of(struct check *c, const char *option,
                            const char *path)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) : 0;
    if (n >= sizeof(dir)) {
        problem(c, option, -ENAMETOOLONG, path);
        return;
    }
    snprintf(dir, sizeof(dir), "%.*s", (int)n, path);
    check_path(c, option, !slash ? "." : n == 0 ? "/" : dir, W_OK | X_OK);
}

/* --- the options ------------------------------------------------------------
 */

static void check_prometheus(struct check *c, const struct bj_prom_conf *p)
{
    if (!is_set(p->url))
        return;
    check_secret(c, "prometheus.password-file", p->password_file);
    check_secret(c, "prometheus.token-file", p->token_file);
    check_path(c, "prometheus.ca-file", p->ca_file, R_OK);
    check_path(c, "prometheus.cert-file", p->cert_file, R_OK);
    check_path(c, "prometheus.key-file", p->key_file, R_OK);
}

/* A missing directory is not an error: it may be on a file system that is
 * mounted later, and all other functions work without it. */
static void check_records(struct check *c, const char *dir)
{
    if (faccessat(AT_FDCWD, dir, F_OK, AT_EACCESS) < 0 && errno == ENOENT)
        fprintf(stderr,
                "batchjob_stats_db: warning: %s: records.dir: %s does not "
                "exist yet\n",
                c->cluster, dir);
    else
        check_path(c, "records.dir", dir, R_OK | W_OK | X_OK);
}

static void check_cluster(struct check *c, const struct bj_cluster_conf *k)
{
    const struct bj_snapshot_conf *snapshot = k->snapshot;
    c->cluster = k->name;
    check_command(c, "sacct.command", k->sacct);
    check_path(c, "sacct.slurm-conf", k->slurm_conf, R_OK);
    check_command(c, "qstat.command", snapshot[BJ_SNAPSHOT_QSTAT].command);
    check_command(c, "bjobs.command", snapshot[BJ_SNAPSHOT_BJOBS].command);
    check_path(c, "pbs.accounting", snapshot[BJ_SNAPSHOT_PBS_FILES].command,
               R_OK | X_OK);
    check_path(c, "lsf.acct", snapshot[BJ_SNAPSHOT_LSF_FILES].command, R_OK);
    if (bj_cluster_has_rest(k)) {
        check_path(c, "slurmrestd.unix-socket", k->rest.socket, W_OK);
        check_secret(c, "slurmrestd.token-file", k->rest.token_file);
        check_path(c, "slurmrestd.ca-file", k->rest.ca_file, R_OK);
    }
    if (bj_cluster_has_mariadb(k)) {
        check_path(c, "mariadb.unix-socket", k->mariadb.socket, W_OK);
        check_secret(c, "mariadb.password-file", k->mariadb.password_file);
        check_path(c, "mariadb.ca-file", k->mariadb.ca_file, R_OK);
    }
    for (size_t i = 0; i < k->records.n; i++)
        check_records(c, k->records.v[i]);
    check_prometheus(c, &k->prom);
}

int bj_check_config(const struct bj_statsdb_conf *conf, struct bj_err *err)
{
    struct check c = {NULL, err};
    err->code = 0;
    const bool file = bj_db_is_file(conf->path);
    if (file && faccessat(AT_FDCWD, conf->path, F_OK, AT_EACCESS) == 0)
        check_path(&c, "store.path", conf->path, R_OK | W_OK);
    if (file)
        check_folder_of(&c, "store.path", conf->path);
    if (is_set(conf->metrics_file))
        check_folder_of(&c, "metrics.file", conf->metrics_file);
    for (size_t i = 0; i < conf->clusters; i++)
        check_cluster(&c, &conf->cluster[i]);
    return err->code;
}
