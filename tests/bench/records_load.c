/* Simulates nodes that send final records over TLS to a receiver, each on its
 * own connection with a full handshake:
 *
 * records_load PORT CA TOKEN NODES BATCHES RECORDS KEEP_SEC
 *
 * NODES nodes connect at once.  Each sends BATCHES requests of RECORDS records,
 * one after the other on its connection, and reconnects after a random time
 * when one fails, as the exporter does.  Then it keeps the connection idle
 * until KEEP_SEC after the last node has finished.  Prints the seconds until
 * all records were acknowledged, and the numbers of handshakes, of repeated
 * requests, and of connections that the receiver still held at the end. */
#include "base/buf.h"
#include "base/clock.h"
#include "base/gzip.h"
#include "tests/bench/num.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <gnutls/gnutls.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SECOND = 1000000, RETRY_USEC = SECOND / 2, RETRY_MAX = 20 * SECOND };

enum step { WAIT, CONNECT, HANDSHAKE, SEND, RECEIVE, KEPT, CLOSED };

struct node {
    enum step step;
    int fd;
    gnutls_session_t tls;
    unsigned number, batch, faults;
    uint64_t due_usec; /* WAIT: when to connect */
    struct bj_buf out; /* the request */
    size_t sent;
    char in[512]; /* the start of the response */
    size_t got;
};

static struct {
    unsigned port, nodes, batches, records;
    const char *token;
    gnutls_certificate_credentials_t cred;
    struct bj_gzip *gzip;
    struct node *node;
    int epoll;
    unsigned done, handshakes, repeated;
} load;

static void die(const char *what)
{
    perror(what);
    exit(1);
}

/* Records without GPUs have about this size. */
static void put_record(struct bj_buf *b, unsigned node, unsigned id)
{
    bj_buf_printf(
        b,
        "{\"format\":1,\"cluster\":\"alpha\",\"host\":\"node%05u\","
        "\"batch_system\":\"slurm\",\"jobid\":\"%u\",\"user\":\"user%03u\","
        "\"uid\":\"1%03u\",\"account\":\"acct%02u\",\"partition\":\"long\","
        "\"start\":%u,\"end\":%u,\"cpu_usec\":%u,\"cpu_user_usec\":3998211000,"
        "\"cpu_system_usec\":99211000,\"cpu_complete\":true,\"cpus\":4,"
        "\"memory_held_peak_bytes\":8123456789,"
        "\"memory_charged_peak_bytes\":9123456789,"
        "\"memory_limit_bytes\":17179869184,\"memory_limit_hits\":0,"
        "\"oom_kills\":0,\"identity_source\":\"prolog\",\"energy_uj\":{",
        node, id, id % 500, id % 500, id % 50, 1763649000 + id / 10,
        1763650000 + id / 10, 3998211 + id);
    static const char *const policy[] = {"hybrid", "usage", "reservation"};
    for (int i = 0; i < 3; i++)
        bj_buf_printf(b,
                      "%s\"%s\":{\"cpu\":%u,\"dram\":%u,\"gpu\":1234567,"
                      "\"other\":%u}",
                      i ? "," : "", policy[i], 81234567 + id, 1234567 + id, id);
    bj_buf_str(b, "},\"energy_policy\":\"hybrid\",\"energy_source\":\"rapl\","
                  "\"energy_quality\":\"components\",\"energy_static\":"
                  "\"learnt\",\"energy_gap\":false}\n");
}

static void make_request(struct node *n)
{
    struct bj_buf text = {0}, packed = {0};
    unsigned first = (n->number * load.batches + n->batch) * load.records;
    for (unsigned i = 0; i < load.records; i++)
        put_record(&text, n->number, first + i + 1);
    if (bj_gzip_pack(&load.gzip, (struct bj_slice){text.p, text.len}, &packed) <
        0)
        die("gzip");
    n->out.len = n->sent = n->got = 0;
    bj_buf_printf(&n->out,
                  "POST /records HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "
                  "%s\r\nContent-Encoding: gzip\r\nContent-Length: %zu\r\n\r\n",
                  load.token, packed.len);
    bj_buf_put(&n->out, packed.p, packed.len);
    bj_buf_free(&text);
    bj_buf_free(&packed);
}

static void hang_up(struct node *n)
{
    if (n->tls)
        gnutls_deinit(n->tls);
    n->tls = NULL;
    if (n->fd >= 0)
        close(n->fd);
    n->fd = -1;
}

static void retry(struct node *n)
{
    uint64_t most = (uint64_t)RETRY_USEC << (n->faults < 6 ? n->faults : 6);
    hang_up(n);
    n->faults++;
    load.repeated++;
    n->step = WAIT;
    n->due_usec = bj_clock_boot_usec() + SECOND / 10 +
                  (uint64_t)random() % (most < RETRY_MAX ? most : RETRY_MAX);
}

static void watch(struct node *n, int how, uint32_t events)
{
    struct epoll_event e = {.events = events, .data.ptr = n};
    if (epoll_ctl(load.epoll, how, n->fd, &e) < 0)
        die("epoll_ctl");
}

static void dial(struct node *n)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)load.port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const unsigned at = (unsigned)(n - load.node);
    const struct sockaddr_in from = {
        .sin_family = AF_INET, /* each node has an address */
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK + 256 + at)};
    n->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (n->fd < 0 ||
        bind(n->fd, (const struct sockaddr *)&from, sizeof(from)) < 0)
        die("socket");
    n->step = CONNECT;
    n->due_usec = bj_clock_boot_usec() + 60 * (uint64_t)SECOND;
    if (connect(n->fd, (struct sockaddr *)&in, sizeof(in)) < 0 &&
        errno != EINPROGRESS)
        retry(n);
    else
        watch(n, EPOLL_CTL_ADD, EPOLLOUT);
}

static void begin_tls(struct node *n)
{
    int code = 0;
    socklen_t len = sizeof(code);
    if (getsockopt(n->fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0 || code) {
        retry(n);
        return;
    }
    if (gnutls_init(&n->tls, GNUTLS_CLIENT | GNUTLS_NONBLOCK) < 0 ||
        gnutls_set_default_priority(n->tls) < 0 ||
        gnutls_credentials_set(n->tls, GNUTLS_CRD_CERTIFICATE, load.cred) < 0)
        die("gnutls");
    gnutls_session_set_verify_cert(n->tls, "localhost", 0);
    gnutls_transport_set_int(n->tls, n->fd);
    n->step = HANDSHAKE;
    load.handshakes++;
}

/* 0: continue; 1: wait for the socket; negative: the connection has failed. */
static int outcome(struct node *n, long r)
{
    if (r == GNUTLS_E_AGAIN || r == GNUTLS_E_INTERRUPTED) {
        watch(n, EPOLL_CTL_MOD,
              gnutls_record_get_direction(n->tls) ? EPOLLOUT : EPOLLIN);
        return 1;
    }
    return r < 0 && gnutls_error_is_fatal((int)r) ? -1 : 0;
}

/* The response is complete at the closing brace of its object. */
static int read_answer(struct node *n)
{
    long r =
        gnutls_record_recv(n->tls, n->in + n->got, sizeof(n->in) - 1 - n->got);
    int o = outcome(n, r);
    if (o != 0 || r <= 0)
        return o ? o : -1;
    n->got += (size_t)r;
    n->in[n->got] = '\0';
    if (!strchr(n->in, '}'))
        return 0;
    char want[64];
    snprintf(want, sizeof(want), "{\"refused\":[],\"stored\":%u}",
             load.records);
    if (!strstr(n->in, want))
        return -1;
    n->faults = 0;
    if (++n->batch < load.batches) {
        make_request(n);
        n->step = SEND;
        return 0;
    }
    load.done++;
    n->step = KEPT;
    watch(n, EPOLL_CTL_MOD, EPOLLIN);
    return 1;
}

static int send_some(struct node *n)
{
    long r =
        gnutls_record_send(n->tls, n->out.p + n->sent, n->out.len - n->sent);
    int o = outcome(n, r);
    if (o != 0)
        return o;
    n->sent += r > 0 ? (size_t)r : 0;
    if (n->sent == n->out.len)
        n->step = RECEIVE;
    return 0;
}

static void serve(struct node *n)
{
    int r = 0;
    if (n->step == CONNECT)
        begin_tls(n);
    while (r == 0 && n->step != WAIT) {
        if (n->step == HANDSHAKE) {
            int h = gnutls_handshake(n->tls);
            r = outcome(n, h);
            if (r == 0 && h == 0) {
                make_request(n);
                n->step = SEND;
            }
        } else if (n->step == SEND) {
            r = send_some(n);
        } else if (n->step == RECEIVE) {
            r = read_answer(n);
        } else { /* KEPT: the receiver has closed it */
            char c;
            r = outcome(n, gnutls_record_recv(n->tls, &c, 1));
            if (r <= 0) {
                hang_up(n);
                n->step = CLOSED;
                return;
            }
        }
    }
    if (r < 0)
        retry(n);
}

static void run(int timeout_ms)
{
    struct epoll_event e[256];
    int n = epoll_wait(load.epoll, e, 256, timeout_ms);
    for (int i = 0; i < n; i++)
        serve(e[i].data.ptr);
    uint64_t now = bj_clock_boot_usec();
    for (unsigned i = 0; i < load.nodes; i++) {
        struct node *w = &load.node[i];
        if (w->step == WAIT && w->due_usec <= now)
            dial(w);
        else if (w->step < KEPT && w->step > WAIT && w->due_usec <= now)
            retry(w);
    }
}

int main(int argc, char **argv)
{
    struct rlimit files;
    if (argc != 8) {
        fprintf(stderr, "usage: records_load PORT CA TOKEN NODES BATCHES "
                        "RECORDS KEEP_SEC\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    load.port = (unsigned)bench_u64(argv[1]);
    load.token = argv[3];
    load.nodes = (unsigned)bench_u64(argv[4]);
    load.batches = (unsigned)bench_u64(argv[5]);
    load.records = (unsigned)bench_u64(argv[6]);
    load.node = calloc(load.nodes, sizeof(*load.node));
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    if (!load.node || load.epoll < 0 ||
        gnutls_certificate_allocate_credentials(&load.cred) < 0 ||
        gnutls_certificate_set_x509_trust_file(load.cred, argv[2],
                                               GNUTLS_X509_FMT_PEM) < 1)
        die("start");
    for (unsigned i = 0; i < load.nodes; i++)
        load.node[i] = (struct node){.fd = -1, .number = i};
    uint64_t began = bj_clock_boot_usec();
    while (load.done < load.nodes)
        run(50);
    uint64_t took = bj_clock_boot_usec() - began;
    uint64_t until =
        bj_clock_boot_usec() + bench_u64(argv[7]) * (uint64_t)SECOND;
    while (bj_clock_boot_usec() < until)
        run(50);
    unsigned held = 0;
    for (unsigned i = 0; i < load.nodes; i++)
        held += load.node[i].step == KEPT;
    printf("%" PRIu64 ".%06" PRIu64 " %u %u %u\n", took / SECOND, took % SECOND,
           load.handshakes, load.repeated, held);
    return 0;
}
