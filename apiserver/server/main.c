/* batchjob_stats_server: HTTP API and web pages for the accounting of jobs. */
#include "apiserver/access/access.h"
#include "apiserver/access/tokens.h"
#include "apiserver/frame/settings.h"
#include "apiserver/server/server.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/fetch.h"
#include "base/file.h"
#include "base/listen.h"
#include "base/log.h"
#include "base/program.h"
#include "base/secret.h"
#include "report/pdf/draw.h"
#include "statsdb/daemon/check.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A listening unix socket. */

static int main_fail(int fd, struct bj_err *err, const char *what,
                     const char *path)
{
    char text[64];
    int why = -errno;
    snprintf(text, sizeof(text), "web.unix-socket: %s", what);
    int r = bj_file_fail(err, why, text, AT_FDCWD, path, W_OK);
    if (fd >= 0)
        close(fd);
    return r;
}

/* Remove the socket of a server that has ended. */
static int remove_stale(int fd, const struct sockaddr_un *a, struct bj_err *err)
{
    struct stat st;
    if (lstat(a->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return bj_err_set(err, -EINVAL,
                          "web.unix-socket: %s exists and is not a socket",
                          a->sun_path);
    if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0)
        return bj_err_set(err, -EADDRINUSE,
                          "web.unix-socket: another program listens on %s",
                          a->sun_path);
    unlink(a->sun_path);
    return 0;
}

/* Listen at a path; an existing socket is replaced unless a process listens on
 * it (-EADDRINUSE). All users may connect; the kernel reports their uid.
 * Returns the descriptor. */
static int socket_open(const char *path, struct bj_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(a.sun_path))
        return bj_err_set(err, -ENAMETOOLONG, "web.unix-socket: %s", path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int probe = socket(AF_UNIX, type, 0);
    if (probe < 0)
        return main_fail(probe, err, "socket", path);
    int r = remove_stale(probe, &a, err);
    close(probe);
    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, type, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
        return main_fail(fd, err, "bind", path);
    if (chmod(path, 0666) < 0 || listen(fd, 128) < 0)
        return main_fail(fd, err, "listen on", path);
    return fd;
}

enum { FAREWELL_USEC = 5 * 1000000, RETRY_SEC = 5, BIG_BYTES = 256 * 1024 };

/* State of the program. */
struct program {
    int argc;
    char **argv;
    struct bj_api_conf *conf; /* options, until the server owns them */
    struct bj_server server;
    bool made; /* the server was made */
    struct bj_main main;
    char *socket; /* path of the socket, which is removed at the end */
};

static int open_addresses(struct program *p, struct bj_err *err)
{
    const struct bj_api_conf *conf = bj_server_conf(&p->server);
    int r = bj_httpd_listen_all(p->server.httpd, "web.listen-address",
                                &conf->listen, "listening on", "", err);
    if (r < 0)
        return r;
    if (!conf->socket || !conf->socket[0])
        return 0;
    int fd = socket_open(conf->socket, err);
    if (fd < 0)
        return fd;
    p->socket = strdup(conf->socket);
    bj_log(BJ_LOG_INFO, NULL, "listening on %s", conf->socket);
    return bj_httpd_adopt(p->server.httpd, fd, err);
}

static void drop_conf(struct bj_api_conf *c)
{
    if (c)
        bj_api_conf_free(c);
    free(c);
}

static int load_conf(struct program *p, struct bj_api_conf **ret,
                     struct bj_err *err)
{
    struct bj_api_conf *c = calloc(1, sizeof(*c));
    int r = c ? bj_api_conf_load(c, p->argc, p->argv, err)
              : bj_err_set(err, -ENOMEM, "options");
    if (r < 0)
        drop_conf(c);
    else
        *ret = c;
    return r;
}

/* --- reload ----------------------------------------------------------------
 */

static bool same_list(const struct bj_strv *a, const struct bj_strv *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->v[i], b->v[i]) == 0;
    return same;
}

/* Options of sockets and of the HTTP server cannot change at run time. */
static int same_sockets(const struct bj_api_conf *a,
                        const struct bj_api_conf *b, struct bj_err *err)
{
    const struct {
        const char *name;
        bool same;
    } fixed[] = {{"web.listen-address", same_list(&a->listen, &b->listen)},
                 {"web.unix-socket", strcmp(a->socket ? a->socket : "",
                                            b->socket ? b->socket : "") == 0},
                 {"web.threads", a->threads == b->threads},
                 {"web.max-requests", a->max_requests == b->max_requests},
                 {"web.max-bytes", a->flight_bytes == b->flight_bytes},
                 {"web.request-timeout", a->request_usec == b->request_usec}};
    for (size_t i = 0; i < sizeof(fixed) / sizeof(fixed[0]); i++)
        if (!fixed[i].same)
            return bj_err_set(err, -EINVAL,
                              "%s cannot change without a restart",
                              fixed[i].name);
    return 0;
}

/* The store may appear later: each request tries to open it. */
static void check_store(struct program *p)
{
    struct bj_reader *reader = p->server.http_worker.reader;
    struct bj_err err = {0};
    char text[320];
    if (bj_reader_begin(reader, &err) < 0)
        bj_log(BJ_LOG_WARN, NULL,
               "the store cannot be read; requests get status 503: %s",
               bj_err_reason(&err, text, sizeof(text)));
    else
        bj_reader_end(reader);
    bj_reader_close(reader);
}

static void reload(struct program *p)
{
    struct bj_api_conf *fresh;
    struct bj_err err = {0};
    int r = load_conf(p, &fresh, &err);
    if (r == 0) {
        r = same_sockets(bj_server_conf(&p->server), fresh, &err);
        if (r < 0)
            drop_conf(fresh);
        else
            r = bj_server_reload(&p->server, fresh, &err);
    }
    __atomic_store_n(&p->server.reload_failed, r < 0, __ATOMIC_RELAXED);
    if (r < 0) {
        bj_log(BJ_LOG_ERROR, NULL, "reload: %s; the old options stay", err.msg);
        return;
    }
    bj_program_log(&bj_server_conf(&p->server)->program);
    bj_log(BJ_LOG_INFO, NULL, "reloaded");
    check_store(p);
    bj_trim();
}

/* --- the loop --------------------------------------------------------------
 */

static void take_signals(struct program *p, uint64_t now)
{
    const bool stopping = p->main.stopping;
    if (bj_main_signals(&p->main, now, FAREWELL_USEC))
        reload(p);
    if (p->main.stopping && !stopping)
        bj_httpd_drain(p->server.httpd);
}

static int loop(struct program *p, struct bj_err *err)
{
    uint64_t now = bj_clock_boot_usec();
    while (!p->main.stopping ||
           (bj_httpd_busy(p->server.httpd) > 0 && now < p->main.stop_usec)) {
        int r = bj_server_turn(&p->server, p->main.signals,
                               bj_main_wait(&p->main, UINT64_MAX, now));
        if (r < 0)
            return bj_err_set(err, r, "poll");
        now = bj_clock_boot_usec();
        if (r > 0)
            take_signals(p, now);
        bj_server_follow(&p->server, now);
    }
    return 0;
}

/* --- start and end ---------------------------------------------------------
 */

/* Print --help or --version.  False: neither was requested. */
static bool print_text(const struct bj_api_conf *c)
{
    return bj_program_print(&c->program, "batchjob_stats_server",
                            bj_api_conf_help);
}

static int server_run(struct program *p)
{
    struct bj_err err = {0};
    char text[320];
    int r = load_conf(p, &p->conf, &err);
    if (r < 0) {
        fprintf(stderr, "batchjob_stats_server: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
        return r;
    }
    if (print_text(p->conf))
        return 0;
    bj_program_log(&p->conf->program);
    bj_program_files();
    bj_db_own_threads();
    r = bj_main_begin(&p->main, &err);
    if (r == 0) {
        p->made = true;
        r = bj_server_init(&p->server, p->conf, bj_endpoint_tables, &err);
        p->conf = NULL;
    }
    p->server.program = BJ_DRAW_SELF;
    if (r == 0)
        r = open_addresses(p, &err);
    if (r == 0) {
        check_store(p);
        bj_trim();
        bj_main_ready(&p->main);
        r = loop(p, &err);
    }
    if (r < 0)
        bj_log(BJ_LOG_ERROR, NULL, "%s",
               bj_err_reason(&err, text, sizeof(text)));
    return r;
}

static const char expiry[] =
    "expected a date (2027-12-31), a time with its zone, or never";

static int check_token(const char *user, const char *expires,
                       struct bj_err *err)
{
    int64_t end;
    if (!bj_access_is_name(bj_slice_str(user)))
        return bj_err_set(err, -EINVAL,
                          "make-token: '%.60s' is not a valid user name", user);
    if (bj_token_expiry(bj_slice_str(expires), &end) < 0)
        return bj_err_set(err, -EINVAL, "make-token: EXPIRES '%.60s': %s",
                          expires, expiry);
    if (end <= (int64_t)(bj_clock_wall_usec() / 1000000))
        return bj_err_set(err, -EINVAL,
                          "make-token: EXPIRES '%.60s' is in the past",
                          expires);
    return 0;
}

/* make-token USER [EXPIRES]: write the line for the file to standard output,
 * and the token, which only its user may see, to standard error. */
static int make_token(int argc, char **argv)
{
    char id[16], token[BJ_TOKEN_BYTES], hash[BJ_HASH_BYTES];
    struct bj_err err = {0};
    const char *expires = argc == 4 ? argv[3] : "never";
    int r = argc < 3 || argc > 4
                ? bj_err_set(&err, -EINVAL,
                             "usage: make-token USER [EXPIRES]; %s", expiry)
                : check_token(argv[2], expires, &err);
    if (r == 0)
        r = bj_token_make(id, token, hash, &err);
    if (r < 0) {
        fprintf(stderr, "batchjob_stats_server: %s\n", err.msg);
        return 1;
    }
    fprintf(stderr, "%s\n", token);
    printf("%s %s %s %s\n", id, hash, argv[2], expires);
    return 0;
}

/* write-access [OPTION]...: write the access rules into the store. */
static int write_access(int argc, char **argv)
{
    struct program p = {.argc = argc - 1, .argv = argv + 1};
    struct bj_err err = {0};
    char text[320];
    size_t n = 0;
    int r = load_conf(&p, &p.conf, &err);
    if (r == 0 && !print_text(p.conf)) {
        r = bj_access_write(p.conf, &n, &err);
        if (r == 0)
            printf("%zu access rules\n", n);
    }
    if (r < 0)
        fprintf(stderr, "batchjob_stats_server: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
    drop_conf(p.conf);
    return r < 0;
}

/* Open the store and read one row. */
static int try_store(const struct bj_api_conf *conf, struct bj_err *err)
{
    const struct bj_reader_options opt = {.path = conf->store,
                                          .any_filesystem =
                                              conf->any_filesystem,
                                          .query_usec = conf->query_usec};
    struct bj_reader *reader = NULL;
    int r = bj_reader_new(&opt, &reader, err);
    if (r == 0)
        r = bj_reader_begin(reader, err);
    if (r == 0)
        bj_reader_end(reader);
    bj_reader_free(reader);
    return r < 0 ? bj_err_wrap(err, r, "store.path") : 0;
}

/* The directory of web.unix-socket must be writable. */
static int try_socket(const char *path, struct bj_err *err)
{
    struct bj_slice dir = bj_slice_str(path);
    char text[PATH_MAX];
    while (dir.n > 1 && dir.p[dir.n - 1] != '/')
        dir.n--;
    if (dir.n == 0 || dir.n >= sizeof(text))
        return 0;
    snprintf(text, sizeof(text), "%.*s", (int)dir.n, dir.p);
    return faccessat(AT_FDCWD, text, W_OK | X_OK, AT_EACCESS) < 0
               ? bj_file_fail(err, -errno, "web.unix-socket:", AT_FDCWD, text,
                              W_OK | X_OK)
               : 0;
}

/* Could the server listen, and has each Prometheus server series? */
static int try_online(const struct bj_api_conf *conf, struct bj_err *err)
{
    const struct bj_gate_servers *gate = &conf->gate.servers;
    char shown[BJ_FETCH_SHOWN];
    atomic_bool stop = false;
    int r = bj_listen_try(&conf->listen, err);
    if (r == 0 && conf->prom.server.url && conf->prom.server.url[0]) {
        struct bj_prom_conf server = conf->prom.server;
        for (size_t i = 0; i < conf->prom.server.match.n; i++)
            if (strstr(conf->prom.server.match.v[i], "%c"))
                server.match.n = 0; /* the cluster is that of a request */
        r = bj_check_prometheus(&server, "prometheus.url", &stop, err);
    }
    for (size_t i = 0; r == 0 && conf->gate.entries.n > 0 && i < gate->n; i++) {
        bj_fetch_show(gate->v[i].client.url, shown);
        r = bj_check_prometheus(&gate->v[i].client, shown, &stop, err);
        if (r < 0)
            bj_err_wrap(err, r, "gate.servers: %s", shown);
    }
    return r;
}

/* check-config [--online] [OPTION]...: read every file and open the store, as
 * the start does, without listening. */
static int server_check_config(int argc, char **argv)
{
    struct program p = {.argc = argc - 1, .argv = argv + 1};
    struct bj_secrets *secrets = NULL;
    struct bj_settings *settings = NULL;
    struct bj_err err = {0};
    char text[320];
    bool online = bj_program_online(&argc, argv);
    p.argc = argc - 1;
    int r = load_conf(&p, &p.conf, &err);
    if (r == 0 && print_text(p.conf)) {
        drop_conf(p.conf);
        return 0;
    }
    if (r == 0)
        r = bj_secrets_new(&secrets, &err);
    if (r == 0) {
        r = bj_settings_new(p.conf, secrets, &settings, &err);
        p.conf = NULL;
    }
    if (r == 0)
        r = try_socket(settings->conf->socket, &err);
    if (r == 0)
        r = try_store(settings->conf, &err);
    if (r == 0 && online)
        r = try_online(settings->conf, &err);
    if (r < 0)
        fprintf(stderr, "batchjob_stats_server: %s\n",
                bj_err_reason(&err, text, sizeof(text)));
    else
        printf("store %s: fine for user id %u\n",
               bj_db_shown(settings->conf->store), (unsigned)geteuid());
    bj_settings_unref(settings);
    bj_secrets_free(secrets);
    drop_conf(p.conf);
    return r < 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "check-config") == 0)
        return server_check_config(argc, argv);
    if (argc > 1 && strcmp(argv[1], "make-token") == 0)
        return make_token(argc, argv);
    if (argc > 1 && strcmp(argv[1], "write-access") == 0)
        return write_access(argc, argv);
    if (argc == 2 && strcmp(argv[1], BJ_DRAW_COMMAND) == 0)
        return bj_draw_process();
    struct program p = {.argc = argc, .argv = argv, .main.signals = -1};
    bj_program_malloc(BIG_BYTES);
    int r = server_run(&p);
    if (p.socket)
        unlink(p.socket);
    free(p.socket);
    /* A thread that waits for the store or another server does not delay the
     * exit. */
    if (p.made && !bj_server_free(&p.server, RETRY_SEC))
        _exit(r < 0);
    bj_main_end(&p.main);
    drop_conf(p.conf);
    return r < 0 ? 1 : 0;
}
