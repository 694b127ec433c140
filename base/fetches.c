#include "base/fetches.h"

#include "base/clock.h"
#include "base/fetch_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SECOND = 1000000, HANDLES = 8, PIECE_BYTES = 16 << 10 };

struct bj_fetches {
    struct bj_libcurl lib;
    CURLM *multi;
    CURL *spare[HANDLES];
    unsigned spares;
};

struct bj_flow {
    struct bj_fetch fetch;
    struct bj_fetch_call call;
    struct bj_fetch_reply reply;
    struct bj_err err;
    const struct bj_flow_events *events;
    void *ctx;
    bool headed, paused;
};

int bj_fetches_new(struct bj_fetches **ret, struct bj_err *err)
{
    struct bj_fetch *first;
    struct bj_fetches *fs = calloc(1, sizeof(*fs));
    if (!fs)
        return bj_err_set(err, -ENOMEM, "no memory");
    int r = bj_fetch_new(&first, err);
    if (r < 0) {
        free(fs);
        return r;
    }
    fs->lib = first->lib;
    bj_fetch_free(first);
    fs->multi = fs->lib.multi_init();
    if (!fs->multi) {
        free(fs);
        return bj_err_set(err, -ENOMEM, "libcurl: no memory");
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
    fs->lib.multi_cleanup(fs->multi);
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
    if (next == BJ_FLOW_PAUSE)
        f->fetch.lib.easy_pause(f->fetch.curl, CURLPAUSE_RECV);
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

static int start(struct bj_fetches *fs, struct bj_flow *f)
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
    int r = start(fs, f);
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

void bj_flow_go_on(struct bj_flow *f)
{
    if (!f->paused)
        return;
    f->paused = false;
    f->fetch.lib.easy_pause(f->fetch.curl, CURLPAUSE_CONT);
}

void bj_fetches_cancel(struct bj_fetches *fs, struct bj_flow *f)
{
    end_flow(fs, f);
}

static void finish(struct bj_fetches *fs, CURL *curl, CURLcode code)
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

bool bj_fetches_run(struct bj_fetches *fs, int wake_fd, int timeout_ms)
{
    struct curl_waitfd wake = {.fd = wake_fd, .events = CURL_WAIT_POLLIN};
    int n = 0;
    fs->lib.multi_wait(fs->multi, &wake, 1, timeout_ms, &n);
    fs->lib.multi_perform(fs->multi, &n);
    for (CURLMsg *m; (m = fs->lib.multi_info_read(fs->multi, &n));)
        if (m->msg == CURLMSG_DONE)
            finish(fs, m->easy_handle, m->data.result);
    return wake.revents != 0;
}
