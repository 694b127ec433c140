#include "statsdb/daemon/check.h"

#include "base/clock.h"
#include "base/command.h"
#include "base/fetch.h"
#include "base/file.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "statsdb/tables/store.h"
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

/* Note a problem, if there is one, and print the one before it. */
static void problem(struct check *c, int code, const struct bj_err *why)
{
    char text[320];
    if (code >= 0)
        return;
    if (c->err->code < 0)
        fprintf(stderr, "batchjob_stats_db: %s\n",
                bj_err_reason(c->err, text, sizeof(text)));
    *c->err = *why;
    if (c->cluster)
        bj_err_wrap(c->err, code, "%s", c->cluster);
}

static void check_path(struct check *c, const char *option, const char *path,
                       int mode)
{
    struct bj_err why = {0};
    problem(c, bj_file_usable(option, path, mode, &why), &why);
}

static void check_command(struct check *c, const char *option, const char *name)
{
    struct bj_err why = {0};
    char found[PATH_MAX];
    if (!name || !name[0])
        return;
    int r = bj_command_find(name, BJ_COMMAND_PATH, found, sizeof(found), &why);
    if (r < 0)
        problem(c, bj_err_wrap(&why, r, "%s", option), &why);
}

static void check_secret(struct check *c, const char *option, const char *path)
{
    struct bj_err why = {0};
    char secret[SECRET_BYTES];
    int r = bj_secret_read(path, secret, sizeof(secret), &why);
    if (r < 0)
        problem(c, bj_err_wrap(&why, r, "%s", option), &why);
    explicit_bzero(secret, sizeof(secret));
}

/* Check the directory of a file that the program will write. */
static void check_new(struct check *c, const char *option, const char *path)
{
    struct bj_err why = {0};
    problem(c, bj_file_makeable(option, path, &why), &why);
}

/* --- the options ------------------------------------------------------------
 */

static void check_prometheus(struct check *c, const struct bj_prom_conf *p)
{
    if (!p->url || !p->url[0])
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
        check_new(&c, "store.path", conf->path);
    check_new(&c, "metrics.file", conf->metrics_file);
    for (size_t i = 0; i < conf->clusters; i++)
        check_cluster(&c, &conf->cluster[i]);
    return err->code;
}

/* --- accounting ------------------------------------------------------------*/

int bj_check_seen(struct bj_db *db, const char *cluster, struct bj_err *err)
{
    static const char sql[] =
        "SELECT count(*) AS jobs, count(DISTINCT j.\"user\") AS users, (SELECT"
        " max(name) FROM cluster WHERE NOT EXISTS (SELECT 1 FROM cluster WHERE"
        " name = ?1)) AS other, (SELECT max(u.name) FROM \"user\" AS u) AS"
        " one FROM job AS j";
    struct bj_st *st;
    int r = bj_db_prepare(db, sql, &st, err);
    if (r < 0)
        return r;
    bj_st_bind_filled(st, 1, bj_slice_str(cluster));
    r = bj_st_row(st, err);
    if (r <= 0) {
        bj_st_finalize(st);
        return r;
    }
    long long jobs = bj_st_i64(st, "jobs"), users = bj_st_i64(st, "users");
    char other[65], user[65];
    bj_text_clean(bj_st_text(st, "other"), other, sizeof(other));
    bj_text_clean(bj_st_text(st, "one"), user, sizeof(user));
    bj_st_finalize(st);
    r = 0;
    if (other[0])
        r = bj_err_set(err, -EINVAL,
                       "name: the scheduler's name of the cluster is '%s'",
                       other);
    else if (jobs == 0)
        fprintf(stderr,
                "batchjob_stats_db: warning: %s: accounting shows no jobs of "
                "the last 10 minutes; if there were some, this user may see "
                "only its own (PrivateData in slurmdbd.conf): sacctmgr add "
                "user batchjob account=root adminlevel=operator\n",
                cluster);
    else
        printf("%s: accounting shows %lld jobs of %lld users%s%s%s\n", cluster,
               jobs, users, users == 1 ? ", only " : "", users == 1 ? user : "",
               users == 1 ? ": does PrivateData hide the others?" : "");
    return r;
}

/* --- the store -------------------------------------------------------------*/

static int check_store(const struct bj_statsdb_conf *conf, struct bj_err *err)
{
    const struct bj_store_options opt = {.path = conf->path,
                                         .read_only = true,
                                         .any_filesystem =
                                             conf->any_filesystem};
    struct bj_store *s = NULL;
    int r = bj_store_open(&opt, &s, err);
    bj_store_close(s);
    if (r == -EAGAIN || r == -ENOENT) {
        printf("store %s: %s\n", bj_db_shown(conf->path),
               r == -EAGAIN ? "of an older version, which the next start "
                              "upgrades"
                            : "does not exist yet");
        return 0;
    }
    return r < 0 ? bj_err_wrap(err, r, "store.path") : 0;
}

/* --- Prometheus ------------------------------------------------------------*/

struct found {
    struct bj_prom *prom;
    double count;
    struct bj_buf names; /* of clusters */
    const char *label;
};

static int check_take(void *ctx, const struct bj_json *metric,
                      const struct bj_json *value, struct bj_err *err)
{
    struct found *f = ctx;
    int64_t v, sec;
    struct bj_slice name =
        f->label ? bj_json_text(bj_json_get(metric, f->label)) : BJ_SLICE("");
    (void)err;
    if (bj_prom_value(value, 0, &v, &sec) == 0)
        f->count += (double)v;
    if (name.n > 0 && name.n < 65 && f->names.len < 120)
        bj_buf_printf(&f->names, "%s'%.*s'", f->names.len ? ", " : "",
                      (int)name.n, name.p);
    return 0;
}

static int check_ask(struct found *f, const char *by, struct bj_slice match,
                     int64_t now_sec, struct bj_err *err)
{
    struct bj_buf q = {0};
    f->count = 0;
    f->names.len = 0;
    f->label = by;
    bj_buf_printf(&q,
                  "count%s%s%s({__name__=~\"batchjob_build_info|"
                  "batchjob_job_cpu_seconds_total\",%.*s})",
                  by ? " by (" : "", by ? by : "", by ? ") " : "", (int)match.n,
                  match.p ? match.p : "");
    bj_buf_put(&q, "", 1);
    const struct bj_prom_sink sink = {.ctx = f, .series = check_take};
    int r = q.failed ? bj_err_set(err, -ENOMEM, "prometheus")
                     : bj_prom_query(f->prom, q.p, now_sec, &sink, err);
    bj_buf_free(&q);
    return r;
}

/* No series has the matchers: say which values the first label has. */
static int no_series(struct found *f, const struct bj_prom_conf *c,
                     struct bj_slice match, int64_t now_sec, struct bj_err *err)
{
    char label[65] = "", shown[65];
    const char *equal = c->match.n > 0 ? strchr(c->match.v[0], '=') : NULL;
    if (equal)
        snprintf(label, sizeof(label), "%.*s", (int)(equal - c->match.v[0]),
                 c->match.v[0]);
    int r = check_ask(f, label[0] ? label : NULL, BJ_SLICE(""), now_sec, err);
    if (r < 0)
        return r;
    if (f->count <= 0)
        return bj_err_set(err, -EINVAL,
                          "prometheus.url: the server has no series of "
                          "batchjob_exporter; does it scrape the nodes?");
    while (match.n > 0 && match.p[match.n - 1] == ',')
        match.n--;
    bj_text_clean(match, shown, sizeof(shown));
    bj_buf_put(&f->names, "", 1);
    return bj_err_set(err, -EINVAL,
                      "prometheus.match: no series of batchjob_exporter has "
                      "%s; the server's label %s has %s",
                      shown, label[0] ? label : "(none)",
                      f->names.len > 1 ? f->names.p : "no value");
}

int bj_check_prometheus(const struct bj_prom_conf *c, const char *cluster,
                        const atomic_bool *stop, struct bj_err *err)
{
    int64_t now_sec = (int64_t)(bj_clock_wall_usec() / 1000000);
    struct found f = {.prom = NULL};
    struct bj_buf match = {0};
    int r = bj_prom_matchers(&c->match, cluster, &match, err);
    const struct bj_slice m = {match.p, match.len};
    if (r == 0)
        r = bj_prom_new(c, stop, &f.prom, err);
    if (r == 0)
        r = check_ask(&f, NULL, m, now_sec, err);
    if (r < 0 && bj_fetch_is_placeholder(c->url))
        bj_err_wrap(err, r,
                    "prometheus.url: the host in capitals is a placeholder of "
                    "the documents");
    if (r == 0 && f.count <= 0)
        r = no_series(&f, c, m, now_sec, err);
    else if (r == 0)
        printf("%s: Prometheus has %.0f series of its exporters and jobs\n",
               cluster, f.count);
    bj_prom_free(f.prom);
    bj_buf_free(&f.names);
    bj_buf_free(&match);
    return r;
}

int bj_check_online(const struct bj_statsdb_conf *conf, const atomic_bool *stop,
                    struct bj_err *err)
{
    int r = check_store(conf, err);
    for (size_t i = 0; r == 0 && i < conf->clusters; i++) {
        const struct bj_cluster_conf *c = &conf->cluster[i];
        if (c->prom.url && c->prom.url[0])
            r = bj_check_prometheus(&c->prom, c->name, stop, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s", c->name);
    }
    return r;
}
