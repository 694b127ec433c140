#include "base/fetches.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/fetch_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SECOND = 1000000,
    HANDLES = 8,
    PIECE_BYTES = 16 << 10,
};

struct bj_fetches {
    struct bj_libcurl lib;
    CURLM *multi;
    CURL *spare[HANDLES];
    unsigned spares;
    struct pollfd *socket; /* what libcurl waits for */
    nfds_t sockets;
    size_t room;
    uint64_t due_usec;
};

struct bj_flow {
    struct bj_fetches *all;
    struct bj_fetch fetch;
    struct bj_fetch_call call;
    struct bj_fetch_reply reply;
    struct bj_err err;
    const struct bj_flow_events *events;
    void *ctx;
    bool headed, paused;
};

/* --- sockets --------------------------------------------------------------*/

static struct pollfd *find_socket(struct bj_fetches *fs, int fd)
{
    for (nfds_t i = 0; i < fs->sockets; i++)
        if (fs->socket[i].fd == fd)
            return &fs->socket[i];
    return NULL;
}

static struct pollfd *add_socket(struct bj_fetches *fs, int fd)
{
    if (!BJ_GROW(fs->socket, fs->sockets + 1, fs->room))
        return NULL;
    struct pollfd *p = &fs->socket[fs->sockets++];
    *p = (struct pollfd){.fd = fd};
    return p;
}

/* libcurl waits for something else at a socket.  Without memory all requests
 * fail. */
static int on_socket(CURL *curl, curl_socket_t fd, int what, void *fetches,
                     void *unused)
{
    struct bj_fetches *fs = fetches;
    struct pollfd *p = find_socket(fs, fd);
    (void)curl;
    (void)unused;
    if (what == CURL_POLL_REMOVE) {
        if (p)
            *p = fs->socket[--fs->sockets];
        return 0;
    }
    if (!p && !(p = add_socket(fs, fd)))
        return -1;
    p->events = (short)((what & CURL_POLL_IN ? POLLIN : 0) |
                        (what & CURL_POLL_OUT ? POLLOUT : 0));
    return 0;
}

static int on_timer(CURLM *multi, long ms, void *fetches)
{
    struct bj_fetches *fs = fetches;
    (void)multi;
    fs->due_usec = ms < 0    ? UINT64_MAX
                   : ms == 0 ? 0
                             : bj_clock_boot_usec() + (uint64_t)ms * 1000;
    return 0;
}

static bool set_multi(struct bj_fetches *fs)
{
    const struct bj_libcurl *lib = &fs->lib;
    fs->multi = lib->multi_init();
    return fs->multi &&
           lib->multi_setopt(fs->multi, CURLMOPT_SOCKETFUNCTION, on_socket) ==
               CURLM_OK &&
           lib->multi_setopt(fs->multi, CURLMOPT_SOCKETDATA, fs) == CURLM_OK &&
           lib->multi_setopt(fs->multi, CURLMOPT_TIMERFUNCTION, on_timer) ==
               CURLM_OK &&
           lib->multi_setopt(fs->multi, CURLMOPT_TIMERDATA, fs) == CURLM_OK;
}

int bj_fetches_new(struct bj_fetches **ret, struct bj_err *err)
{
    struct bj_fetches *fs = calloc(1, sizeof(*fs));
    if (!fs)
        return bj_err_set(err, -ENOMEM, "no memory");
    fs->due_usec = UINT64_MAX;
    int r = bj_libcurl_load(&fs->lib, err);
    if (r == 0 && !set_multi(fs))
        r = bj_err_set(err, -ENOMEM, "libcurl: no memory");
    if (r < 0) {
        bj_fetches_free(fs);
        return r;
    }
    *ret = fs;
    return 0;
}

void bj_fetches_free(struct bj_fetches *fs)
{
    if (!fs)
        return;
    while (fs->spares > 0)
        fs->lib.easy_cleanup(fs->spare[--fs->spares]);
    if (fs->multi)
        fs->lib.multi_cleanup(fs->multi);
    free(fs->socket);
    free(fs);
}

/* --- replies --------------------------------------------------------------*/

static void note_status(struct bj_flow *f)
{
    long status = 0;
    f->fetch.lib.easy_getinfo(f->fetch.curl, CURLINFO_RESPONSE_CODE, &status);
    f->reply.status = status > 0 ? (unsigned)status : 0;
}

static void head(struct bj_flow *f)
{
    if (f->headed)
        return;
    f->headed = true;
    note_status(f);
    bj_fetch_read_headers(&f->reply, f->fetch.lib.getdate);
    f->events->head(f->ctx, &f->reply);
}

static size_t on_header(char *p, size_t size, size_t n, void *flow)
{
    struct bj_flow *f = flow;
    int r = bj_fetch_take_header(&f->reply, (struct bj_slice){p, size * n});
    if (r == 0)
        return size * n;
    f->call.verdict = r;
    return 0;
}

static size_t on_body(char *p, size_t size, size_t n, void *flow)
{
    struct bj_flow *f = flow;
    struct bj_slice piece = {p, size * n};
    size_t max = f->call.req->max_bytes;
    head(f);
    if (max && piece.n > max - f->call.got) {
        f->call.verdict = -EFBIG;
        return 0;
    }
    enum bj_flow_next next = f->events->piece(f->ctx, piece);
    f->paused = f->paused || next != BJ_FLOW_MORE;
    if (next == BJ_FLOW_REFUSED)
        return CURL_WRITEFUNC_PAUSE;
    /* with CURLPAUSE_RECV alone libcurl reads once more, into a copy */
    if (next == BJ_FLOW_PAUSE)
        f->fetch.lib.easy_pause(f->fetch.curl, CURLPAUSE_ALL);
    f->call.got += piece.n;
    return piece.n;
}

/* --- requests -------------------------------------------------------------*/

static bool set_flow(struct bj_flow *f)
{
    const struct bj_fetch_call *c = &f->call;
    CURL *h = f->fetch.curl;
    bool bad = false;
    BJ_FETCH_SET(CURLOPT_ACCEPT_ENCODING, NULL);
    BJ_FETCH_SET(CURLOPT_HTTP_CONTENT_DECODING, 0L);
    BJ_FETCH_SET(
        CURLOPT_BUFFERSIZE,
        (long)(c->req->piece_bytes ? c->req->piece_bytes : PIECE_BYTES));
    BJ_FETCH_SET(CURLOPT_ERRORBUFFER, f->fetch.message);
    BJ_FETCH_SET(CURLOPT_WRITEFUNCTION, on_body);
    BJ_FETCH_SET(CURLOPT_WRITEDATA, f);
    BJ_FETCH_SET(CURLOPT_HEADERFUNCTION, on_header);
    BJ_FETCH_SET(CURLOPT_HEADERDATA, f);
    BJ_FETCH_SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
    BJ_FETCH_SET(CURLOPT_PRIVATE, f);
#if LIBCURL_VERSION_NUM >= 0x075700
    /* the end of a request does not wait for a name look-up */
    f->fetch.lib.easy_setopt(h, CURLOPT_QUICK_EXIT, 1L);
#endif
    return !bad;
}

/* A handle without a request keeps no state; the connections are the multi
 * handle's. */
static void end_flow(struct bj_fetches *fs, struct bj_flow *f)
{
    CURL *curl = f->fetch.curl;
    if (curl) {
        fs->lib.multi_remove_handle(fs->multi, curl);
        fs->lib.easy_reset(curl);
        if (fs->spares < HANDLES)
            fs->spare[fs->spares++] = curl;
        else
            fs->lib.easy_cleanup(curl);
    }
    fs->lib.slist_free_all(f->call.headers);
    bj_fetch_reply_free(&f->reply);
    free(f);
}

static int fetches_start(struct bj_fetches *fs, struct bj_flow *f)
{
    struct bj_fetch_call *c = &f->call;
    f->fetch.curl =
        fs->spares > 0 ? fs->spare[--fs->spares] : fs->lib.easy_init();
    int r = f->fetch.curl ? bj_fetch_check_files(c) : -ENOMEM;
    if (r == 0)
        r = bj_fetch_make_headers(c);
    if (r == 0 && !(bj_fetch_set_options(c) && set_flow(f)))
        r = -EINVAL;
    if (r == 0 &&
        fs->lib.multi_add_handle(fs->multi, f->fetch.curl) != CURLM_OK)
        r = -ENOMEM;
    return r;
}

int bj_fetches_start(struct bj_fetches *fs, const struct bj_fetch_request *req,
                     const struct bj_flow_events *events, void *ctx,
                     struct bj_flow **ret, struct bj_err *err)
{
    struct bj_flow *f = calloc(1, sizeof(*f));
    if (!f)
        return bj_err_set(err, -ENOMEM, "no memory");
    f->all = fs;
    f->fetch.lib = fs->lib;
    f->events = events;
    f->ctx = ctx;
    f->call = (struct bj_fetch_call){
        .f = &f->fetch,
        .req = req,
        .reply = &f->reply,
        .err = &f->err,
        .method = req->method ? req->method : "GET",
        .url = req->url,
        .deadline = bj_clock_boot_usec() +
                    (req->total_usec ? req->total_usec : 30 * SECOND),
    };
    int r = fetches_start(fs, f);
    if (r == 0) {
        *ret = f;
        return 0;
    }
    bj_fetch_fail(&f->call, BJ_FETCH_LOCAL, r,
                  r == -ENOMEM ? "no memory" : "malformed request");
    *err = f->err;
    end_flow(fs, f);
    return r;
}

void bj_flow_resume(struct bj_flow *f)
{
    if (!f->paused)
        return;
    f->paused = false;
    f->fetch.lib.easy_pause(f->fetch.curl, CURLPAUSE_CONT);
    f->all->due_usec = 0; /* libcurl before 7.66 does not report it */
}

void bj_fetches_cancel(struct bj_fetches *fs, struct bj_flow *f)
{
    end_flow(fs, f);
}

static void fetches_finish(struct bj_fetches *fs, CURL *curl, CURLcode code)
{
    char *private = NULL;
    fs->lib.easy_getinfo(curl, CURLINFO_PRIVATE, &private);
    struct bj_flow *f = (struct bj_flow *)(void *)private;
    int r = f->call.verdict;
    note_status(f);
    if (r == -EFBIG)
        bj_fetch_fail(&f->call, BJ_FETCH_TOO_BIG, r,
                      "body larger than the limit");
    else if (r < 0)
        bj_fetch_fail(&f->call, BJ_FETCH_LOCAL, r, "no memory");
    else
        r = code == CURLE_OK ? 0 : bj_fetch_explain(&f->call, code);
    if (r == 0)
        head(f);
    f->events->end(f->ctx, &f->reply, r, &f->err);
    end_flow(fs, f);
}

/* --- the loop -------------------------------------------------------------*/

const struct pollfd *bj_fetches_poll(const struct bj_fetches *fs, nfds_t *ret_n)
{
    *ret_n = fs->sockets;
    return fs->socket;
}

uint64_t bj_fetches_due(const struct bj_fetches *fs)
{
    return fs->due_usec;
}

static int what_happened(short revents)
{
    return (revents & (POLLIN | POLLERR | POLLHUP) ? CURL_CSELECT_IN : 0) |
           (revents & (POLLOUT | POLLERR) ? CURL_CSELECT_OUT : 0) |
           (revents & POLLNVAL ? CURL_CSELECT_ERR : 0);
}

void bj_fetches_run(struct bj_fetches *fs, const struct pollfd *fds, nfds_t n,
                    uint64_t now_usec)
{
    int left = 0;
    bool ran = false;
    for (nfds_t i = 0; i < n; i++) {
        if (!fds[i].revents)
            continue;
        fs->lib.multi_socket_action(fs->multi, fds[i].fd,
                                    what_happened(fds[i].revents), &left);
        ran = true;
    }
    if (fs->due_usec <= now_usec) {
        fs->due_usec = UINT64_MAX;
        fs->lib.multi_socket_action(fs->multi, CURL_SOCKET_TIMEOUT, 0, &left);
        ran = true;
    }
    if (!ran)
        return;
    for (CURLMsg *m; (m = fs->lib.multi_info_read(fs->multi, &left));)
        if (m->msg == CURLMSG_DONE)
            fetches_finish(fs, m->easy_handle, m->data.result);
}
