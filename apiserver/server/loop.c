#include "apiserver/server/loop.h"

#include "apiserver/frame/answer.h"
#include "apiserver/frame/room.h"
#include "apiserver/frame/settings.h"
#include "base/array.h"
#include "base/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    OWN = 2, /* the descriptor of the caller, and "wake" */
    /* time until descriptors without room are tried again */
    LOW_MEMORY_MS = 50,
};

/* --- responses -------------------------------------------------------------
 */

void bj_server_finish(struct bj_server *s, struct bj_request *t)
{
    bj_httpd_finish(s->httpd, t->call.req, &t->reply);
    bj_settings_unref(t->settings);
    free(t);
}

static void collect(struct bj_server *s)
{
    uint64_t n;
    struct bj_request *t;
    if (read(s->wake, &n, sizeof(n)) < 0)
        return;
    pthread_mutex_lock(&s->lock);
    struct bj_queue done = s->done;
    if (!done.first)
        done.last = &done.first;
    s->done = (struct bj_queue){NULL, &s->done.first};
    pthread_mutex_unlock(&s->lock);
    while ((t = bj_queue_pop(&done))) {
        __atomic_sub_fetch(&s->made_bytes, t->reply.body.cap, __ATOMIC_RELAXED);
        if (t->call.forward)
            bj_gate_submit(s->gate, t->call.forward);
        else
            bj_server_finish(s, t);
    }
}

/* The gate has a response, the head of a response, or the work of a second
 * part. */
static void on_forwarded(void *ctx, struct bj_call *c)
{
    struct bj_server *s = ctx;
    c->forward = NULL;
    if (c->work) {
        pthread_mutex_lock(&s->lock);
        bj_queue_push(&s->waiting, bj_request_of(c));
        pthread_mutex_unlock(&s->lock);
        pthread_cond_signal(&s->wait_cond);
        return;
    }
    bj_buf_trim(&c->reply->body);
    if (!c->reply->stream) /* else the gate logs it at its end */
        bj_answer_end(c);
    bj_server_finish(s, bj_request_of(c));
}

/* The gate has more data of a response. */
static void on_readable(void *ctx)
{
    struct bj_server *s = ctx;
    s->readable = true;
}

/* Sent responses have made room: wake threads that wait for it. */
static void wake_waiters(struct bj_server *s)
{
    pthread_mutex_lock(&s->lock);
    bj_room_changed(s);
    pthread_mutex_unlock(&s->lock);
}

const struct bj_gate_events bj_server_events = {on_forwarded, on_readable};

/* --- a turn ----------------------------------------------------------------
 */

/* The descriptors that a turn polls for itself and for the gate. */
static struct pollfd *collect_fds(struct bj_server *s, int fd,
                                  struct pollfd *few, nfds_t *ret_gate)
{
    const struct pollfd *gate = bj_gate_poll(s->gate, ret_gate);
    const size_t most = OWN + BJ_HTTPD_FDS + *ret_gate;
    struct pollfd *fds = BJ_GROW(s->poll, most, s->polls) ? s->poll : few;
    if (fds == few)
        *ret_gate = 0; /* found no room */
    fds[0] = (struct pollfd){.fd = fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = s->wake, .events = POLLIN};
    if (*ret_gate > 0)
        memcpy(fds + OWN, gate, *ret_gate * sizeof(*gate));
    return fds;
}

/* -1 is forever. */
static int min_timeout(int a, int b)
{
    return a < 0 || (b >= 0 && b < a) ? b : a;
}

static void run_gate(struct bj_server *s, const struct pollfd *fds, nfds_t n,
                     uint64_t now)
{
    bj_gate_run(s->gate, fds, n, now);
    if (s->readable)
        bj_httpd_resume(s->httpd);
    s->readable = false;
}

int bj_server_turn(struct bj_server *s, int fd, int max_ms)
{
    struct pollfd few[OWN + BJ_HTTPD_FDS];
    nfds_t gate, httpd;
    struct pollfd *fds = collect_fds(s, fd, few, &gate);
    const int ms = min_timeout(fds == few ? LOW_MEMORY_MS : max_ms,
                               bj_gate_timeout(s->gate, bj_clock_boot_usec()));
    int r = bj_httpd_wait(s->httpd, fds, OWN + gate, ms, &httpd);
    if (r < 0)
        return r;
    const uint64_t now = bj_clock_boot_usec();
    if (fds[1].revents)
        collect(s);
    run_gate(s, fds + OWN, gate, now);
    bj_httpd_run(s->httpd, fds + OWN + gate, httpd, now);
    run_gate(s, NULL, 0, now); /* requests that have just arrived */
    wake_waiters(s);
    return fds[0].revents != 0;
}
