/* batchjob_stats_db: import the accounting of jobs into the store. */
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/web.h"
#include "mail/command.h"
#include "mail/plots.h"
#include "mail/send.h"
#include "mail/service.h"
#include "notify/notify.h"
#include "report/form/when.h"
#include "report/model/catalogue.h"
#include "statsdb/conf/conf.h"
#include "statsdb/copy/copy.h"
#include "statsdb/daemon/balances_command.h"
#include "statsdb/daemon/check.h"
#include "statsdb/daemon/daemon.h"
#include "statsdb/daemon/rules_command.h"
#include "statsdb/daemon/work.h"
#include "statsdb/derive/derive.h"
#include "statsdb/import/import.h"
#include "statsdb/record/receiver.h"
#include "statsdb/running/running.h"
#include "statsdb/source/source_jobcomp.h"
#include "statsdb/tables/export.h"
#include "statsdb/tables/people.h"
#include "statsdb/tables/site_zone.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* The signal handler needs it. */
static struct bj_daemon_stop stop = {.wake_fd = -1};

static void on_signal(int number)
{
    (void)number;
    int saved = errno;
    uint64_t one = 1;
    atomic_store(&stop.now, true);
    if (write(stop.wake_fd, &one, sizeof(one)) < 0) {
        /* already readable */
    }
    errno = saved;
}

static int catch_signals(struct bj_err *err)
{
    struct sigaction act = {.sa_handler = on_signal};
    stop.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (stop.wake_fd < 0)
        return bj_err_set(err, -errno, "eventfd");
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGINT, &act, NULL);
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    return 0;
}

/* The period whose jobs check-config --online reads. */
static const uint64_t ONLINE_USEC = UINT64_C(600) * 1000000;

enum { WAIT_MSEC = 5000 }; /* between two attempts to get the writer's lock */

enum how { WRITE, READ, TRY };

static int open_store(const struct bj_statsdb_conf *c, enum how how,
                      struct bj_store **ret, struct bj_err *err)
{
    struct bj_store_options opt = {.path = c->path,
                                   .read_only = how == READ,
                                   .as_it_is = how == TRY,
                                   .any_filesystem = c->any_filesystem,
                                   .shrink = c->retention_usec > 0,
                                   .cache_bytes = c->cache_bytes,
                                   .max_bytes = c->max_bytes};
    return bj_store_open(&opt, ret, err);
}

/* Without a store, compare with an empty one.  A dry run fills tables and takes
 * that back, so it needs the turn to write. */
static int open_dry(const struct bj_statsdb_conf *c, struct bj_store **ret,
                    struct bj_err *err)
{
    if (!bj_db_is_file(c->path) || access(c->path, F_OK) == 0 ||
        errno != ENOENT) {
        int r = open_store(c, TRY, ret, err);
        return r == -EBUSY
                   ? bj_err_wrap(err, r,
                                 "--dry-run needs a store that no other process"
                                 " writes; beside a running service, use"
                                 " check-config --online")
                   : r;
    }
    bj_log(BJ_LOG_INFO, NULL, "store %s does not exist yet", c->path);
    return bj_store_open(
        &(struct bj_store_options){.cache_bytes = c->cache_bytes}, ret, err);
}

static int64_t wall_sec(void)
{
    return (int64_t)(bj_clock_wall_usec() / 1000000);
}

static int time_of(const char *option, const char *text, int64_t otherwise,
                   int64_t *ret, struct bj_err *err)
{
    *ret = otherwise;
    if (!text || !text[0])
        return 0;
    int r = bj_when_parse(text, wall_sec(), ret);
    return r < 0 ? bj_err_set(err, -EINVAL,
                              "%s: '%.60s' is not a time, such as"
                              " 2026-01-31, 2026-01-31T12:00:00Z or 30d",
                              option, text)
                 : 0;
}

/* --- commands --------------------------------------------------------------
 */

/* How far back to import; 0: the history of each cluster. */
static int since_of(const struct bj_statsdb_conf *c, int64_t *ret,
                    struct bj_err *err)
{
    int r = time_of("since", c->since, 0, ret, err);
    if (r == 0 && *ret > wall_sec())
        r = bj_err_set(err, -EINVAL, "since: '%.60s' is in the future",
                       c->since);
    return r;
}

static int need_cluster(const struct bj_statsdb_conf *c, struct bj_err *err)
{
    return c->clusters > 0
               ? 0
               : bj_err_set(err, -EINVAL,
                            "cluster.file: no cluster is configured; "
                            "name the YAML file of a cluster");
}

/* The time zone that this thread uses; freed at the end. */
static struct bj_tz *zone;

/* The texts that this thread uses; freed at the end. */
static struct bj_catalogue catalogue;

static int load_texts(const struct bj_statsdb_conf *c, struct bj_store *store,
                      struct bj_err *err)
{
    int r = bj_catalogue_load(c->report.texts, &catalogue, err);
    catalogue.memory_margin = (int64_t)c->report.memory_margin;
    catalogue.time_margin = (int64_t)c->report.time_margin;
    catalogue.memory_of_cpu = (int64_t)c->report.memory_of_cpu;
    struct bj_rules *rules = NULL;
    if (r == 0 && store && c->findings)
        r = bj_rules_load(c->findings_file, &rules, err);
    catalogue.rules = rules;
    if (r == 0 && store)
        r = bj_catalogue_write(store, &catalogue, err);
    catalogue.rules = NULL;
    bj_rules_free(rules);
    bj_locals_use(&catalogue.locals);
    return r;
}

/* Before anything writes sums. */
static int set_zone(const struct bj_statsdb_conf *c, struct bj_store *store,
                    struct bj_err *err)
{
    bool changed;
    int r = bj_site_zone_set(store, c->report.time_zone, &changed, err);
    bj_tz_free(zone);
    zone = NULL;
    if (r == 0)
        r = bj_site_zone_read(bj_store_db(store), &zone, err);
    if (r == 0 && changed)
        bj_log(BJ_LOG_INFO, NULL, "days and times are those of %s",
               bj_tz_name(zone));
    bj_tz_use(zone);
    return r;
}

static int print_texts(const struct bj_statsdb_conf *c, char *const *word,
                       struct bj_err *err)
{
    struct bj_buf out = {0};
    (void)c;
    (void)word;
    bj_catalogue_print(&out);
    int r = out.failed ? bj_err_set(err, -ENOMEM, "texts") : 0;
    fwrite(out.p, 1, out.len, stdout);
    bj_buf_free(&out);
    return r;
}

static int explain_rules(const struct bj_statsdb_conf *c, char *const *word,
                         struct bj_err *err)
{
    struct bj_rules *rules = NULL;
    struct bj_store *store = NULL;
    struct bj_buf out = {0};
    if (!word[0])
        return bj_err_set(err, -EINVAL,
                          "name the job: batchjob_stats_db rules JOB");
    int r = bj_rules_load(c->findings_file, &rules, err);
    if (r == 0)
        r = open_store(c, READ, &store, err);
    if (r == 0)
        r = bj_rules_explain(store, rules, word[0], &out, err);
    if (r == 0)
        fwrite(out.p, 1, out.len, stdout);
    bj_buf_free(&out);
    bj_store_close(store);
    bj_rules_free(rules);
    return r;
}

/* What is right is printed, also if a line of the file is not. */
static int print_balances(const struct bj_statsdb_conf *c, char *const *word,
                          struct bj_err *err)
{
    struct bj_store *store = NULL;
    struct bj_buf out = {0};
    int r = open_store(c, READ, &store, err);
    if (r == 0)
        r = bj_balances(store, word[0], word[0] ? word[1] : NULL,
                        (int64_t)(bj_clock_wall_usec() / 1000000), &out, err);
    if ((r == 0 || r == -EINVAL) && out.len > 1)
        fwrite(out.p, 1, out.len, stdout);
    bj_buf_free(&out);
    bj_store_close(store);
    return r;
}

/* Several processes may wait for a store on a server; one of them writes it,
 * and after its connection has ended, the next one. A server that does not
 * respond is waited for, too. */
static int open_leading(const struct bj_statsdb_conf *c, struct bj_store **ret,
                        struct bj_err *err)
{
    const bool waits = !c->once && !bj_db_is_file(c->path);
    int last = 0, r;
    while ((r = open_store(c, WRITE, ret, err)) < 0 && waits &&
           (r == -EBUSY || r == -ECONNREFUSED) && !atomic_load(&stop.now)) {
        if (r != last)
            bj_log(r == -EBUSY ? BJ_LOG_INFO : BJ_LOG_WARN, err,
                   "store: waiting");
        last = r;
        struct pollfd fd = {.fd = stop.wake_fd, .events = POLLIN};
        poll(&fd, 1, WAIT_MSEC);
    }
    if (last < 0 && r == 0)
        bj_log(BJ_LOG_INFO, NULL, "store: this process writes it now");
    return r;
}

/* Run until stopped, or until an error. */
static int run_once(const struct bj_statsdb_conf *c, int64_t since,
                    struct bj_err *err)
{
    struct bj_store *store = NULL;
    int r =
        c->dry_run ? open_dry(c, &store, err) : open_leading(c, &store, err);
    if (r == 0 && c->check)
        r = bj_store_check(store, err);
    if (r == 0)
        r = load_texts(c, c->dry_run ? NULL : store, err);
    if (r == 0 && !c->dry_run)
        r = set_zone(c, store, err);
    struct bj_mail_service *mail = NULL;
    struct bj_mail_plots_from plots = bj_mail_plots_from_conf(c, &stop.now);
    if (r == 0 && !c->dry_run)
        r = bj_mail_service_new(&c->mail, store, &stop.now,
                                c->mail.plots ? &plots : NULL, !c->once, &mail,
                                err);
    if (r == 0)
        r = bj_daemon_run(c, store, since, &stop, err);
    if (r == 0 && mail && c->once)
        r = bj_mail_service_round(mail, err);
    bj_mail_service_free(mail);
    bj_store_close(store);
    return r;
}

static int main_run(const struct bj_statsdb_conf *c, char *const *word,
                    struct bj_err *err)
{
    (void)word;
    int64_t since;
    unsigned full = 0;
    int r = since_of(c, &since, err);
    if (r == 0)
        r = need_cluster(c, err);
    if (r == 0)
        r = catch_signals(err);
    struct bj_err why = {0};
    if (r == 0 && bj_notify("READY=1", &why) < 0)
        bj_log(BJ_LOG_WARN, &why, "notification of systemd");
    if (r == 0)
        r = run_once(c, since, err);
    while ((r == -ENOLINK || r == -ENOSPC) && !c->once &&
           !atomic_load(&stop.now)) {
        /* A full disk at the start is logged once, not at each attempt. */
        if (r == -ENOLINK)
            bj_log(BJ_LOG_WARN, err, "store: starting again");
        else if (!full++)
            bj_log(BJ_LOG_ERROR, err, "store: waiting for room on its disk");
        if (r == -ENOSPC) {
            struct pollfd fd = {.fd = stop.wake_fd, .events = POLLIN};
            poll(&fd, 1, WAIT_MSEC);
        }
        *err = (struct bj_err){0};
        r = run_once(c, since, err);
    }
    if (!atomic_load(&stop.now))
        return r;
    bj_log(BJ_LOG_INFO, NULL, "stopped");
    return r == -EBUSY ? 0 : r; /* it was still waiting */
}

/* A dry run for a short period; a daemon may run at the same time. */
static int query_schedulers(const struct bj_statsdb_conf *c, struct bj_err *err)
{
    struct bj_statsdb_conf dry = *c;
    struct bj_store *store = NULL;
    dry.dry_run = true;
    for (size_t i = 0; i < dry.clusters; i++) {
        struct bj_cluster_conf *k = &dry.cluster[i];
        k->slice_usec =
            k->slice_usec < ONLINE_USEC ? k->slice_usec : ONLINE_USEC;
        k->overlap_usec = 0;
    }
    int r = catch_signals(err);
    if (r == 0)
        r = bj_store_open(
            &(struct bj_store_options){.cache_bytes = c->cache_bytes}, &store,
            err);
    if (r == 0)
        r = bj_daemon_run(&dry, store, 0, &stop, err);
    bj_store_close(store);
    return r;
}

static int check_config(const struct bj_statsdb_conf *c, char *const *word,
                        struct bj_err *err)
{
    (void)word;
    int64_t sec;
    struct bj_web *web = NULL;
    int r = since_of(c, &sec, err);
    if (r == 0)
        r = time_of("until", c->until, 0, &sec, err);
    if (r == 0)
        r = bj_web_new("web.config.file", c->web_file, &web, err);
    bj_web_unref(web);
    if (r == 0)
        r = bj_receiver_check(&c->receiver, err);
    if (r == 0)
        r = bj_source_jobcomp_check(&c->jobcomp, err);
    if (r == 0)
        r = bj_work_check(c, err);
    if (r == 0)
        r = bj_running_check(c, err);
    if (r == 0)
        r = bj_mail_check(&c->mail, err);
    if (r == 0)
        r = bj_notify_check(c, err);
    if (r == 0)
        r = load_texts(c, NULL, err);
    if (r == 0)
        r = need_cluster(c, err);
    if (r == 0)
        r = bj_check_config(c, err);
    if (r == 0 && c->online)
        r = bj_check_online(c, &stop.now, err);
    if (r == 0 && c->online)
        r = bj_mail_greet(&c->mail, err);
    if (r == 0 && c->online)
        r = bj_notify_greet(c, &stop.now, err);
    if (r == 0 && c->online)
        r = query_schedulers(c, err);
    if (r == 0)
        bj_notify_print(c);
    if (r == 0)
        printf("store %s, %zu cluster%s: fine for user id %u\n",
               bj_db_shown(c->path), c->clusters, c->clusters == 1 ? "" : "s",
               (unsigned)geteuid());
    return r;
}

static int check_store(const struct bj_statsdb_conf *c, char *const *word,
                       struct bj_err *err)
{
    (void)word;
    struct bj_store *store;
    int r = open_store(c, READ, &store, err);
    if (r < 0)
        return r;
    r = bj_store_check(store, err);
    if (r == 0)
        printf("%s: consistent\n", bj_db_shown(c->path));
    bj_store_close(store);
    return r;
}

static int backup(const struct bj_statsdb_conf *c, char *const *word,
                  struct bj_err *err)
{
    int r = catch_signals(err);
    return r < 0 ? r : bj_backup_command(c, word[0], &stop.now, err);
}

static int export(const struct bj_statsdb_conf *c, char *const *word,
                  struct bj_err *err)
{
    (void)word;
    struct bj_store *store;
    struct bj_export what = {.format = strcmp(c->format, "jsonl") == 0
                                           ? BJ_EXPORT_JSONL
                                           : BJ_EXPORT_CSV};
    int r = time_of("since", c->since, 0, &what.since_sec, err);
    if (r == 0)
        r = time_of("until", c->until, INT64_MAX, &what.until_sec, err);
    if (r == 0)
        r = open_store(c, READ, &store, err);
    if (r < 0)
        return r;
    r = bj_export_jobs(store, &what, stdout, err);
    bj_store_close(store);
    return r;
}

static int main_copy(const struct bj_statsdb_conf *c, char *const *word,
                     struct bj_err *err)
{
    (void)word;
    int r = catch_signals(err);
    return r < 0 ? r : bj_copy_command(c, &stop.now, err);
}

static void on_bad(void *ctx, int64_t row, const char *why)
{
    unsigned *logged = ctx;
    if (++*logged <= 10)
        bj_log(BJ_LOG_WARN, NULL, "import: row %lld: %s", (long long)row, why);
}

static int import(const struct bj_statsdb_conf *c, char *const *word,
                  struct bj_err *err)
{
    const char *what = word[0], *file = what ? word[1] : NULL;
    struct bj_store *store;
    struct bj_import_counts n;
    unsigned logged = 0;
    bool original = what && strcmp(what, "original") == 0;
    if (!original && (!what || strcmp(what, "jobstats") != 0))
        return bj_err_set(err, -EINVAL,
                          "import: expected 'original FILE' or 'jobstats'");
    if (original && !file)
        return bj_err_set(err, -EINVAL,
                          "import original: a file name is required");
    int r = catch_signals(err);
    if (r == 0)
        r = open_store(c, WRITE, &store, err);
    if (r < 0)
        return r;
    struct bj_import im = {
        .store = store, .stop = &stop.now, .bad = on_bad, .ctx = &logged};
    r = original ? bj_import_original(&im, file, c->import_cluster, &n, err)
                 : bj_import_jobstats(&im, &n, err);
    bj_store_close(store);
    if (r < 0 && n.rows == 0)
        return r;
    printf("%llu rows: %llu imported, %llu known, %llu skipped\n",
           (unsigned long long)n.rows, (unsigned long long)n.taken,
           (unsigned long long)n.known, (unsigned long long)n.bad);
    return r;
}

static int rename_people(const struct bj_statsdb_conf *c, char *const *word,
                         struct bj_err *err)
{
    struct bj_store *store;
    bool user = word[0] && strcmp(word[0], "user") == 0;
    if ((!user && !(word[0] && strcmp(word[0], "account") == 0)) || !word[2])
        return bj_err_set(err, -EINVAL,
                          "rename: expected 'user OLD NEW' or "
                          "'account OLD NEW'");
    int r = open_store(c, WRITE, &store, err);
    if (r < 0)
        return r;
    r = bj_people_rename(store, user ? BJ_PEOPLE_USER : BJ_PEOPLE_ACCOUNT,
                         word[1], word[2], err);
    bj_store_close(store);
    return r;
}

static int delete_user(const struct bj_statsdb_conf *c, char *const *word,
                       struct bj_err *err)
{
    struct bj_store *store;
    if (!word[0])
        return bj_err_set(err, -EINVAL, "delete-user: a user is required");
    int r = open_store(c, WRITE, &store, err);
    if (r < 0)
        return r;
    r = bj_people_delete(store, word[0], err);
    bj_store_close(store);
    return r;
}

/* --- start -----------------------------------------------------------------
 */

static void print_help(bool all, struct bj_buf *out)
{
    bj_buf_str(
        out,
        "Usage: batchjob_stats_db [COMMAND] [OPTION]...\n"
        "Imports the accounting of jobs into a store, a file or a database of "
        "PostgreSQL.\n\n"
        "  run           import accounting until stopped, or with --once once\n"
        "  check-config  check the configuration\n"
        "  check         check the consistency of the store\n"
        "  backup FILE   copy the store while it is in use\n"
        "  copy          copy a store into another one, also of another "
        "engine\n"
        "  export        jobs as CSV or JSON lines on standard output\n"
        "  rules JOB     the facts of an ended job, and which rules apply to "
        "it\n"
        "  balances core-hours|gpu-hours FILE   what accounts have left, for "
        "Open OnDemand\n"
        "  rename user|account OLD NEW   give jobs, records and sums the new "
        "name\n"
        "  delete-user USER   remove what the store says of a person\n"
        "  import original FILE   jobs of batchjob_monitoring's database\n"
        "  import jobstats        jobstats' summaries in the comments of the "
        "store's jobs\n");
    bj_buf_str(out, bj_mail_command_help);
    bj_buf_str(out, "  texts         print the built-in texts of reports, as "
                    "report.texts replaces them\n");
    bj_buf_str(out, "\nThe default command is run.\n");
    bj_statsdb_conf_help(all, out);
}

static const struct command {
    const char *name;
    unsigned most; /* maximum number of arguments */
    int (*run)(const struct bj_statsdb_conf *c, char *const *word,
               struct bj_err *err);
} commands[] = {
    {"run", 0, main_run},
    {"check-config", 0, check_config},
    {"check", 0, check_store},
    {"backup", 1, backup},
    {"copy", 0, main_copy},
    {"export", 0, export},
    {"import", 2, import},
    {"mail", 3, bj_mail_command},
    {"texts", 0, print_texts},
    {"rules", 1, explain_rules},
    {"rename", 3, rename_people},
    {"delete-user", 1, delete_user},
    {"balances", 2, print_balances},
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

/* word: the command, its argument, NULL. */
static int dispatch(const struct bj_statsdb_conf *c, char *const *word,
                    struct bj_err *err)
{
    static char *const none[] = {NULL};
    unsigned i = 0, n = 0;
    if (!word[0])
        return main_run(c, none, err);
    while (i < COMMANDS && strcmp(word[0], commands[i].name) != 0)
        i++;
    if (i == COMMANDS)
        return bj_err_set(
            err, -EINVAL,
            "'%.40s' is not a command (run, balances, check-config, "
            "check, backup, copy, delete-user, export, import, mail, "
            "rename, rules, texts)",
            word[0]);
    while (n < commands[i].most && word[n + 1])
        n++;
    return word[n + 1]
               ? bj_err_set(err, -EINVAL, "%s: unexpected argument '%.40s'",
                            word[0], word[n + 1])
               : commands[i].run(c, word + 1, err);
}

int main(int argc, char **argv)
{
    struct bj_statsdb_conf conf = {0};
    struct bj_err err = {0};
    char text[400];
    int drawn;
    if (bj_mail_plots_drawn(argc, argv, &drawn))
        return drawn;
    char **word = calloc((size_t)argc + 1, sizeof(*word));
    if (word)
        bj_statsdb_conf_words(&argc, argv, word);
    int r = word ? bj_statsdb_conf_load(&conf, argc, argv, &err)
                 : bj_err_set(&err, -ENOMEM, "options");
    if (conf.receiver.listen.n > 0 || bj_mail_is_on(&conf.mail) ||
        bj_running_is_on(&conf) || bj_notify_is_on(&conf))
        bj_db_own_threads();
    else
        bj_db_single_thread();
    if (r == 0 &&
        !bj_program_print(&conf.program, "batchjob_stats_db", print_help)) {
        bj_program_log(&conf.program);
        r = dispatch(&conf, word, &err);
    }
    if (r < 0)
        fprintf(stderr, "batchjob_stats_db: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
    bj_statsdb_conf_free(&conf);
    free(word);
    return r < 0 ? 1 : 0;
}
