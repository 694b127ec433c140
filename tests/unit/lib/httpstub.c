#include "tests/unit/lib/httpstub.h"

#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { POLL_MS = 20 };

/* Wait until fd is readable; false: the server has to stop. */
static bool readable(struct bj_stub *s, int fd)
{
    while (!atomic_load(&s->stop)) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, POLL_MS) > 0)
            return true;
    }
    return false;
}

static void nap(struct bj_stub *s, unsigned ms)
{
    for (; ms > 0 && !atomic_load(&s->stop); ms -= ms < POLL_MS ? ms : POLL_MS)
        poll(NULL, 0, (int)(ms < POLL_MS ? ms : POLL_MS));
}

/* Is the request that begins at offset from complete? */
static bool complete(const struct bj_buf *b, size_t from)
{
    struct bj_slice rest = {b->p + from, b->len - from}, line;
    uint64_t body = 0;
    const char *end = rest.n > 0 ? memmem(rest.p, rest.n, "\r\n\r\n", 4) : NULL;
    if (!end)
        return false;
    while (bj_slice_line(&rest, &line) && line.p < end)
        if (line.n > 15 && strncasecmp(line.p, "Content-Length:", 15) == 0)
            bj_slice_u64(
                bj_slice_trim((struct bj_slice){line.p + 15, line.n - 15}),
                &body);
    return b->len - (size_t)(end + 4 - b->p) >= body;
}

static bool take_request(struct bj_stub *s, int fd)
{
    char buf[65536];
    size_t from = s->received.len;
    while (!complete(&s->received, from)) {
        if (!readable(s, fd))
            return false;
        ssize_t n = recv(fd, buf, sizeof(buf), 0);
        if (n <= 0)
            return false;
        bj_buf_put(&s->received, buf, (size_t)n);
    }
    return true;
}

static void give_answer(struct bj_stub *s, int fd,
                        const struct bj_stub_response *a)
{
    size_t n = a->n ? a->n : strlen(a->text);
    nap(s, a->wait_ms);
    size_t step = a->drip_ms ? 1 : n;
    for (size_t at = 0; at < n && !atomic_load(&s->stop);) {
        size_t len = n - at < step ? n - at : step;
        ssize_t put = send(fd, a->text + at, len, MSG_NOSIGNAL);
        if (put <= 0)
            return;
        at += (size_t)put;
        nap(s, a->drip_ms);
    }
}

static void *play(void *stub)
{
    struct bj_stub *s = stub;
    int fd = -1;
    while (s->served < s->n && !atomic_load(&s->stop)) {
        const struct bj_stub_response *a = &s->responses[s->served];
        if (fd < 0) {
            if (!readable(s, s->fd))
                break;
            fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
            s->accepted++;
        }
        if (a->text && !take_request(s, fd)) {
            close(fd); /* use this response for the next connection */
            fd = -1;
            continue;
        }
        s->served++;
        if (a->text)
            give_answer(s, fd, a);
        if (!a->keep) {
            close(fd);
            fd = -1;
        }
    }
    if (fd >= 0)
        close(fd);
    return NULL;
}

static void listen_on(struct bj_stub *s, const struct sockaddr *sa,
                      socklen_t len)
{
    s->fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(s->fd >= 0);
    assert_int_equal(bind(s->fd, sa, len), 0);
    assert_int_equal(listen(s->fd, 16), 0);
}

void bj_stub_begin(struct bj_stub *s, const char *path,
                   const struct bj_stub_response *responses, size_t n)
{
    struct sockaddr_in in = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    socklen_t len = sizeof(in);
    *s = (struct bj_stub){.responses = responses, .n = n};
    if (path) {
        snprintf(un.sun_path, sizeof(un.sun_path), "%s", path);
        listen_on(s, (struct sockaddr *)&un, sizeof(un));
    } else {
        listen_on(s, (struct sockaddr *)&in, sizeof(in));
        assert_int_equal(getsockname(s->fd, (struct sockaddr *)&in, &len), 0);
        s->port = ntohs(in.sin_port);
    }
    snprintf(s->url, sizeof(s->url), "http://127.0.0.1:%u", s->port);
    assert_int_equal(pthread_create(&s->thread, NULL, play, s), 0);
}

void bj_stub_end(struct bj_stub *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    close(s->fd);
    bj_buf_put(&s->received, "", 1);
}

void bj_stub_free(struct bj_stub *s)
{
    bj_buf_free(&s->received);
}
