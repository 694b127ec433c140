/* batchjob_acct: prints jobs of the accounting database. */
#include "acct/api.h"
#include "acct/conf.h"
#include "acct/out.h"
#include "acct/period.h"
#include "acct/report.h"
#include "acct/running.h"
#include "acct/store.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/local.h"
#include "base/opt.h"
#include "base/opt_value.h"
#include "base/save.h"
#include "base/tz.h"
#include "report/form/when.h"
#include "report/model/catalogue.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Output to a file. */

/* Properties of the terminal. */

/* Replace the file at path by the output of print.  If print or writing fails,
 * the old file stays. */
static int acct_to_file(const char *path,
                        int (*print)(void *ctx, FILE *to, struct bj_err *err),
                        void *ctx, struct bj_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    int r = to ? print(ctx, to, err) : bj_err_set(err, -ENOMEM, "output");
    if (to && fclose(to) != 0)
        r = bj_err_set(err, -ENOMEM, "output");
    if (r == 0) {
        const mode_t mask = umask(077);
        umask(mask);
        r = bj_save(path, (struct bj_slice){text, n}, 0640 & ~mask, 0, err);
    }
    free(text);
    return r;
}

/* Number of columns; 0: the output is not a terminal. */
static unsigned terminal_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO) || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
        return 0;
    return size.ws_col;
}

/* Should text be coloured?  choice is "always", "never" or "auto": on a
 * terminal unless NO_COLOR is set. */
static bool terminal_coloured(const char *choice)
{
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    if (strcmp(choice, "auto") != 0)
        return strcmp(choice, "always") == 0;
    return isatty(STDOUT_FILENO) && !(no && no[0]) && term &&
           strcmp(term, "dumb") != 0;
}

/* Is the locale UTF-8? */
static bool terminal_utf8(void)
{
    const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (unsigned i = 0; i < 3; i++) {
        const char *v = getenv(names[i]);
        if (v && v[0])
            return strcasestr(v, "utf-8") || strcasestr(v, "utf8");
    }
    return false;
}

/* Read if it exists, before the command line. */
#define CONFIG_FILE "/etc/batchjob/acct.yml"

/* sacct's letters. */
static struct bj_opt_letter letters[] = {
    {'A', "--account"},   {'E', "--until"},
    {'M', "--cluster"},   {'N', "--node"},
    {'S', "--since"},     {'V', "--version"},
    {'h', "--help"},      {'j', "--job"},
    {'n', "--no-header"}, {'o', "--format"},
    {'r', "--partition"}, {'s', "--state"},
    {'u', "--user"},      {0, ""},
};

static void print_help(bool all, struct bj_buf *out)
{
    struct bj_acct_conf conf;
    struct bj_optset sets[BJ_ACCT_SETS];
    bj_buf_str(out,
               "Usage: batchjob_acct [JOB | OPTION]...\n"
               "       batchjob_acct report [JOB | OPTION]...\n"
               "Prints jobs of the accounting database, the newest first, and "
               "their efficiency.\nUnknown values are empty.\n\n"
               "\"report\" prints what was wrong with a job, what it used, and "
               "what to request\nnext time: with --format=pdf as PDF, with "
               "--format=js1 as jobstats' summary for\nAdminComment. With "
               "--user, --account or --month instead of jobs it prints "
               "the\nsums of the last 30 days or of that month, and the jobs "
               "that left most unused.\n\n");
    bj_buf_str(out, "Short options, as in sacct:");
    for (unsigned i = 0; letters[i].letter; i++)
        bj_buf_printf(out, "%s-%c %s", i % 4 ? ", " : "\n  ", letters[i].letter,
                      letters[i].option);
    bj_buf_str(out, "\n");
    bj_acct_conf_sets(&conf, sets);
    for (unsigned i = 0; i < BJ_ACCT_SETS; i++) {
        bj_buf_printf(out, "\n%s:\n", bj_acct_headings[i]);
        bj_opt_help(&sets[i], out);
    }
    if (all) {
        bj_buf_str(out, "\nColumns:\n\n");
        bj_acct_columns_help(out);
    } else {
        bj_buf_str(out, "\n--help=all also lists the columns.\n");
    }
}

/* --- form ------------------------------------------------------------------
 */

/* By default, show the cluster if there are several, because each has its own
 * ids. */
static int columns(const struct bj_acct_conf *c,
                   const struct bj_acct_source *from,
                   const struct bj_column *ret[BJ_ACCT_COLUMNS_MAX],
                   unsigned *ret_n, struct bj_err *err)
{
    char with[] = "Cluster", usual[] = BJ_ACCT_FORMAT, every[] = "all";
    char *names[] = {with, usual}, *list[] = {every};
    struct bj_strv format = {names, 2};
    struct bj_acct_clusters clusters;
    if (c->format.n > 0)
        return bj_acct_format(&c->format, ret, ret_n, err);
    if (strcmp(c->output, "list") == 0)
        return bj_acct_format(&(struct bj_strv){list, 1}, ret, ret_n, err);
    int r = from->clusters(from->source, &clusters, err);
    if (r < 0)
        return r;
    free(clusters.v);
    if (clusters.n < 2)
        format = (struct bj_strv){names + 1, 1};
    return bj_acct_format(&format, ret, ret_n, err);
}

/* --- selection -------------------------------------------------------------
 */

static int time_option(const char *name, const char *text, int64_t *ret,
                       struct bj_err *err)
{
    int64_t now = (int64_t)(bj_clock_wall_usec() / 1000000);
    if (!text || !text[0])
        return 0;
    if (bj_when_parse(text, now, ret) < 0)
        return bj_err_set(err, -EINVAL,
                          "%s: '%.60s' is not a time, such as"
                          " 2026-01-31, 2026-01-31T12:00:00, 12h or yesterday",
                          name, text);
    return 0;
}

/* Are jobs with any begin selected, unless an option limits it? */
static bool any_begin(const struct bj_acct_conf *c)
{
    return c->filter.job.n > 0 || bj_acct_only_open(&c->filter.state);
}

static int main_times(struct bj_acct_conf *c, struct bj_err *err)
{
    if (bj_is_set(c->month))
        return bj_acct_month(c->month, &c->filter.since_sec,
                             &c->filter.until_sec) < 0
                   ? bj_err_set(
                         err, -EINVAL,
                         "month: '%.60s' is not a month, such as 2026-11",
                         c->month)
                   : 0;
    c->filter.since_sec = INT64_MIN;
    c->filter.until_sec = INT64_MAX;
    int r = time_option("until", c->until, &c->filter.until_sec, err);
    if (r == 0)
        r = time_option("since",
                        c->since       ? c->since
                        : any_begin(c) ? ""
                                       : c->default_since,
                        &c->filter.since_sec, err);
    return r;
}

/* --- printing --------------------------------------------------------------
 */

struct printer {
    struct bj_acct_out *out;
    struct bj_acct_running *running;
    int64_t now_sec;
    uint64_t rows;
};

static int print_row(void *ctx, const struct bj_acct_row *row,
                     struct bj_err *err)
{
    struct printer *p = ctx;
    struct bj_acct_row now;
    p->rows++;
    int r = bj_acct_running_row(p->running, row, p->now_sec, &now, err);
    return r < 0 ? r : bj_acct_out_row(p->out, &now, err);
}

static int print_jobs(const struct bj_acct_source *from,
                      const struct bj_acct_filter *filter,
                      const struct bj_acct_look *look, uint64_t *ret_rows,
                      struct bj_err *err)
{
    struct printer p = {.now_sec = (int64_t)(bj_clock_wall_usec() / 1000000)};
    struct bj_acct_query q = {.filter = *filter};
    int r = bj_acct_out_new(look, &p.out, err);
    if (r == 0)
        r = bj_acct_running_new(from, look->column, look->columns, &p.running,
                                err);
    if (r == 0) {
        q.columns = bj_acct_running_columns(p.running, &q.column);
        r = from->jobs(from->source, &q, print_row, &p, err);
    }
    if (r == 0)
        r = bj_acct_out_end(p.out, err);
    bj_acct_out_free(p.out);
    bj_acct_running_free(p.running);
    *ret_rows = p.rows;
    return r;
}

static const char *const forms[] = {[BJ_ACCT_TABLE] = "table",
                                    [BJ_ACCT_LIST] = "list",
                                    [BJ_ACCT_CSV] = "csv",
                                    [BJ_ACCT_JSON] = "json"};

static int open_source(const struct bj_acct_conf *c, struct bj_acct_source *ret,
                       struct bj_err *err)
{
    char text[200];
    if (bj_is_set(c->api.server) && !bj_is_set(c->path))
        return bj_acct_api_open(&c->api, ret, err);
    int r = bj_acct_store_open(bj_is_set(c->path) ? c->path : BJ_ACCT_STORE,
                               c->any_filesystem, ret, err);
    if (!bj_is_set(c->path) && (r == -EACCES || r == -EPERM || r == -ENOENT))
        r = bj_err_set(
            err, -EINVAL,
            "%s; to read jobs from a server, set server in " CONFIG_FILE
            " or --server",
            bj_err_reason(err, text, sizeof(text)));
    return r;
}

/* The time zone in which times are read and printed. */
static struct bj_tz *zone;

/* Use the site's time zone; with --utc stay in UTC. */
static int use_zone(const struct bj_acct_conf *c,
                    const struct bj_acct_source *from, struct bj_err *err)
{
    struct bj_acct_site site = {.time_zone = ""};
    if (c->utc)
        return 0;
    int r = from->site(from->source, &site, err);
    if (r == 0)
        r = bj_tz_load(site.time_zone[0] ? site.time_zone : "UTC", &zone, err);
    bj_tz_use(zone);
    return r;
}

static void close_source(struct bj_acct_source *from)
{
    if (from->close)
        from->close(from->source);
    bj_tz_free(zone);
    zone = NULL;
}

static void set_look(const struct bj_acct_conf *c, struct bj_acct_look *look)
{
    for (unsigned i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strcmp(c->output, forms[i]) == 0)
            look->form = (enum bj_acct_form)i;
    look->header = c->header;
    look->colour = terminal_coloured(c->colour);
    look->width = terminal_width();
    look->to = stdout;
}

/* --- reports ---------------------------------------------------------------
 */

/* The form of reports, from --output=json, --format=js1 or pdf, or --as. */
static int report_form(const struct bj_acct_conf *c,
                       enum bj_acct_report_form *ret, struct bj_err *err)
{
    const bool pdf = c->format.n == 1 && strcmp(c->format.v[0], "pdf") == 0;
    if (c->format.n > 0 && !pdf &&
        (c->format.n > 1 || strcmp(c->format.v[0], "js1") != 0))
        return bj_err_set(err, -EINVAL,
                          "format: expected pdf or js1 for a report");
    if (pdf && !bj_is_set(c->file) && isatty(STDOUT_FILENO))
        return bj_err_set(err, -EINVAL,
                          "format: a PDF cannot be printed on a terminal; set "
                          "--file=FILE, or redirect the output");
    *ret = pdf                              ? BJ_ACCT_PDF
           : c->format.n > 0                ? BJ_ACCT_JS1
           : strcmp(c->output, "json") == 0 ? BJ_ACCT_REPORT_JSON
           : strcmp(c->output, "csv") == 0  ? BJ_ACCT_REPORT_CSV
           : strcmp(c->as, "seff") == 0     ? BJ_ACCT_SEFF
           : strcmp(c->as, "jobstats") == 0 ? BJ_ACCT_JOBSTATS
                                            : BJ_ACCT_REPORT;
    return 0;
}

/* Set "no job found", and since when new jobs are missing. */
static int no_job(const struct bj_acct_source *from, const char *where,
                  struct bj_err *err)
{
    struct bj_acct_clusters clusters;
    int64_t complete_sec = INT64_MAX; /* of all clusters */
    int64_t now_sec = (int64_t)(bj_clock_wall_usec() / 1000000);
    char age[BJ_AMOUNT_MAX];
    struct bj_err ignored = {0};
    int r = from->clusters(from->source, &clusters, &ignored);
    for (size_t i = 0; r == 0 && i < clusters.n; i++)
        if (clusters.v[i].complete_sec != INT64_MIN &&
            clusters.v[i].complete_sec < complete_sec)
            complete_sec = clusters.v[i].complete_sec;
    if (r == 0)
        free(clusters.v);
    if (r < 0 || complete_sec > now_sec)
        return bj_err_set(err, -EINVAL, "no job found%s", where);
    return bj_err_set(
        err, -EINVAL,
        "no job found%s; the last import was %s ago, jobs that "
        "were submitted since follow with the next one",
        where,
        bj_duration_text((uint64_t)(now_sec - complete_sec) * 1000000, age));
}

static int print_report(struct bj_acct_conf *c, FILE *to, struct bj_err *err)
{
    struct bj_acct_source from = {.source = NULL};
    struct bj_acct_report_look look = {
        .colour = terminal_coloured(c->colour) && to == stdout,
        .ascii = c->ascii || !terminal_utf8(),
        .letter = strcmp(c->paper, "letter") == 0,
        .to = to};
    uint64_t reports = 0;
    const bool period = c->filter.job.n == 0 &&
                        (c->filter.user.n > 0 || c->filter.account.n > 0 ||
                         bj_is_set(c->month) || bj_is_set(c->since));
    int r = report_form(c, &look.form, err);
    if (r == 0 && !period && c->filter.job.n == 0)
        r = bj_err_set(err, -EINVAL,
                       "report: expected the id of a job, or one of --user, "
                       "--account, --month and --since");
    if (r == 0 && period && look.form != BJ_ACCT_REPORT &&
        look.form != BJ_ACCT_REPORT_JSON && look.form != BJ_ACCT_PDF &&
        look.form != BJ_ACCT_REPORT_CSV)
        r = bj_err_set(err, -EINVAL, "report: this form needs the id of a job");
    if (period && !c->since && !bj_is_set(c->month))
        c->default_since = "30d";
    if (r == 0 && !period && look.form == BJ_ACCT_REPORT_CSV)
        r = bj_err_set(err, -EINVAL,
                       "output: the report of a job has no CSV; expected json, "
                       "or a list without the word report");
    if (r == 0)
        r = open_source(c, &from, err);
    if (r == 0)
        r = use_zone(c, &from, err);
    if (r == 0)
        r = main_times(c, err);
    if (r < 0) {
        close_source(&from);
        return r;
    }
    struct bj_locals texts = {.n = 0};
    if (from.db)
        r = bj_catalogue_locals(from.db, &texts, err);
    bj_locals_use(&texts);
    if (r == 0)
        r = period ? bj_acct_period(&from, &c->filter, c->by, &look, err)
                   : bj_acct_report(&from, &c->filter, &look, &reports, err);
    if (r == 0 && !period && reports == 0)
        r = no_job(&from, "", err);
    bj_locals_free(&texts);
    close_source(&from);
    return r;
}

static int to_file(void *ctx, FILE *to, struct bj_err *err)
{
    return print_report(ctx, to, err);
}

static int run_report(struct bj_acct_conf *c, struct bj_err *err)
{
    return bj_is_set(c->file) ? acct_to_file(c->file, to_file, c, err)
                              : print_report(c, stdout, err);
}

/* --- lists -----------------------------------------------------------------
 */

static int acct_run(struct bj_acct_conf *c, struct bj_err *err)
{
    const struct bj_column *column[BJ_ACCT_COLUMNS_MAX];
    struct bj_acct_source from = {.source = NULL};
    struct bj_acct_look look = {.column = column};
    uint64_t rows = 0;
    set_look(c, &look);
    int r = open_source(c, &from, err);
    if (r == 0)
        r = use_zone(c, &from, err);
    if (r == 0)
        r = main_times(c, err);
    if (r < 0) {
        close_source(&from);
        return r;
    }
    r = columns(c, &from, column, &look.columns, err);
    if (r == 0)
        r = print_jobs(&from, &c->filter, &look, &rows, err);
    if (r == 0 && rows == 0 && look.form <= BJ_ACCT_LIST) {
        struct bj_err why = {0};
        no_job(&from,
               c->since || any_begin(c) ? ""
                                        : " in the last 7 days (see --since)",
               &why);
        fprintf(stderr, "batchjob_acct: %s\n", why.msg);
    }
    close_source(&from);
    return r;
}

/* --- start -----------------------------------------------------------------
 */

/* The program that the name of a link stands for. */
static const char *called_as(const char *program)
{
    const char *slash = strrchr(program, '/');
    const char *name = slash ? slash + 1 : program;
    return strcmp(name, "seff") == 0       ? "--as=seff"
           : strcmp(name, "jobstats") == 0 ? "--as=jobstats"
                                           : NULL;
}

/* The arguments after the configuration file, if it exists, with "--job 4711"
 * for each word but a first "report".  NULL: no memory. */
static char **arguments(const struct bj_optset *sets, size_t n, int *argc,
                        char **argv, bool *ret_report)
{
    static char option[] = "--job", file[] = "--config.file=" CONFIG_FILE;
    size_t all = (size_t)*argc;
    char **word = calloc(all + 1, sizeof(*word));
    char **v = calloc(2 * all + 3, sizeof(*v));
    const char *as = called_as(argv[0]);
    *ret_report = as != NULL;
    if (!word || !v) {
        free(word);
        free(v);
        return NULL;
    }
    size_t words = bj_opt_words(sets, n, letters, argc, argv, word);
    int to = 0;
    v[to++] = argv[0];
    if (access(CONFIG_FILE, F_OK) == 0)
        v[to++] = file;
    if (as)
        v[to++] = (char *)(uintptr_t)as; /* is only read */
    for (int i = 1; i < *argc; i++)
        v[to++] = argv[i];
    size_t i = !as && words > 0 && strcmp(word[0], "report") == 0;
    *ret_report = as || i > 0;
    for (; i < words; i++) {
        v[to++] = option;
        v[to++] = word[i];
    }
    *argc = to;
    free(word);
    return v;
}

int main(int argc, char **argv)
{
    struct bj_acct_conf conf = {.default_since = "7d"};
    struct bj_err err = {0};
    char text[400];
    struct bj_optset sets[BJ_ACCT_SETS];
    bj_db_single_thread();
    bj_acct_conf_sets(&conf, sets);
    char **args = arguments(sets, BJ_ACCT_SETS, &argc, argv, &conf.report);
    int r = args ? bj_program_load(&conf.program, sets, BJ_ACCT_SETS, argc,
                                   args, &err)
                 : bj_err_set(&err, -ENOMEM, "options");
    if (r == 0 &&
        !bj_program_print(&conf.program, "batchjob_acct", print_help)) {
        bj_program_log(&conf.program);
        r = conf.report ? run_report(&conf, &err) : acct_run(&conf, &err);
    }
    if (r < 0)
        fprintf(stderr, "batchjob_acct: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
    free(args);
    for (unsigned i = 0; i < BJ_ACCT_SETS; i++)
        bj_opt_free(&sets[i]);
    return r < 0 ? 1 : 0;
}
