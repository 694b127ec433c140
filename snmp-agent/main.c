/* batchjob_snmp: metrics of the batch jobs on this node, for SNMP managers.
 *
 * The main thread runs passes and sorts their rows; the thread of the session
 * answers requests from the newest ones. */
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "core/check.h"
#include "core/core.h"
#include "core/host.h"
#include "core/sender.h"
#include "snmp-agent/conf.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

enum {
    BIG_BYTES = 128 * 1024,
    TRIM_FIRST = 4,   /* trim memory after this pass, */
    TRIM_PASSES = 64, /* and again after this many */
    STALE_INTERVALS = 4,
    STALE_USEC = 60 * 1000000
};

/* State of the program. */
struct agent {
    struct bj_snmp_conf conf;
    struct bj_log_repeats repeats;
    struct bj_host host;
    struct bj_oid base;
    struct bj_core *core;
    struct bj_snmp_view *view;
    struct bj_session *session;
    struct bj_edges edges;
    struct bj_snmp_rows *rows; /* of the newest pass that succeeded */
    struct bj_main main;
    uint64_t passes;
    uint64_t pass_usec; /* of the next one */
};

static bool send_edge(void *ctx, struct bj_buf variables)
{
    struct agent *a = ctx;
    return bj_session_notify(a->session, variables);
}

/* Run a pass and show its rows; the core logs faults. */
static void agent_pass(struct agent *a)
{
    struct bj_snap *snap = NULL;
    struct bj_snmp_rows *rows = NULL;
    if (bj_core_pass(a->core, &snap, NULL) == 0)
        rows = bj_snmp_rows_new(snap, &a->conf.core, a->conf.max_rows);
    bj_snap_unref(snap);
    if (a->passes++ % TRIM_PASSES == TRIM_FIRST)
        bj_trim();
    bj_snmp_view_set(a->view, rows ? bj_snmp_rows_ref(rows) : NULL);
    if (!rows)
        return;
    if (a->rows)
        bj_edges_compare(&a->edges, a->rows, rows, bj_clock_boot_usec());
    bj_snmp_rows_unref(a->rows);
    a->rows = rows;
}

static uint64_t stale_after(uint64_t interval)
{
    return interval * STALE_INTERVALS > STALE_USEC ? interval * STALE_INTERVALS
                                                   : STALE_USEC;
}

static int agent_start(struct agent *a, struct bj_err *err)
{
    const struct bj_snmp_conf *conf = &a->conf;
    a->host = bj_host_make(&a->repeats);
    int r = bj_main_begin(&a->main, err);
    if (r == 0)
        r = bj_oid_parse(conf->base_oid, BJ_SNMP_BASE_MAX, &a->base, err);
    if (r == 0)
        r = bj_core_new(&conf->core, &a->host, &a->core, err);
    if (r == 0)
        r = bj_snmp_view_new(&a->base, stale_after(conf->interval_usec),
                             &a->view, err);
    if (r == 0)
        r = bj_session_start(&conf->session, &a->base, a->view, &a->session,
                             err);
    if (r < 0)
        return r;
    a->edges = (struct bj_edges){
        .conf = &conf->edges, .view = a->view, .send = send_edge, .ctx = a};
    a->pass_usec = bj_clock_boot_usec();
    bj_main_ready(&a->main);
    return 0;
}

static int agent_loop(struct agent *a, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    while (!a->main.stopping) {
        if (a->pass_usec <= now) {
            agent_pass(a);
            now = bj_clock_boot_usec();
            do
                a->pass_usec += a->conf.interval_usec;
            while (a->pass_usec <= now);
        }
        struct pollfd fd = {.fd = a->main.signals, .events = POLLIN};
        if (poll(&fd, 1, bj_main_wait(&a->main, a->pass_usec, now)) < 0 &&
            errno != EINTR)
            return bj_err_set(err, -errno, "poll");
        now = bj_clock_boot_usec();
        if (fd.revents && bj_main_signals(&a->main, now, 0))
            bj_log(BJ_LOG_WARN, NULL,
                   "SIGHUP ignored: options are read only at the start");
    }
    return 0;
}

static void agent_stop(struct agent *a)
{
    bj_session_free(a->session);
    bj_snmp_rows_unref(a->rows);
    bj_snmp_view_free(a->view);
    bj_core_free(a->core);
    bj_main_end(&a->main);
    bj_snmp_conf_free(&a->conf);
}

static bool print_text(const struct bj_snmp_conf *c)
{
    return bj_program_print(&c->program, "batchjob_snmp", bj_snmp_conf_help);
}

static int report(const struct bj_err *err)
{
    char text[320];
    fprintf(stderr, "batchjob_snmp: %s\n",
            bj_err_reason(err, text, sizeof(text)));
    return err->code;
}

static int agent_run(struct agent *a, int argc, char **argv)
{
    struct bj_err err = {0};
    char text[320];
    int r = bj_snmp_conf_load(&a->conf, argc, argv, &err);
    if (r < 0)
        return report(&err);
    if (print_text(&a->conf))
        return 0;
    bj_program_log(&a->conf.program);
    bj_program_files();
    r = agent_start(a, &err);
    if (r == 0)
        r = agent_loop(a, &err);
    if (r < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s",
               bj_err_reason(&err, text, sizeof(text)));
    return r;
}

static void problem(void *ctx, const struct bj_err *err)
{
    (void)ctx;
    report(err);
}

/* Would snmpd open a session, and batchjob_stats_db accept records? */
static int check_online(const struct bj_snmp_conf *conf)
{
    const struct bj_sender_conf *records = &conf->core.sender;
    struct bj_err err = {0};
    int r = bj_session_try(&conf->session, &err);
    if (r < 0) {
        bj_err_wrap(&err, r, "agentx.socket: %s", conf->session.socket);
        report(&err);
    }
    if (!records->url || !*records->url)
        return r;
    int tried = bj_sender_try(records, &err);
    if (tried == 0)
        return r;
    bj_err_wrap(&err, tried, "record.url");
    return report(&err);
}

/* check-config [OPTION]...: check the options, and what they name. */
static int snmp_check_config(int argc, char **argv)
{
    struct bj_snmp_conf conf = {0};
    struct bj_err err = {0};
    bool online = bj_program_online(&argc, argv);
    int r = bj_snmp_conf_load(&conf, argc - 1, argv + 1, &err);
    if (r < 0) {
        report(&err);
    } else if (!print_text(&conf)) {
        r = bj_check_core(&conf.core, problem, NULL);
        if (online && check_online(&conf) < 0)
            r = -EINVAL;
        if (r == 0)
            printf("fine for user id %u\n", (unsigned)geteuid());
    }
    bj_snmp_conf_free(&conf);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check-config") == 0)
        return snmp_check_config(argc, argv);
    struct agent a = {.repeats = BJ_LOG_REPEATS_INIT, .main.signals = -1};
    bj_program_malloc(BIG_BYTES);
    int r = agent_run(&a, argc, argv);
    agent_stop(&a);
    return r < 0 ? 1 : 0;
}
