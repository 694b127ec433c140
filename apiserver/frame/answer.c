#include "apiserver/frame/answer.h"

#include "apiserver/frame/admit.h"
#include "apiserver/frame/encode.h"
#include "apiserver/frame/replica.h"
#include "apiserver/frame/request_log.h"
#include "apiserver/frame/settings.h"
#include "apiserver/frame/state.h"

#include "base/clock.h"
#include "base/log.h"

/* --- finding the endpoint --------------------------------------------------
 */

/* A pattern may have one '*', which matches a name: at least one byte, without
 * a slash; or end with '**', which matches anything. */
static bool fits(const char *pattern, struct bj_slice path,
                 struct bj_slice *ret_tail)
{
    struct bj_slice want = bj_slice_str(pattern);
    const char *star = memchr(pattern, '*', want.n);
    *ret_tail = (struct bj_slice){"", 0};
    if (!star)
        return bj_slice_eq(want, path);
    size_t before = (size_t)(star - pattern), behind = want.n - before - 1;
    if (star[1] == '*')
        return bj_slice_starts(path, (struct bj_slice){pattern, before});
    if (path.n < want.n || memcmp(pattern, path.p, before) != 0 ||
        memcmp(star + 1, path.p + path.n - behind, behind) != 0)
        return false;
    *ret_tail = (struct bj_slice){path.p + before, path.n - before - behind};
    return !memchr(ret_tail->p, '/', ret_tail->n);
}

unsigned bj_answer_find(struct bj_call *c, struct bj_slice path)
{
    unsigned i = 0;
    for (; c->worker->endpoint[i]; i++)
        if (fits(c->worker->endpoint[i]->path + 1, path, &c->tail)) {
            c->endpoint = c->worker->endpoint[i];
            return i;
        }
    return BJ_API_ENDPOINTS - 1;
}

/* each account makes a query of the gate longer */
enum { QUICK_ACCOUNTS = 16 };

/* --- running the endpoint ---------------------------------------------------
 */

static const char *allowed(unsigned methods)
{
    return methods & BJ_HTTP_POST
               ? methods & BJ_HTTP_GET ? "GET, HEAD, POST" : "POST"
               : "GET, HEAD";
}

static int failed(struct bj_call *c, int code)
{
    char text[320];
    if (code == -EINTR)
        return bj_call_refuse(c, 503,
                              "The query of the store took too long; request a "
                              "shorter time or fewer jobs.");
    if (code == -E2BIG)
        return bj_call_refuse(
            c, 400,
            "The request has too many values for one query; use fewer.");
    if (code == -ENOMEM)
        return bj_call_refuse(c, 500, "The server is out of memory.");
    bj_log(BJ_LOG_ERROR, NULL, "request %s: %s", c->request_id,
           bj_err_reason(&c->err, text, sizeof(text)));
    return bj_call_refuse(c, 503, "The store cannot be read at the moment.");
}

static void use_texts(struct bj_call *c)
{
    bj_texts_unref(c->texts);
    c->texts = bj_texts_ref(c->worker->texts);
    bj_texts_use(c->texts);
}

static int with_store(struct bj_call *c)
{
    static const char csv[] = "text/csv"; /* has no meta */
    int r = bj_reader_begin(c->worker->reader, &c->err);
    if (r < 0)
        return r;
    c->reader = c->worker->reader;
    r = bj_replica_read_lag(c);
    if (r == 0)
        r = bj_texts_read(c->worker, c->reader, &c->err);
    use_texts(c);
    if (r == 0)
        r = c->endpoint->run(c);
    if (c->lag[0] && strncmp(c->reply->type, csv, sizeof(csv) - 1) == 0)
        bj_call_header(c, "X-Replica-Lag-Seconds", c->lag);
    bj_reader_end(c->reader);
    return r;
}

/* A page that does not need the store also uses the site's texts, if these can
 * be read. */
static int without_store(struct bj_call *c)
{
    struct bj_err ignored = {0};
    if (c->worker->reader && !bj_request_of(c)->quick && !c->worker->texts &&
        bj_reader_begin(c->worker->reader, &ignored) == 0) {
        bj_texts_read(c->worker, c->worker->reader, &ignored);
        bj_reader_end(c->worker->reader);
    }
    use_texts(c);
    return c->endpoint->run(c);
}

/* Repeat the request once, in a new connection, if the store was replaced
 * meanwhile, or if a replica had to end the query to continue replaying. */
static int first_part(struct bj_call *c)
{
    if (!(c->endpoint->needs & BJ_NEED_STORE))
        return without_store(c);
    int r = with_store(c);
    bool again = r == -EBUSY || (r < 0 && bj_reader_broken(r));
    if (again && c->reader) {
        bj_reader_close(c->worker->reader);
        c->reply->body.len = 0;
        c->reply->status = 200;
        c->err = (struct bj_err){0};
        r = with_store(c);
    }
    return r;
}

/* Convert the result of run or after to a response. */
static void settle(struct bj_call *c, int r)
{
    if (r < 0)
        r = failed(c, r);
    if (r > 0 && c->endpoint->refused)
        c->endpoint->refused(c);
    if (r == 0 && !c->work && !c->forward)
        bj_encode(c);
}

/* Authenticate the request: 0, a refusal, or BJ_AUTH_LATER. */
static int authenticate(struct bj_call *c)
{
    const struct bj_auth_time at = {.boot_usec = bj_clock_boot_usec(),
                                    .wall_sec = c->now_sec,
                                    .may_wait = !bj_request_of(c)->quick};
    struct bj_err why = {0};
    unsigned status =
        bj_auth_identify(c->worker->auth, c->req, &at, &c->identity, &why);
    if (status == BJ_AUTH_LATER ||
        (!at.may_wait && status == 0 && c->identity.accounts > QUICK_ACCOUNTS))
        return BJ_AUTH_LATER;
    if (status == 429)
        bj_call_header(c, "Retry-After", "1");
    return status ? bj_call_refuse(c, status, "%s", why.msg) : 0;
}

/* Check the path and the method: 0, or a refusal. */
static int check(struct bj_call *c)
{
    int r = bj_admit_request(c);
    if (r != 0)
        return r;
    if (!c->endpoint)
        return bj_call_refuse(c, 404, "This path does not exist.");
    unsigned method =
        c->req->method == BJ_HTTP_HEAD ? BJ_HTTP_GET : c->req->method;
    if (c->endpoint->methods & method)
        return 0;
    bj_call_header(c, "Allow", allowed(c->endpoint->methods));
    return bj_call_refuse(c, 405, "This path does not allow that method.");
}

static void begin(struct bj_call *c)
{
    struct bj_request *t = bj_request_of(c);
    int r = 0;
    bj_call_header(c, "Cache-Control", "no-store");
    bj_call_header(c, "X-Content-Type-Options", "nosniff");
    bj_call_header(c, "X-Request-Id", c->request_id);
    if (!t->checked && check(c) != 0)
        return;
    if (c->endpoint->needs & BJ_NEED_USER)
        r = authenticate(c);
    t->checked = r == BJ_AUTH_LATER;
    if (t->checked)
        return;
    if (r == 0 && (c->endpoint->needs & BJ_NEED_USER))
        r = bj_admit_user(c);
    t->parked = r == 0 && !bj_admit_query(c);
    if (t->parked)
        t->settings = bj_settings_ref(c->worker->settings);
    else
        settle(c, r == 0 ? first_part(c) : r);
}

/* The options, including the access rules of the user, may have changed while
 * the request was parked. */
static void resume(struct bj_call *c)
{
    struct bj_request *t = bj_request_of(c);
    int r = t->settings == c->worker->settings ? 0 : authenticate(c);
    bj_settings_unref(t->settings);
    t->settings = NULL;
    settle(c, r == 0 ? first_part(c) : r);
}

void bj_answer(struct bj_call *c)
{
    use_texts(c);
    if (bj_request_of(c)->settings)
        resume(c);
    else
        begin(c);
}

void bj_answer_rest(struct bj_call *c)
{
    bj_texts_use(c->texts);
    settle(c, c->endpoint->after(c));
}

void bj_answer_end(struct bj_call *c)
{
    struct bj_request *t = bj_request_of(c);
    struct bj_request_log l;
    bj_request_log_begin(&l, c, &c->worker->server->count[t->at],
                         t->start_usec);
    bj_request_log_end(&l, c->reply->body.len);
    bj_texts_use(NULL);
    bj_texts_unref(c->texts);
    c->texts = NULL;
}

void bj_answer_refused(struct bj_server *s, const struct bj_call *c)
{
    struct bj_request_log l;
    bj_request_log_begin(&l, c, &s->count[BJ_API_ENDPOINTS - 1], 0);
    bj_request_log_end(&l, c->reply->body.len);
}
