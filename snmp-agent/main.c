/* batchjob_snmp: metrics of the batch jobs on this node, for SNMP managers.
 *
 * The main thread runs passes and sorts their rows; the thread of the session
 * answers requests from the newest ones. */
#include "base/clock.h"
#include "base/log.h"
#include "base/program.h"
#include "base/version.h"
#include "core/core.h"
#include "snmp-agent/conf.h"
#include "standalone/host.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
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
    int signals;
    bool stopping, failing;
    uint64_t passes;
    uint64_t pass_usec, watchdog_usec; /* next time; watchdog 0: never */
    uint64_t watchdog_interval;
};

static void notify_systemd(const char *state)
{
    struct bj_err err = {0};
    if (bj_notify(state, &err) < 0)
        bj_log(BJ_LOG_WARN, &err, "cannot send '%s' to systemd", state);
}

static bool send_edge(void *ctx, struct bj_buf variables)
{
    struct agent *a = ctx;
    return bj_session_notify(a->session, variables);
}

/* Run a pass and show its rows. */
static void agent_pass(struct agent *a)
{
    struct bj_err err = {0};
    struct bj_snap *snap = NULL;
    struct bj_snmp_rows *rows = NULL;
    int r = bj_core_pass(a->core, &snap, &err);
    if (r == 0) {
        rows = bj_snmp_rows_new(snap, &a->conf.core, a->conf.max_rows);
        bj_snap_unref(snap);
        if (!rows)
            bj_err_set(&err, -ENOMEM, "rows");
    }
    if (!rows && !a->failing)
        bj_log(BJ_LOG_ERROR, &err, "pass failed");
    a->failing = !rows;
    if (a->passes++ == 0 && rows)
        bj_core_introduce(a->core);
    if (a->passes % TRIM_PASSES == TRIM_FIRST)
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
    int r = a->signals = bj_program_signals(err);
    if (r >= 0)
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
    a->watchdog_interval = bj_notify_interval();
    a->pass_usec = bj_clock_boot_usec();
    a->watchdog_usec = a->watchdog_interval ? a->pass_usec : 0;
    notify_systemd("READY=1");
    return 0;
}

static void take_signals(struct agent *a)
{
    struct signalfd_siginfo info;
    while (read(a->signals, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo == SIGHUP) {
            bj_log(BJ_LOG_WARN, NULL,
                   "SIGHUP ignored: options are read only at the start");
            continue;
        }
        bj_log(BJ_LOG_INFO, NULL, "stopping on signal %u", info.ssi_signo);
        a->stopping = true;
    }
}

/* Run what is due; returns the time of what is due next. */
static uint64_t run_timers(struct agent *a, uint64_t now)
{
    if (a->pass_usec <= now) {
        agent_pass(a);
        now = bj_clock_boot_usec();
        do
            a->pass_usec += a->conf.interval_usec;
        while (a->pass_usec <= now);
    }
    if (a->watchdog_usec && a->watchdog_usec <= now) {
        notify_systemd("WATCHDOG=1");
        a->watchdog_usec = now + a->watchdog_interval;
    }
    return a->watchdog_usec && a->watchdog_usec < a->pass_usec
               ? a->watchdog_usec
               : a->pass_usec;
}

static int agent_loop(struct agent *a, struct bj_err *err)
{
    while (!a->stopping) {
        const uint64_t next = run_timers(a, bj_clock_boot_usec());
        const uint64_t now = bj_clock_boot_usec();
        const uint64_t ms = next > now ? (next - now + 999) / 1000 : 0;
        struct pollfd fd = {.fd = a->signals, .events = POLLIN};
        if (poll(&fd, 1, (int)ms) < 0 && errno != EINTR)
            return bj_err_set(err, -errno, "poll");
        if (fd.revents)
            take_signals(a);
    }
    notify_systemd("STOPPING=1");
    return 0;
}

static void agent_stop(struct agent *a)
{
    bj_session_free(a->session);
    bj_snmp_rows_unref(a->rows);
    bj_snmp_view_free(a->view);
    bj_core_free(a->core);
    if (a->signals >= 0)
        close(a->signals);
    bj_snmp_conf_free(&a->conf);
}

/* Print help or version; false: neither was requested. */
static bool print_text(const struct bj_snmp_conf *c)
{
    struct bj_buf out = {0};
    if (c->program.help)
        bj_snmp_conf_help(strcmp(c->program.help, "all") == 0, &out);
    else if (c->program.version)
        bj_buf_printf(&out, "batchjob_snmp %s (%s)\n", bj_version, bj_revision);
    else
        return false;
    fwrite(out.p, 1, out.len, stdout);
    bj_buf_free(&out);
    return true;
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

/* check-config [OPTION]...: check the options, and what they name. */
static int check_config(int argc, char **argv)
{
    struct bj_snmp_conf conf = {0};
    struct bj_err err = {0};
    bool online = bj_program_online(&argc, argv);
    int r = bj_snmp_conf_load(&conf, argc - 1, argv + 1, &err);
    if (r < 0) {
        report(&err);
    } else if (!print_text(&conf)) {
        r = bj_core_check(&conf.core, &err);
        if (r < 0)
            report(&err);
        if (online && bj_session_try(&conf.session, &err) < 0) {
            r = bj_err_wrap(&err, err.code, "agentx.socket: %s",
                            conf.session.socket);
            report(&err);
        }
        if (r == 0)
            printf("fine for user id %u\n", (unsigned)geteuid());
    }
    bj_snmp_conf_free(&conf);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check-config") == 0)
        return check_config(argc, argv);
    struct agent a = {.repeats = BJ_LOG_REPEATS_INIT, .signals = -1};
    bj_program_malloc(BIG_BYTES);
    int r = agent_run(&a, argc, argv);
    agent_stop(&a);
    return r < 0 ? 1 : 0;
}
