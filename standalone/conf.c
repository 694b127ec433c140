#include "standalone/conf.h"

#include "base/listen.h"
#include "core/view/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct bj_exporter_conf, member)

enum { PATH_MAX_BYTES = 128 };

static const struct bj_opt options[] = {
    {.name = "web.listen-address",
     .kind = BJ_OPT_LIST,
     .off = AT(listen),
     .check = bj_listen_check,
     .preset = ":9010",
     .help = "Address to listen on: HOST:PORT, :PORT or [IPV6]:PORT. Repeat "
             "for more.",
     .more = ":PORT listens on IPv4 and IPv6. With port 0 the kernel chooses a "
             "free port; the log shows it.",
     .set_off = AT(listen_set)},
    {.name = "web.telemetry-path",
     .kind = BJ_OPT_STR,
     .off = AT(telemetry_path),
     .preset = "/metrics",
     .help = "Path of the metrics page.",
     .more = "The pages of other exporters are below it, each under its name, "
             "such as /metrics/jobs_exporter."},
    {.name = "web.dialect",
     .kind = BJ_OPT_STR,
     .off = AT(dialect),
     .preset = "native",
     .arg = "NAME",
     .help = "Metric names to use: native, or those of another exporter. "
             "Another exporter's names also set its port and enable its "
             "collectors, unless configured.",
     .more = "Change it to keep dashboards made for another exporter. "
             "docs/dialects.md lists the names."},
    {.name = "dialect.also",
     .kind = BJ_OPT_LIST,
     .off = AT(also),
     .arg = "NAME",
     .help = "Collect what the page of another dialect needs, in addition to "
             "web.dialect. Repeat for more.",
     .more =
         "Set it when Prometheus scrapes more than one page of this exporter.",
     .rare = true},
    {.name = "dialect.exe-count",
     .kind = BJ_OPT_BOOL,
     .off = AT(exe_count),
     .help = "Count the processes of a job by executable, as cgroup_exporter "
             "does. Needs collector.process.",
     .more = "Enable it only for dashboards of cgroup_exporter that show "
             "executables; it reads every process of a job in each pass.",
     .rare = true},
    {.name = "web.config.file",
     .kind = BJ_OPT_STR,
     .off = AT(web_file),
     .arg = "FILE",
     .help = "File with TLS settings, user names and hashed passwords, in the "
             "format of the Prometheus exporters. Read again when it changes.",
     .more =
         "Also sets HTTP headers and a rate limit. Read again on SIGHUP and "
         "when the file, or a certificate or key it names, changes. After an "
         "error the old settings stay in force and the error is logged."},
    {.name = "web.max-requests",
     .kind = BJ_OPT_U64,
     .off = AT(max_requests),
     .lo = 1,
     .hi = 5000,
     .preset = "40",
     .help = "Maximum number of concurrent responses. Further requests are "
             "refused with status 503.",
     .more = "Four times as many connections may be open; a new one then "
             "closes the oldest one without a request. A response that has not "
             "progressed for two seconds is dropped in "
             "favour of a new one. Raise it when many clients scrape at once.",
     .rare = true},
    {.name = "web.request-timeout",
     .kind = BJ_OPT_DURATION,
     .off = AT(request_usec),
     .lo = 100 * 1000,
     .hi = (uint64_t)3600 * 1000000,
     .preset = "10s",
     .help = "Time in which a request must arrive completely.",
     .more =
         "Nothing extends this time. Raise it for clients on very slow links.",
     .rare = true},
    {.name = "web.gzip",
     .kind = BJ_OPT_BOOL,
     .off = AT(gzip),
     .preset = "true",
     .help = "Compress pages for clients that accept gzip.",
     .more = "Compression takes more CPU time than generating the page. "
             "Disable it to save CPU time on the node.",
     .rare = true},
    {.name = "sample.interval",
     .kind = BJ_OPT_DURATION,
     .off = AT(interval_usec),
     .hi = (uint64_t)86400 * 1000000,
     .preset = "0s",
     .help = "Run a pass at this interval, in addition to scrapes. 0: only for "
             "scrapes.",
     .more = "Set it when scrapes are rare: jobs and processes that live "
             "between two scrapes are seen then.",
     .rare = true},
    {.name = "sample.max-age",
     .kind = BJ_OPT_DURATION,
     .off = AT(max_age_usec),
     .hi = (uint64_t)3600 * 1000000,
     .preset = "0s",
     .help = "Serve the last pass again, without a new one, when it is at most "
             "this old.",
     .more = "Set it when several Prometheus servers scrape the same node.",
     .rare = true},
    {.name = NULL},
};

void bj_exporter_conf_sets(struct bj_exporter_conf *c,
                           struct bj_optset sets[BJ_EXPORTER_SETS])
{
    sets[0] = (struct bj_optset){options, c};
    sets[1] = (struct bj_optset){bj_dialect_opts, &c->dialect_conf};
    bj_conf_sets(&c->core, sets + 2);
    sets[2 + BJ_CONF_SETS] = (struct bj_optset){bj_push_opts, &c->push};
    sets[3 + BJ_CONF_SETS] = (struct bj_optset){bj_trace_opts, &c->trace};
    sets[4 + BJ_CONF_SETS] = (struct bj_optset){bj_program_opts, &c->program};
}

void bj_exporter_conf_free(struct bj_exporter_conf *c)
{
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(c, sets);
    for (int i = 0; i < BJ_EXPORTER_SETS; i++)
        bj_opt_free(&sets[i]);
}

/* Paths are compared byte by byte after decoding. Paths with escapes, or that
 * clients normalise, would never match. */
static bool path_fits(const char *path)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    size_t n = strlen(path);
    return n > 1 && n < PATH_MAX_BYTES && path[0] == '/' &&
           path[strspn(path, plain)] == '\0' && !strstr(path, "//") &&
           !strstr(path, "/.");
}

/* Add the words of a list with commas, without duplicates. */
static int add_words(struct bj_strv *list, const char *words)
{
    struct bj_slice rest = bj_slice_str(words), word;
    while (bj_slice_field(&rest, ',', &word)) {
        size_t i = 0;
        while (i < list->n && !bj_slice_eq(bj_slice_str(list->v[i]), word))
            i++;
        if (i < list->n)
            continue;
        if (!bj_strv_add(list, strndup(word.p, word.n)))
            return -ENOMEM;
    }
    return 0;
}

/* Enable what a dialect needs, except what the configuration sets. */
static int take_needs(struct bj_exporter_conf *c, const struct bj_dialect *d)
{
    struct bj_scheduler_conf *cluster = &c->core.scheduler;
    c->core.extras |=
        d->extras | (c->dialect_conf.strict ? d->strict_extras : 0);
    for (unsigned i = 0; i < BJ_COLLECTORS; i++)
        if (d->collect & 1u << i && !c->core.collect_set[i])
            c->core.collect[i] = true;
    if (d->by && !cluster->by_set && add_words(&cluster->by, d->by) < 0)
        return -ENOMEM;
    return d->sources && !cluster->extra_set
               ? add_words(&cluster->extra, d->sources)
               : 0;
}

static int no_dialect(const char *option, const char *name, struct bj_err *err)
{
    struct bj_buf all = {0};
    bj_dialect_names(&all);
    bj_buf_put(&all, "", 1);
    bj_err_set(err, -EINVAL, "%s: '%.20s' is not one of %s", option, name,
               all.failed ? "them" : all.p);
    bj_buf_free(&all);
    return -EINVAL;
}

static int take_name(struct bj_exporter_conf *c, const char *option,
                     const char *name, const struct bj_dialect **ret,
                     struct bj_err *err)
{
    *ret = bj_dialect_find(bj_slice_str(name));
    if (!*ret && strcmp(name, "native") != 0)
        return no_dialect(option, name, err);
    return *ret && take_needs(c, *ret) < 0
               ? bj_err_set(err, -ENOMEM, "%s", option)
               : 0;
}

/* Apply web.dialect and dialect.also: collectors, default port. */
static int take_dialect(struct bj_exporter_conf *c, struct bj_err *err)
{
    const struct bj_dialect *d;
    char port[32];
    int r = 0;
    c->core.extras = c->exe_count ? BJ_EXTRA_EXES : 0;
    for (size_t i = 0; i < c->also.n && r == 0; i++)
        r = take_name(c, "dialect.also", c->also.v[i], &d, err);
    if (r == 0)
        r = take_name(c, "web.dialect", c->dialect ? c->dialect : "", &d, err);
    if (r < 0 || !d || !d->port || c->listen_set || c->listen.n != 1)
        return r;
    snprintf(port, sizeof(port), ":%s", d->port);
    char *address = strdup(port);
    if (!address)
        return bj_err_set(err, -ENOMEM, "web.dialect");
    free(c->listen.v[0]);
    c->listen.v[0] = address;
    return 0;
}

static bool is_taken(const char *path)
{
    return strcmp(path, "/health") == 0 || strcmp(path, "/cost") == 0;
}

/* trace.path must differ from all other paths. */
static int check_trace(const struct bj_exporter_conf *c, struct bj_err *err)
{
    const char *path = c->trace.path ? c->trace.path : "";
    size_t n = strlen(c->telemetry_path);
    if (!c->trace.enabled)
        return 0;
    if (!path_fits(path) || is_taken(path) ||
        (strncmp(path, c->telemetry_path, n) == 0 &&
         (path[n] == '\0' || path[n] == '/')))
        return bj_err_set(err, -EINVAL,
                          "trace.path: '%.80s' is not a path such as /trace, "
                          "or is already used",
                          path);
    return 0;
}

static int conf_check(const struct bj_exporter_conf *c, struct bj_err *err)
{
    const char *path = c->telemetry_path ? c->telemetry_path : "";
    if (!path_fits(path))
        return bj_err_set(err, -EINVAL,
                          "web.telemetry-path: '%.80s' is not a path such as "
                          "/metrics",
                          path);
    if (is_taken(path))
        return bj_err_set(err, -EINVAL,
                          "web.telemetry-path: '%s' is already used", path);
    if (check_trace(c, err) < 0)
        return -EINVAL;
    int r = bj_push_check(&c->push, err);
    if (r < 0)
        return r;
    if (c->listen.n == 0)
        return bj_err_set(err, -EINVAL,
                          "web.listen-address: at least one is required");
    return 0;
}

int bj_exporter_conf_load(struct bj_exporter_conf *c, int argc, char **argv,
                          struct bj_err *err)
{
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(c, sets);
    int r =
        bj_program_load(&c->program, sets, BJ_EXPORTER_SETS, argc, argv, err);
    if (r < 0 || c->program.help || c->program.version)
        return r;
    /* Traced jobs are exported with data from the queue. */
    c->core.scheduler.each_job = c->trace.enabled;
    r = take_dialect(c, err);
    return r < 0 ? r : conf_check(c, err);
}

void bj_exporter_conf_help(bool all, struct bj_buf *out)
{
    struct bj_exporter_conf c;
    struct bj_optset sets[BJ_EXPORTER_SETS];
    bj_exporter_conf_sets(&c, sets);
    bj_buf_str(out,
               "Usage: batchjob_exporter [OPTION]...\n"
               "       batchjob_exporter check-config [--online] [OPTION]...\n"
               "Exports metrics of the batch jobs on this node to "
               "Prometheus.\n");
    bj_opt_help_groups(sets, BJ_EXPORTER_SETS, all, out);
    if (!all)
        bj_buf_str(out, "\n--help=all shows all options.\n");
}
