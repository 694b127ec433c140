#include "tests/unit/lib/fakeredfish.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define FATAL(what)                                                            \
    do {                                                                       \
        perror(what);                                                          \
        abort();                                                               \
    } while (0)

/* base64 of monitor:pass"word */
#define BASIC "Basic bW9uaXRvcjpwYXNzIndvcmQ="

struct request {
    char method[16], path[256];
    char token[64], authorization[128];
    char body[512];
};

/* The value of a header, or "". */
static void header(const char *head, const char *name, char *dst, size_t cap)
{
    size_t n = strlen(name);
    dst[0] = '\0';
    for (const char *p = strstr(head, "\r\n"); p; p = strstr(p + 2, "\r\n")) {
        if (strncasecmp(p + 2, name, n) != 0 || p[2 + n] != ':')
            continue;
        const char *v = p + 2 + n + 1 + strspn(p + 2 + n + 1, " ");
        snprintf(dst, cap, "%.*s", (int)strcspn(v, "\r\n"), v);
        return;
    }
}

static bool read_request(int c, struct request *q)
{
    char buf[8192], length[16];
    size_t n = 0, want = 0;
    char *end = NULL;
    for (;;) {
        ssize_t got = read(c, buf + n, sizeof(buf) - 1 - n);
        if (got <= 0)
            return false;
        n += (size_t)got;
        buf[n] = '\0';
        if (!end && (end = strstr(buf, "\r\n\r\n"))) {
            header(buf, "Content-Length", length, sizeof(length));
            want = (size_t)(end + 4 - buf) + strtoul(length, NULL, 10);
        }
        if (end && n >= want)
            break;
    }
    snprintf(q->method, sizeof(q->method), "%.*s", (int)strcspn(buf, " "), buf);
    const char *path = buf + strcspn(buf, " ") + 1;
    snprintf(q->path, sizeof(q->path), "%.*s", (int)strcspn(path, " "), path);
    header(buf, "X-Auth-Token", q->token, sizeof(q->token));
    header(buf, "Authorization", q->authorization, sizeof(q->authorization));
    snprintf(q->body, sizeof(q->body), "%s", end + 4);
    return true;
}

static void send_all(int c, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(c, p, n, MSG_NOSIGNAL);
        if (sent <= 0)
            return;
        p += sent;
        n -= (size_t)sent;
    }
}

static void respond(int c, unsigned status, const char *headers,
                    const char *body)
{
    char head[512];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 %u X\r\nContent-Type: application/json\r\n"
                     "Connection: close\r\nContent-Length: %zu\r\n%s\r\n",
                     status, strlen(body), headers);
    send_all(c, head, (size_t)n);
    send_all(c, body, strlen(body));
}

static void log_in(struct fake_redfish *s, int c, const struct request *q)
{
    char headers[256] = "";
    s->logins++;
    snprintf(s->last_body, sizeof(s->last_body), "%.255s", q->body);
    if (s->login_status) {
        respond(c, s->login_status, "", "{\"error\":{}}");
        return;
    }
    snprintf(s->token, sizeof(s->token), "token-%u", s->logins);
    if (!s->no_token)
        snprintf(headers, sizeof(headers), "x-auth-token: %s\r\n", s->token);
    if (!s->no_location)
        snprintf(headers + strlen(headers), sizeof(headers) - strlen(headers),
                 "Location: %s/redfish/v1/SessionService/Sessions/%u\r\n",
                 s->absolute ? s->url : "", s->logins);
    respond(c, 201, headers, "{}");
}

static void log_out(struct fake_redfish *s, int c, const struct request *q)
{
    char path[128];
    snprintf(path, sizeof(path), "/redfish/v1/SessionService/Sessions/%u",
             s->logins);
    if (strcmp(q->path, path) != 0 || strcmp(q->token, s->token) != 0) {
        respond(c, 404, "", "");
        return;
    }
    s->logouts++;
    s->token[0] = '\0';
    respond(c, 204, "", "");
}

static void get(struct fake_redfish *s, int c, const struct request *q)
{
    bool basic = strcmp(q->authorization, BASIC) == 0;
    bool session = s->token[0] && strcmp(q->token, s->token) == 0;
    s->gets++;
    s->basic += basic;
    if (!s->open && !basic && !session) {
        respond(c, 401, "", "{}");
        return;
    }
    for (size_t i = 0; i < REDFISH_DOCS; i++) {
        if (!s->doc[i].path || strcmp(s->doc[i].path, q->path) != 0)
            continue;
        respond(c, s->get_status ? s->get_status : 200, "", s->doc[i].body);
        return;
    }
    respond(c, 404, "", "{}");
}

static void until_gone(int c)
{
    struct pollfd p = {.fd = c, .events = POLLRDHUP};
    poll(&p, 1, 20000);
}

static void serve(struct fake_redfish *s, int c)
{
    struct request q;
    if (!read_request(c, &q))
        return;
    /* Read these first: the test may change them when it has the response. */
    const char *junk = s->junk;
    bool silent =
        strcmp(q.method, "DELETE") == 0 ? s->hang || s->hang_logout : s->hang;
    if (silent)
        until_gone(c);
    else if (junk)
        send_all(c, junk, strlen(junk));
    else if (strcmp(q.method, "POST") == 0)
        log_in(s, c, &q);
    else if (strcmp(q.method, "DELETE") == 0)
        log_out(s, c, &q);
    else
        get(s, c, &q);
}

static void *run(void *arg)
{
    struct fake_redfish *s = arg;
    for (;;) {
        int c = accept(s->fd, NULL, NULL);
        if (c < 0)
            return NULL;
        serve(s, c);
        close(c);
    }
}

void fake_redfish_start(struct fake_redfish *s)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    memset(s, 0, sizeof(*s));
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s->fd < 0 || bind(s->fd, (struct sockaddr *)&at, len) < 0 ||
        listen(s->fd, 8) < 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &len) < 0)
        FATAL("listen");
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", ntohs(at.sin_port));
    if (pthread_create(&s->thread, NULL, run, s) != 0)
        FATAL("thread");
}

void fake_redfish_stop(struct fake_redfish *s)
{
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    close(s->fd);
}

void fake_redfish_expire(struct fake_redfish *s)
{
    s->token[0] = '\0';
}

void fake_redfish_put(struct fake_redfish *s, const char *path,
                      const char *body)
{
    struct redfish_doc *room = NULL;
    for (size_t i = 0; i < REDFISH_DOCS; i++) {
        struct redfish_doc *d = &s->doc[i];
        if (d->path && strcmp(d->path, path) == 0)
            *d = (struct redfish_doc){0};
        if (!d->path && !room)
            room = d;
    }
    if (!room)
        FATAL("documents");
    if (body)
        *room = (struct redfish_doc){path, body};
}
