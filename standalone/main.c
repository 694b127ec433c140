/* batchjob_exporter: metrics of the batch jobs on this node, for Prometheus. */
#include "base/clock.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/program.h"
#include "standalone/as.h"
#include "standalone/check_config.h"
#include "standalone/serve.h"

#include <stdio.h>
#include <unistd.h>

enum { FAREWELL_USEC = 2 * 1000000, BIG_BYTES = 128 * 1024 };

/* State of the program. */
struct exporter {
    struct bj_exporter_conf conf;
    struct bj_log_repeats repeats;
    struct bj_host host;
    struct bj_core *core;
    struct bj_serve serve;
    struct bj_main main;
    bool started;                    /* the first pass was run */
    uint64_t sample_usec, push_usec; /* next time; 0: never */
    struct bj_push *push;            /* NULL: disabled */
};

/* Records wait in their directory meanwhile. */
static void check_records(const struct exporter *e)
{
    struct bj_err err = {0};
    if (bj_exporter_check_records(&e->conf, &err) < 0)
        bj_log(BJ_LOG_ERROR, &err, "final records cannot be sent");
}

static int main_start(struct exporter *e, struct bj_err *err)
{
    e->host = bj_host_make(&e->repeats);
    int r = bj_main_begin(&e->main, err);
    if (r == 0)
        r = bj_core_new(&e->conf.core, &e->host, &e->core, err);
    if (r == 0)
        r = bj_serve_init(&e->serve, &e->conf, e->core, err);
    if (r == 0 && e->conf.push.url && *e->conf.push.url)
        r = bj_push_new(&e->conf.push, &e->host, &e->push, err);
    if (r == 0)
        r = bj_httpd_listen_all(e->serve.httpd, "web.listen-address",
                                &e->conf.listen, "listening on", "", err);
    if (r < 0)
        return r;
    check_records(e);
    uint64_t now = bj_clock_boot_usec();
    e->sample_usec = e->conf.interval_usec ? now : 0;
    e->push_usec = e->push ? now : 0;
    bj_trim();
    bj_main_ready(&e->main);
    return 0;
}

static void reload(struct exporter *e, uint64_t now)
{
    if (e->conf.web_file && e->conf.web_file[0])
        bj_guard_follow(&e->serve.guard, e->serve.httpd, true, now);
    else
        bj_log(BJ_LOG_WARN, NULL,
               "SIGHUP ignored: web.config.file is not set, and other options "
               "are read only at the start");
}

static void take_signals(struct exporter *e, uint64_t now)
{
    const bool stopping = e->main.stopping;
    if (bj_main_signals(&e->main, now, FAREWELL_USEC))
        reload(e, now);
    if (e->main.stopping && !stopping)
        bj_httpd_drain(e->serve.httpd);
}

/* Run a pass; errors are logged there. */
static void push(struct exporter *e)
{
    struct bj_buf page = {0};
    if (bj_serve_write(&e->serve, &page, NULL) == 0)
        bj_push_page(e->push, &page);
    bj_buf_free(&page);
}

/* The next due time; missed ones are skipped. */
static void main_advance(uint64_t *due, uint64_t interval, uint64_t now)
{
    do
        *due += interval;
    while (*due <= now);
}

/* Run passes and pushes that are due. Returns when the next one is. */
static uint64_t run_timers(struct exporter *e, uint64_t now)
{
    uint64_t next = UINT64_MAX;
    if (!e->started) {
        e->started = true;
        bj_serve_pass(&e->serve, NULL);
    }
    if (e->sample_usec && e->sample_usec <= now) {
        bj_serve_pass(&e->serve, NULL);
        main_advance(&e->sample_usec, e->conf.interval_usec, now);
    }
    if (e->push_usec && e->push_usec <= now && !e->main.stopping) {
        push(e);
        main_advance(&e->push_usec, e->conf.push.interval_usec, now);
    }
    if (e->sample_usec && e->sample_usec < next)
        next = e->sample_usec;
    if (e->push_usec && !e->main.stopping && e->push_usec < next)
        next = e->push_usec;
    return next;
}

static int loop(struct exporter *e, struct bj_err *err)
{
    nfds_t n;
    uint64_t now = bj_clock_boot_usec();
    while (!e->main.stopping ||
           (bj_httpd_busy(e->serve.httpd) > 0 && now < e->main.stop_usec)) {
        uint64_t next = run_timers(e, now);
        bj_serve_round(&e->serve);
        struct pollfd fds[1 + BJ_HTTPD_FDS] = {
            {.fd = e->main.signals, .events = POLLIN}};
        int r = bj_httpd_wait(e->serve.httpd, fds, 1,
                              bj_main_wait(&e->main, next, now), &n);
        if (r < 0)
            return bj_err_set(err, r, "poll");
        now = bj_clock_boot_usec();
        if (fds[0].revents)
            take_signals(e, now);
        bj_guard_follow(&e->serve.guard, e->serve.httpd, false, now);
        bj_httpd_run(e->serve.httpd, fds + 1, n, now);
    }
    return 0;
}

static void stop(struct exporter *e)
{
    bj_push_free(e->push);
    bj_serve_free(&e->serve);
    bj_core_free(e->core);
    bj_main_end(&e->main);
    bj_exporter_conf_free(&e->conf);
}

/* Print help or version; false: neither was requested. */
static bool print_text(const struct bj_exporter_conf *c)
{
    return bj_program_print(&c->program, "batchjob_exporter",
                            bj_exporter_conf_help);
}

/* Load the options, or convert those of another exporter; *done: its help was
 * printed. */
static int main_load(struct exporter *e, int argc, char **argv, bool *done,
                     struct bj_err *err)
{
    const struct bj_as_program *program;
    struct bj_as as = {0};
    struct bj_buf out = {0};
    int skip;
    int r = bj_as_find(argc, argv, &program, &skip, err);
    if (r < 0 || !program)
        return r < 0 ? r : bj_exporter_conf_load(&e->conf, argc, argv, err);
    r = bj_as_translate(program, argc - skip, argv + skip, &as, done, err);
    if (r == 0 && *done) {
        bj_as_help(program, &out);
        fwrite(out.p, 1, out.len, stdout);
        bj_buf_free(&out);
    } else if (r == 0) {
        r = bj_exporter_conf_load(&e->conf, (int)as.argv.n, as.argv.v, err);
    }
    bj_as_free(&as);
    return r;
}

static int exporter_run(struct exporter *e, int argc, char **argv)
{
    struct bj_err err = {0};
    char text[320];
    bool done = false;
    int r = main_load(e, argc, argv, &done, &err);
    if (done)
        return r;
    if (r < 0) {
        fprintf(stderr, "batchjob_exporter: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
        return r;
    }
    if (print_text(&e->conf))
        return 0;
    bj_program_log(&e->conf.program);
    bj_program_files();
    r = main_start(e, &err);
    if (r == 0)
        r = loop(e, &err);
    if (r < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s",
               bj_err_reason(&err, text, sizeof(text)));
    return r;
}

/* check-config [OPTION]...: check the options, and what they name. */
static int check_config(int argc, char **argv)
{
    struct bj_exporter_conf conf = {0};
    struct bj_err err = {0};
    char text[320];
    bool online = bj_program_online(&argc, argv);
    int r = bj_exporter_conf_load(&conf, argc - 1, argv + 1, &err);
    if (r < 0)
        fprintf(stderr, "batchjob_exporter: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
    else if (!print_text(&conf))
        r = bj_exporter_check(&conf, online);
    if (r == 0 && !conf.program.help && !conf.program.version)
        printf("fine for user id %u\n", (unsigned)geteuid());
    bj_exporter_conf_free(&conf);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check-config") == 0)
        return check_config(argc, argv);
    struct exporter e = {.repeats = BJ_LOG_REPEATS_INIT, .main.signals = -1};
    bj_program_malloc(BIG_BYTES);
    int r = exporter_run(&e, argc, argv);
    stop(&e);
    return r < 0 ? 1 : 0;
}
