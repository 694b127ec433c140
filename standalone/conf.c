#include "standalone/conf.h"

#include "base/listen.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(member) offsetof(struct bj_exporter_conf, member)

enum { PATH_MAX_BYTES = 128 };

const struct bj_opt bj_exporter_opts[] = {
    {.name = "web.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(listen),
     .preset = ":9010",
     .help = "Address to listen on: HOST:PORT, :PORT or [IPV6]:PORT; give it "
             "again for more."},
    {.name = "web.telemetry-path",
     .kind = BJ_OPT_STR,
     .off = AT(telemetry_path),
     .preset = "/metrics",
     .help = "Path of the metrics."},
    {.name = "web.max-requests",
     .kind = BJ_OPT_U64,
     .off = AT(max_requests),
     .lo = 1,
     .hi = 10000,
     .preset = "40",
     .help = "Responses in flight at a time; more are refused with status "
             "503."},
    {.name = "web.max-connections",
     .kind = BJ_OPT_U64,
     .off = AT(max_connections),
     .lo = 2,
     .hi = 20000,
     .preset = "256",
     .help = "Connections open at a time; the oldest without a request makes "
             "room for a new one."},
    {.name = "web.request-timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(request_usec),
     .lo = 100 * 1000,
     .hi = (uint64_t)3600 * 1000000,
     .preset = "10s",
     .help = "Time in which a request must have arrived in full."},
    {.name = "web.gzip",
     .kind = BJ_OPT_BOOL,
     .off = AT(gzip),
     .preset = "true",
     .help = "Compress pages for clients that accept it."},
    {.name = "sample.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(interval_usec),
     .hi = (uint64_t)86400 * 1000000,
     .preset = "0s",
     .help = "Look at the node at this pace as well, and not only when "
             "scraped; 0 for no such looks."},
    {.name = "sample.max-age",
     .kind = BJ_OPT_DURATION,
     .off = AT(max_age_usec),
     .hi = (uint64_t)3600 * 1000000,
     .preset = "0s",
     .help = "Serve what was seen this long ago at most, without a new look."},
    {.name = "log.level",
     .kind = BJ_OPT_STR,
     .off = AT(log_level),
     .preset = "info",
     .help = "Least weight of a line to be logged.",
     .choices = "debug|info|warn|error"},
    {.name = "log.format",
     .kind = BJ_OPT_STR,
     .off = AT(log_format),
     .preset = "logfmt",
     .help = "What log lines look like.",
     .choices = "logfmt|json"},
    {.name = "config.file",
     .kind = BJ_OPT_STR,
     .off = AT(file),
     .arg = "FILE",
     .help = "YAML file with the same options; the command line goes before "
             "it."},
    {.name = "version",
     .kind = BJ_OPT_BOOL,
     .off = AT(version),
     .preset = "false",
     .help = "Print the version and exit."},
    {.name = "help",
     .kind = BJ_OPT_BOOL,
     .off = AT(help),
     .preset = "false",
     .help = "Print this and exit."},
    {.name = NULL},
};

enum { SETS = 1 + BJ_CONF_SETS };

static void name_sets(struct bj_exporter_conf *c, struct bj_optset sets[SETS])
{
    sets[0] = (struct bj_optset){bj_exporter_opts, c};
    bj_conf_sets(&c->core, sets + 1);
}

void bj_exporter_conf_free(struct bj_exporter_conf *c)
{
    struct bj_optset sets[SETS];
    name_sets(c, sets);
    for (int i = 0; i < SETS; i++)
        bj_opt_free(&sets[i]);
}

static int set_presets(struct bj_exporter_conf *c, struct bj_err *err)
{
    struct bj_optset sets[SETS];
    int r = 0;
    bj_exporter_conf_free(c);
    *c = (struct bj_exporter_conf){0};
    name_sets(c, sets);
    for (int i = 0; i < SETS && r == 0; i++)
        r = bj_opt_presets(&sets[i], err);
    return r;
}

static int read_file(struct bj_exporter_conf *c, const char *path,
                     struct bj_err *err)
{
    struct bj_optset sets[SETS];
    char why[64];
    name_sets(c, sets);
    /* The code alone does not tell a file that is not there from an option that
     * is not known. */
    if (access(path, R_OK) < 0)
        return bj_err_set(err, -EINVAL, "config.file: '%s': %s", path,
                          strerror_r(errno, why, sizeof(why)));
    int r = bj_opt_yaml(sets, SETS, path, err);
    if (r == 0 && (c->file || c->help || c->version))
        r = bj_err_set(err, -EINVAL,
                       "%s: config.file, help and version belong on the "
                       "command line",
                       path);
    return r;
}

/* All sources in turn; path may be NULL. */
static int apply(struct bj_exporter_conf *c, const char *path, int argc,
                 char **argv, struct bj_err *err)
{
    struct bj_optset sets[SETS];
    int r = set_presets(c, err);
    name_sets(c, sets);
    if (r == 0 && path)
        r = read_file(c, path, err);
    if (r == 0)
        r = bj_opt_argv(sets, SETS, argc, argv, err);
    for (int i = 0; i < SETS && r == 0; i++)
        r = bj_opt_finish(&sets[i], err);
    return r;
}

/* Paths are compared byte by byte after decoding: what needs an escape, or what
 * clients tidy up before they send it, would never match. */
static bool path_fits(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t n = strlen(path);
    return n > 1 && n < PATH_MAX_BYTES && path[0] == '/' &&
           path[strspn(path, plain)] == '\0' && !strstr(path, "//") &&
           !strstr(path, "/.");
}

static int check(const struct bj_exporter_conf *c, struct bj_err *err)
{
    const char *path = c->telemetry_path ? c->telemetry_path : "";
    if (!path_fits(path))
        return bj_err_set(err, -EINVAL,
                          "web.telemetry-path: '%.80s' is not a path such as "
                          "/metrics",
                          path);
    if (strcmp(path, "/health") == 0)
        return bj_err_set(err, -EINVAL,
                          "web.telemetry-path: '/health' is taken");
    if (c->listen.n == 0)
        return bj_err_set(err, -EINVAL,
                          "web.listen-address: there must be one");
    for (size_t i = 0; i < c->listen.n; i++)
        if (bj_listen_check(c->listen.v[i], err) < 0)
            return bj_err_wrap(err, -EINVAL, "web.listen-address");
    if (c->max_connections <= c->max_requests)
        return bj_err_set(err, -EINVAL,
                          "web.max-connections must be more than "
                          "web.max-requests");
    return 0;
}

int bj_exporter_conf_load(struct bj_exporter_conf *c, int argc, char **argv,
                          struct bj_err *err)
{
    /* The first round is there to find the file. */
    int r = apply(c, NULL, argc, argv, err);
    if (r < 0 || c->help || c->version)
        return r;
    char *path = c->file;
    c->file = NULL;
    if (path)
        r = apply(c, path, argc, argv, err);
    free(path);
    return r < 0 ? r : check(c, err);
}

void bj_exporter_conf_help(struct bj_buf *out)
{
    bj_buf_str(out, "Usage: batchjob_exporter [OPTION]...\n"
                    "Metrics of the batch jobs on this node, for "
                    "Prometheus.\n\n");
    bj_opt_help(&(struct bj_optset){bj_exporter_opts, NULL}, out);
    bj_buf_str(out, "\nWhat is collected:\n");
    struct bj_conf conf;
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(&conf, sets);
    for (int i = 0; i < BJ_CONF_SETS; i++)
        bj_opt_help(&sets[i], out);
}
