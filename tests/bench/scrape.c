/* scrape: scrapes an exporter as a Prometheus server does, repeatedly, on one
 * persistent connection to 127.0.0.1.
 *
 * scrape PORT PID SCRAPES MILLISECONDS PAUSE [METRIC] [gzip]
 *
 * After three scrapes to warm up, scrapes at least SCRAPES times and for at
 * least MILLISECONDS, PAUSE milliseconds apart.  Prints one JSON object: CPU
 * time of process PID per scrape (its process clock: nanoseconds, ended threads
 * included), wall times, size of the page, number of its samples, and by how
 * much METRIC (a counter without labels on the page) rose per scrape. */
#include "tests/bench/num.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { WARM = 3, MAX_SCRAPES = 200000, SETTLE_USEC = 20000 };

struct page {
    char *p;
    size_t len, cap;  /* bytes received, room */
    size_t body, end; /* offsets of body and end */
    bool chunked;
};

struct peer {
    int fd;
    struct sockaddr_in to;
    char request[512];
    size_t request_len;
};

_Noreturn static void die(const char *what)
{
    perror(what);
    exit(1);
}

static double now(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t) < 0)
        die("clock_gettime");
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void dial(struct peer *s)
{
    int on = 1;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(s->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    if (connect(s->fd, (struct sockaddr *)&s->to, sizeof(s->to)) < 0)
        die("connect");
}

/* Receive more of the response; false when the server has closed. */
static bool receive(struct peer *s, struct page *a)
{
    if (a->cap - a->len < 65536) {
        a->cap = a->cap * 2 + 131072;
        a->p = realloc(a->p, a->cap);
        if (!a->p)
            die("realloc");
    }
    ssize_t n = read(s->fd, a->p + a->len, a->cap - a->len - 1);
    if (n <= 0)
        return false;
    a->len += (size_t)n;
    a->p[a->len] = '\0';
    return true;
}

/* The value of a field in the header of the response, or NULL. */
static const char *field(const struct page *a, const char *name)
{
    size_t n = strlen(name);
    for (const char *l = a->p; l && l < a->p + a->body; l = strchr(l, '\n')) {
        l += *l == '\n';
        if (strncasecmp(l, name, n) == 0 && l[n] == ':')
            return l + n + 1 + strspn(l + n + 1, " ");
    }
    return NULL;
}

static void read_head(struct peer *s, struct page *a)
{
    const char *end = NULL;
    a->len = 0;
    while (a->len == 0 || !(end = strstr(a->p, "\r\n\r\n")))
        if (!receive(s, a))
            die("no answer");
    a->body = (size_t)(end - a->p) + 4;
    if (strncmp(a->p, "HTTP/1.1 200", 12) != 0) {
        fprintf(stderr, "scrape: %.40s\n", a->p);
        exit(1);
    }
    const char *length = field(a, "Content-Length");
    a->chunked = !length;
    a->end = a->body + (length ? bench_u64(length) : 0);
}

static size_t hex(const char *p)
{
    size_t v = 0;
    for (;; p++) {
        const char *digits = "0123456789abcdef";
        const char *d = *p ? strchr(digits, *p | 0x20) : NULL;
        if (!d)
            return v;
        v = v * 16 + (size_t)(d - digits);
    }
}

/* Join the chunks of a body as they arrive. */
static void read_chunks(struct peer *s, struct page *a)
{
    size_t in = a->body, out = a->body;
    for (size_t n = 1; n > 0;) {
        const char *eol;
        while (!(eol = in < a->len ? strstr(a->p + in, "\r\n") : NULL))
            if (!receive(s, a))
                die("no answer");
        n = hex(a->p + in);
        size_t data = (size_t)(eol - a->p) + 2;
        while (a->len < data + n + 2)
            if (!receive(s, a))
                die("no answer");
        memmove(a->p + out, a->p + data, n);
        out += n;
        in = data + n + 2;
    }
    a->end = out;
}

static void get(struct peer *s, struct page *a)
{
    const char *close_after;
    if (s->fd < 0)
        dial(s);
    if (write(s->fd, s->request, s->request_len) < 0)
        die("write");
    read_head(s, a);
    close_after = field(a, "Connection");
    bool closing = close_after && strncasecmp(close_after, "close", 5) == 0;
    if (a->chunked)
        read_chunks(s, a);
    while (a->len < a->end)
        if (!receive(s, a))
            die("short answer");
    a->p[a->end] = '\0';
    if (closing) {
        close(s->fd);
        s->fd = -1;
    }
}

static unsigned count_series(const struct page *a)
{
    unsigned n = 0;
    for (const char *l = a->p + a->body; l < a->p + a->end;) {
        n += *l != '#' && *l != '\n';
        const char *nl = strchr(l, '\n');
        l = nl ? nl + 1 : a->p + a->end;
    }
    return n;
}

/* The value of a metric without labels; 0 if it is absent. */
static double metric(const struct page *a, const char *name)
{
    size_t n = name ? strlen(name) : 0;
    const char *l = a->p + a->body;
    while (n > 0 && (l = strstr(l, name))) {
        if (l[-1] == '\n' && l[n] == ' ')
            return (double)bench_u64(l + n + 1);
        l += n;
    }
    return 0;
}

static int by_time(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void set_up(struct peer *s, unsigned port, bool gzip)
{
    s->fd = -1;
    s->to = (struct sockaddr_in){.sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int n = snprintf(s->request, sizeof(s->request),
                     "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                     "User-Agent: Prometheus/2.42.0\r\n"
                     "Accept: text/plain;version=0.0.4;q=1,*/*;q=0.1\r\n%s"
                     "X-Prometheus-Scrape-Timeout-Seconds: 10\r\n\r\n",
                     port, gzip ? "Accept-Encoding: gzip\r\n" : "");
    s->request_len = (size_t)n;
}

struct run {
    size_t least;   /* minimum of scrapes */
    double seconds; /* and of their duration */
    unsigned pause_usec;
    size_t n;
    double wall[MAX_SCRAPES];
};

static void run(struct run *r, struct peer *s, struct page *a)
{
    double start = now(CLOCK_MONOTONIC), end = start;
    while (r->n < MAX_SCRAPES &&
           (r->n < r->least || end - start < r->seconds)) {
        if (r->pause_usec > 0)
            usleep(r->pause_usec);
        double begin = now(CLOCK_MONOTONIC);
        get(s, a);
        end = now(CLOCK_MONOTONIC);
        r->wall[r->n++] = end - begin;
    }
}

int main(int argc, char **argv)
{
    if (argc < 6) {
        fprintf(stderr, "usage: scrape PORT PID SCRAPES MILLISECONDS PAUSE "
                        "[METRIC] [gzip]\n");
        return 2;
    }
    static struct run r;
    struct peer s;
    struct page a = {0};
    clockid_t clock;
    const char *name = argc > 6 ? argv[6] : NULL;
    r.least = bench_u64(argv[3]);
    r.seconds = (double)bench_u64(argv[4]) / 1e3;
    r.pause_usec = (unsigned)bench_u64(argv[5]) * 1000;
    set_up(&s, (unsigned)bench_u64(argv[1]),
           argc > 7 && strcmp(argv[7], "gzip") == 0);
    if (clock_getcpuclockid((pid_t)bench_u64(argv[2]), &clock) != 0)
        die("clock of the process");
    for (int i = 0; i < WARM; i++)
        get(&s, &a);
    double passes = metric(&a, name);
    usleep(SETTLE_USEC); /* work after the response counts */
    double cpu = now(clock);
    run(&r, &s, &a);
    usleep(SETTLE_USEC);
    cpu = (now(clock) - cpu) / (double)r.n;
    qsort(r.wall, r.n, sizeof(r.wall[0]), by_time);
    printf("{\"scrapes\": %zu, \"cpu_ms\": %.6f, \"wall_ms\": %.4f, "
           "\"p95_ms\": %.4f, \"bytes\": %zu, \"series\": %u, "
           "\"rise\": %.3f}\n",
           r.n, cpu * 1e3, r.wall[r.n / 2] * 1e3, r.wall[r.n * 95 / 100] * 1e3,
           a.end - a.body, count_series(&a),
           (metric(&a, name) - passes) / (double)r.n);
    return 0;
}
