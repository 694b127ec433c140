/* batchjob_stats_server as a whole, threads and store included: whatever a user
 * asks, it gets an answer, never an error of the server's own, and nothing of
 * what belongs to somebody else, which has the word OTHERS in all of it.
 *
 * The first byte chooses a path; the rest is its query string (what can't stand
 * in a request line is sent as %XX), or a JSON body. */
#include "apiserver/server.h"
#include "base/clock.h"
#include "base/log.h"
#include "statsdb/sql.h"
#include "statsdb/upsert.h"
#include "tests/fuzz/fuzz.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { JOBS = 40, WAIT_ROUNDS = 20000, ANSWER_BYTES = 1 << 20 };

static const char *const gets[] = {
    "/api/v1/jobs",     "/api/v1/jobs/1",         "/api/v1/usage",
    "/api/v1/users",    "/api/v1/accounts",       "/api/v1/clusters",
    "/api/v1/findings", "/api/v1/factors",        "/api/v1/jobs/1/steps",
    "/api/jobs",        "/api/accounts",          "/jobs",
    "/usage",           "/api/v1/jobs/1/findings"};
static const char *const posts[] = {
    "query",    "search",      "metrics",    "variable",
    "tag-keys", "annotations", "tag-values", "metric-payload-options"};

static struct {
    struct bj_server server;
    struct sockaddr_in addr;
    bool made;
    char *answer;
    char dir[32];
} rig;

static void clean(void)
{
    static const char *const names[] = {"db", "db-wal", "db-shm", "db.lock"};
    char path[64];
    for (size_t i = 0; i < COUNT(names); i++) {
        snprintf(path, sizeof(path), "%s/%s", rig.dir, names[i]);
        unlink(path);
    }
    rmdir(rig.dir);
}

static void put_job(struct bj_upsert *u, unsigned n)
{
    struct bj_sched_job j;
    struct bj_slice who = n % 2 ? BJ_SLICE("OTHERS") : BJ_SLICE("fuzz");
    char id[16];
    uint64_t now = bj_clock_wall_usec() / 1000000;
    snprintf(id, sizeof(id), "%u", n);
    bj_sched_job_init(&j);
    j.batch_system = BJ_SLICE("slurm");
    j.raw_id = j.shown_id = bj_slice_str(id);
    j.user = j.group = j.account = j.partition = j.qos = j.name = who;
    j.nodelist = j.work_dir = who;
    j.uid = j.gid = 1000 + n % 2;
    j.state = BJ_STATE_COMPLETED;
    j.state_raw = BJ_SLICE("COMPLETED");
    j.submit_sec = j.start_sec = now - 86400 - n;
    j.elapsed_sec = 100 * n;
    j.end_sec = j.start_sec + j.elapsed_sec;
    j.cpus = j.nodes = n + 1;
    MUST(bj_upsert_job(u, BJ_SLICE("site"), &j, NULL) == 0);
}

static void fill(const char *path)
{
    struct bj_store *s;
    struct bj_upsert *u;
    MUST(bj_store_open(&(struct bj_store_options){.path = path}, &s, NULL) ==
         0);
    MUST(bj_upsert_new(s, &u, NULL) == 0 && bj_upsert_begin(u, NULL) == 0);
    for (unsigned n = 0; n < JOBS; n++)
        put_job(u, n);
    MUST(bj_upsert_commit(u, NULL) == 0);
    bj_upsert_free(u);
    bj_store_checkpoint(s, NULL);
    bj_store_close(s);
}

static void start(void)
{
    char store[64], option[96];
    char *argv[] = {"server", option, "--access.trust-loopback",
                    "--access.rate=0", "--log.level=error"};
    struct bj_api_conf *conf = calloc(1, sizeof(*conf));
    socklen_t len = sizeof(rig.addr);
    rig.made = true;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_sql_own_threads();
    snprintf(rig.dir, sizeof(rig.dir), "/tmp/bj-fuzz-api-XXXXXX");
    MUST(mkdtemp(rig.dir) && conf && atexit(clean) == 0);
    snprintf(store, sizeof(store), "%s/db", rig.dir);
    snprintf(option, sizeof(option), "--store.path=%s", store);
    fill(store);
    MUST(bj_api_conf_load(conf, (int)COUNT(argv), argv, NULL) == 0);
    MUST(bj_server_init(&rig.server, conf, NULL) == 0);
    int fd = bj_httpd_listen(rig.server.httpd, "127.0.0.1:0", NULL);
    MUST(fd >= 0);
    MUST(getsockname(fd, (struct sockaddr *)&rig.addr, &len) == 0);
    rig.answer = malloc(ANSWER_BYTES + 1);
    MUST(rig.answer);
}

static void pump(void)
{
    struct pollfd fds[1 + BJ_HTTPD_FDS] = {
        {.fd = rig.server.wake, .events = POLLIN}};
    nfds_t n = bj_httpd_poll(rig.server.httpd, fds + 1);
    uint64_t now = bj_clock_boot_usec();
    poll(fds, 1 + n, bj_httpd_timeout(rig.server.httpd, now) == 0 ? 0 : 1);
    if (fds[0].revents)
        bj_server_collect(&rig.server);
    bj_httpd_run(rig.server.httpd, fds + 1, n, now);
}

/* Send a request, and read until the server closes. */
static size_t ask(const struct bj_buf *request)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    size_t got = 0, sent = 0;
    MUST(fd >= 0);
    MUST(connect(fd, (struct sockaddr *)&rig.addr, sizeof(rig.addr)) == 0);
    for (int i = 0; i < WAIT_ROUNDS; i++) {
        ssize_t n = send(fd, request->p + sent, request->len - sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        sent += n > 0 ? (size_t)n : 0;
        pump();
        n = recv(fd, rig.answer + got, ANSWER_BYTES - got, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN))
            break;
        got += n > 0 ? (size_t)n : 0;
    }
    close(fd);
    pump();
    rig.answer[got] = '\0';
    return got;
}

static void put_escaped(struct bj_buf *b, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= 0x20 || p[i] >= 0x7f)
            bj_buf_printf(b, "%%%02x", p[i]);
        else
            bj_buf_put(b, &p[i], 1);
}

static void check(const uint8_t *data, size_t size, size_t got)
{
    MUST(got > 12 && memcmp(rig.answer, "HTTP/1.1 ", 9) == 0);
    struct bj_slice s = {rig.answer + 9, 3};
    uint64_t status = 0;
    MUST(bj_slice_u64(s, &status) == 0);
    MUST(status != 500 && status != 503);
    if (!memmem(data, size, "OTHERS", 6) && status == 200)
        MUST(!memmem(rig.answer, got, "OTHERS", 6));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_buf b = {0};
    if (!rig.made)
        start();
    if (size < 1 || size > 4000)
        return 0;
    unsigned at = data[0];
    bool post = at >= 128;
    if (post)
        bj_buf_printf(&b, "POST /api/simpod/%s", posts[at % COUNT(posts)]);
    else
        bj_buf_printf(&b, "GET %s?", gets[at % COUNT(gets)]);
    if (!post)
        put_escaped(&b, data + 1, size - 1);
    bj_buf_printf(&b, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                      "X-Grafana-User: fuzz\r\n");
    if (post)
        bj_buf_printf(&b, "Content-Length: %zu\r\n", size - 1);
    bj_buf_str(&b, "\r\n");
    if (post)
        bj_buf_put(&b, data + 1, size - 1);
    check(data, size, ask(&b));
    bj_buf_free(&b);
    return 0;
}
