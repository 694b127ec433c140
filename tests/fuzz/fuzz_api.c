/* The whole of batchjob_stats_server, with threads and store.  Every request
 * gets a response without an error of the server and without data of other
 * users, all of which contains the word OTHERS; also when requests run
 * concurrently and options are reloaded.
 *
 * A byte of 0xff ends one request and begins another, which is sent together
 * with the first.  The first byte of each chooses an endpoint; the rest is its
 * query string (bytes that a request line cannot hold are sent as %XX), or a
 * JSON body. */
#include "apiserver/server/server.h"
#include "base/clock.h"
#include "base/log.h"
#include "statsdb/import/upsert.h"
#include "store/db.h"
#include "tests/fuzz/fuzz.h"

#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { JOBS = 40, WAIT_ROUNDS = 20000, RESPONSE_BYTES = 1 << 20, CLIENTS = 6 };

/* Sends one request and reads until the server closes. */
struct client {
    const uint8_t *data; /* part of the input */
    size_t size;
    struct bj_buf request;
    size_t sent, got;
    int fd;           /* -1: finished */
    bool early_close; /* disconnects before the response */
    char *response;
};

static struct {
    struct bj_server server;
    struct sockaddr_in addr;
    bool made;
    unsigned endpoints, reloads;
    char dir[32], store[64];
    struct client client[CLIENTS];
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
    j.jobid = j.display_id = bj_slice_str(id);
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
    MUST(bj_db_exec(bj_store_db(s), "PRAGMA wal_checkpoint(TRUNCATE)", NULL) ==
         0);
    bj_store_close(s);
}

/* Options that differ at each reload. */
static struct bj_api_conf *options(void)
{
    char store[96], rows[32], trust[] = "--access.trust-loopback",
                              rate[] = "--access.rate=0",
                              level[] = "--log.level=error";
    char *argv[] = {level, store, rows, trust, rate, level};
    struct bj_api_conf *conf = calloc(1, sizeof(*conf));
    MUST(conf);
    snprintf(store, sizeof(store), "--store.path=%s", rig.store);
    snprintf(rows, sizeof(rows), "--query.max-rows=%u", 2000 + rig.reloads % 2);
    MUST(bj_api_conf_load(conf, (int)COUNT(argv), argv, NULL) == 0);
    return conf;
}

static void start(void)
{
    socklen_t len = sizeof(rig.addr);
    rig.made = true;
    bj_log_setup(BJ_LOG_ERROR, BJ_LOG_LOGFMT);
    bj_db_own_threads();
    snprintf(rig.dir, sizeof(rig.dir), "/tmp/bj-fuzz-api-XXXXXX");
    MUST(mkdtemp(rig.dir) && atexit(clean) == 0);
    snprintf(rig.store, sizeof(rig.store), "%s/db", rig.dir);
    fill(rig.store);
    MUST(bj_server_init(&rig.server, options(), bj_endpoint_tables, NULL) == 0);
    int fd = bj_httpd_listen(rig.server.httpd, "127.0.0.1:0", NULL);
    MUST(fd >= 0);
    MUST(getsockname(fd, (struct sockaddr *)&rig.addr, &len) == 0);
    while (rig.server.endpoint[rig.endpoints])
        rig.endpoints++;
    for (int i = 0; i < CLIENTS; i++) {
        rig.client[i].response = malloc(RESPONSE_BYTES + 1);
        MUST(rig.client[i].response);
    }
}

static void reload(void)
{
    rig.reloads++;
    MUST(bj_server_reload(&rig.server, options(), NULL) == 0);
}

static void pump(void)
{
    MUST(bj_server_turn(&rig.server, -1, 1) == 0);
}

static void put_escaped(struct bj_buf *b, const uint8_t *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] <= 0x20 || p[i] >= 0x7f)
            bj_buf_printf(b, "%%%02x", p[i]);
        else
            bj_buf_put(b, &p[i], 1);
}

/* Write the request; the id 2 is a job of the user. */
static void write_request(struct client *c)
{
    struct bj_buf *b = &c->request;
    const struct bj_endpoint *e =
        rig.server.endpoint[c->data[0] % rig.endpoints];
    bool post = !(e->methods & BJ_HTTP_GET);
    const char *star = strchr(e->path, '*');
    b->len = 0;
    bj_buf_str(b, post ? "POST " : "GET ");
    bj_buf_slice(b, (struct bj_slice){e->path, star ? (size_t)(star - e->path)
                                                    : strlen(e->path)});
    if (star)
        bj_buf_printf(b, "%d%s", c->data[0] & 1 ? 2 : 1, star + 1);
    if (!post) {
        bj_buf_str(b, "?");
        put_escaped(b, c->data + 1, c->size - 1);
    }
    bj_buf_str(b, " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                  "X-Grafana-User: fuzz\r\n");
    if (post)
        bj_buf_printf(b, "Content-Length: %zu\r\n", c->size - 1);
    bj_buf_str(b, "\r\n");
    if (post)
        bj_buf_put(b, c->data + 1, c->size - 1);
    MUST(!b->failed);
}

static void begin(struct client *c, const uint8_t *data, size_t size,
                  bool early_close)
{
    c->data = data;
    c->size = size;
    c->sent = c->got = 0;
    c->early_close = early_close;
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    MUST(c->fd >= 0);
    MUST(connect(c->fd, (struct sockaddr *)&rig.addr, sizeof(rig.addr)) == 0);
    write_request(c);
}

/* Send and read without blocking; false when the client has finished. */
static bool advance(struct client *c)
{
    if (c->fd < 0)
        return false;
    ssize_t n = send(c->fd, c->request.p + c->sent, c->request.len - c->sent,
                     MSG_NOSIGNAL | MSG_DONTWAIT);
    c->sent += n > 0 ? (size_t)n : 0;
    n = recv(c->fd, c->response + c->got, RESPONSE_BYTES - c->got,
             MSG_DONTWAIT);
    c->got += n > 0 ? (size_t)n : 0;
    bool over = n == 0 || (n < 0 && errno != EAGAIN);
    if (!over && !(c->early_close && c->sent == c->request.len))
        return true;
    close(c->fd);
    c->fd = -1;
    return false;
}

static void check(const struct client *c)
{
    const char *p = c->response;
    if (c->early_close)
        return;
    MUST(c->got > 12 && memcmp(p, "HTTP/1.1 ", 9) == 0);
    struct bj_slice s = {p + 9, 3};
    uint64_t status = 0;
    MUST(bj_slice_u64(s, &status) == 0);
    MUST(status != 500 && status != 503);
    if (!memmem(c->data, c->size, "OTHERS", 6) && status == 200)
        MUST(!memmem(p, c->got, "OTHERS", 6));
}

static void serve(unsigned n, bool with_reload)
{
    bool more = true;
    for (int i = 0; more && i < WAIT_ROUNDS; i++) {
        more = false;
        for (unsigned k = 0; k < n; k++)
            more = advance(&rig.client[k]) || more;
        pump();
        if (with_reload && i == 2)
            reload();
    }
    MUST(!more);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    unsigned n = 0;
    if (!rig.made)
        start();
    if (size < 1 || size > 4000)
        return 0;
    bool with_reload = memchr(data, 0xff, size) && data[0] & 1;
    while (size > 0 && n < CLIENTS) {
        const uint8_t *end = memchr(data, 0xff, size);
        size_t len = end ? (size_t)(end - data) : size;
        /* The fourth client disconnects early. */
        if (len > 0) {
            begin(&rig.client[n], data, len, n == 3);
            n++;
        }
        data += end ? len + 1 : len;
        size -= end ? len + 1 : len;
    }
    serve(n, with_reload);
    for (unsigned i = 0; i < n; i++)
        check(&rig.client[i]);
    return 0;
}
