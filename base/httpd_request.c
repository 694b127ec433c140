#include "base/httpd_conn.h"
#include "base/stream.h"

#include <strings.h>

enum { PATH_BYTES = 256 };

/* --- requests -------------------------------------------------------------*/

static int httpd_request_hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decode %XX in the path of uri, once.  An encoded slash or NUL is an error:
 * proxies must see the same path as this server.  0 or a status. */
static unsigned decode(const char *uri, char *path)
{
    size_t n = 0;
    if (uri[0] != '/' && strncasecmp(uri, "http://", 7) == 0) {
        uri += 7 + strcspn(uri + 7, "/?");
        if (*uri != '/')
            return MHD_HTTP_BAD_REQUEST;
    }
    for (; *uri && *uri != '?'; uri++) {
        char c = *uri;
        if (c == '%') {
            int high = httpd_request_hex(uri[1]),
                low = high < 0 ? -1 : httpd_request_hex(uri[2]);
            c = (char)(high * 16 + low);
            if (high < 0 || low < 0 || c == '\0' || c == '/')
                return MHD_HTTP_BAD_REQUEST;
            uri += 2;
        }
        if (n == PATH_BYTES - 1)
            return MHD_HTTP_NOT_FOUND;
        path[n++] = c;
    }
    path[n] = '\0';
    return 0;
}

/* The first route for a path. */
static const struct bj_http_route *find_route(struct bj_httpd_conn *c,
                                              const char *path)
{
    struct bj_slice full = bj_slice_str(path);
    for (const struct bj_http_route *r = c->h->routes; r->path; r++) {
        struct bj_slice want = bj_slice_str(r->path);
        bool below = want.n > 1 && want.p[want.n - 1] == '*' &&
                     want.p[want.n - 2] == '/';
        if (!below && bj_slice_eq(full, want))
            return r;
        want.n -= below;
        if (!below || full.n <= want.n || !bj_slice_starts(full, want) ||
            full.n - want.n >= sizeof(c->tail))
            continue;
        memcpy(c->tail, path + want.n, full.n - want.n + 1);
        return r;
    }
    return NULL;
}

/* The request line has arrived.  Only this callback gets the path as sent. */
void *bj_httpd_on_uri(void *ctx, const char *uri, struct MHD_Connection *mhd)
{
    struct bj_httpd_conn *c =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
            ->socket_context;
    char path[PATH_BYTES];
    (void)ctx;
    if (!c || c->phase == BJ_HTTPD_CLOSED)
        return NULL;
    if (c->phase == BJ_HTTPD_IDLE)
        bj_httpd_conn_move(c, BJ_HTTPD_WAIT);
    c->seen = false;
    c->tail[0] = '\0';
    c->route = NULL;
    c->status = uri ? decode(uri, path) : MHD_HTTP_BAD_REQUEST;
    if (c->status != 0)
        return c;
    c->route = find_route(c, path);
    if (!c->route)
        c->status = MHD_HTTP_NOT_FOUND;
    return c;
}

/* A request must be beyond doubt: a proxy in front of this server may have read
 * its headers in another way (request smuggling). */
struct frame {
    unsigned lengths;
    bool odd;
};

/* A token of RFC 9110, section 5.6.2. */
static bool is_header_name(const char *s, size_t n)
{
    static const char other[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < n; i++) {
        char c = s[i], letter = (char)(c | 0x20);
        if (!(letter >= 'a' && letter <= 'z') && !(c >= '0' && c <= '9') &&
            (c == '\0' || !strchr(other, c)))
            return false;
    }
    return n > 0;
}

static bool is_header_value(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (((unsigned char)s[i] < ' ' && s[i] != '\t') || s[i] == 0x7f)
            return false;
    return true;
}

/* libmicrohttpd 0.9 joins a folded line (RFC 9112, section 5.2) to the name of
 * the line before, in another place of its buffer; it cuts a value at a NUL and
 * ends a line at a CR or LF alone.  It overwrites the colon, CR and LF with
 * NUL, so a value must be right behind its name and end with two.  Later
 * versions, with which a program built for 0.9 also runs, refuse such requests
 * with MHD_OPTION_STRICT_FOR_CLIENT and keep headers in other places. */
static bool is_one_line(const char *key, size_t n, const char *value,
                        size_t value_n)
{
    if (MHD_get_version()[0] != '0')
        return true;
    const char *at = key + n;
    while (at < value && (*at == '\0' || *at == ' ' || *at == '\t'))
        at++;
    return at == value && value > key + n && value[value_n] == '\0' &&
           value[value_n + 1] == '\0';
}

static enum MHD_Result check_header(void *ctx, enum MHD_ValueKind kind,
                                    const char *key, size_t n,
                                    const char *value, size_t value_n)
{
    struct frame *f = ctx;
    static const char length[] = MHD_HTTP_HEADER_CONTENT_LENGTH;
    (void)kind;
    f->odd = f->odd || !is_header_name(key, n) || !value ||
             !is_header_value(value, value_n) ||
             !is_one_line(key, n, value, value_n);
    if (n == sizeof(length) - 1 && strncasecmp(key, length, n) == 0)
        f->lengths++;
    return MHD_YES;
}

static bool is_ambiguous(const struct bj_http_request *req)
{
    struct frame f = {0};
    MHD_get_connection_values_n(req->handle, MHD_HEADER_KIND, check_header, &f);
    return f.odd || f.lengths > 1;
}

static bool takes_body(const struct bj_httpd_conn *c)
{
    return c->req.method == BJ_HTTP_POST && c->route &&
           (c->route->methods & BJ_HTTP_POST);
}

/* The status for a body that is too long, of unknown length, or for which there
 * is no room now; 0: none. */
static unsigned refuse_body(struct bj_httpd_conn *c)
{
    struct bj_httpd *h = c->h;
    const struct bj_http_request *req = &c->req;
    uint64_t n = 0;
    if (is_ambiguous(req))
        return MHD_HTTP_BAD_REQUEST;
    if (bj_http_header(req, "Transfer-Encoding").p)
        return MHD_HTTP_LENGTH_REQUIRED;
    struct bj_slice length = bj_http_header(req, "Content-Length");
    if (length.p && bj_slice_u64(length, &n) == -ERANGE)
        n = UINT64_MAX;
    if (n > h->lim.body_bytes)
        return MHD_HTTP_CONTENT_TOO_LARGE;
    if (!takes_body(c))
        return 0;
    if (h->lim.bodies_bytes > 0 && h->bodies_bytes + n > h->lim.bodies_bytes)
        return MHD_HTTP_SERVICE_UNAVAILABLE;
    c->announced = n;
    h->bodies_bytes += n;
    return 0;
}

/* Requests whose response is made later wait for room; they are not refused. */
static bool is_full(const struct bj_httpd *h)
{
    return bj_httpd_in_flight(h) >= h->lim.responses ||
           (!h->lim.later && !bj_httpd_room(h, 0));
}

/* May one more response start?  At a limit, stalled responses are closed. */
static bool may_respond(struct bj_httpd *h)
{
    while ((is_full(h) || !bj_httpd_room(h, h->lim.room_bytes)) &&
           bj_httpd_evict_stalled(h))
        ;
    return !is_full(h);
}

static unsigned method_of(const char *name)
{
    if (strcmp(name, "GET") == 0)
        return BJ_HTTP_GET;
    if (strcmp(name, "POST") == 0)
        return BJ_HTTP_POST;
    return strcmp(name, "HEAD") == 0 ? BJ_HTTP_HEAD : BJ_HTTP_OTHER;
}

/* --- replies --------------------------------------------------------------*/

static const struct {
    unsigned status;
    const char *text;
} sentences[] = {
    {MHD_HTTP_BAD_REQUEST, "The path or the headers are malformed."},
    {MHD_HTTP_UNAUTHORIZED, "A valid client certificate or token is needed."},
    {MHD_HTTP_NOT_FOUND, "There is nothing at this path."},
    {MHD_HTTP_METHOD_NOT_ALLOWED, "This path does not allow that method."},
    {MHD_HTTP_LENGTH_REQUIRED,
     "A request with a body needs a Content-Length header."},
    {MHD_HTTP_CONTENT_TOO_LARGE, "The body of the request is too long."},
    {MHD_HTTP_INTERNAL_SERVER_ERROR, "Not enough memory for the response."},
    {MHD_HTTP_SERVICE_UNAVAILABLE,
     "Too many responses are in flight; try again."},
};

static void httpd_request_explain(struct bj_http_reply *r, unsigned status)
{
    r->status = status;
    bj_buf_free(&r->body);
    for (size_t i = 0; i < sizeof(sentences) / sizeof(sentences[0]); i++)
        if (sentences[i].status == status)
            bj_buf_printf(&r->body, "%s\n", sentences[i].text);
}

static void refuse_method(struct bj_http_reply *r, unsigned methods)
{
    static const char *const allow[] = {
        "",     "GET",       "HEAD",       "GET, HEAD",
        "POST", "GET, POST", "HEAD, POST", "GET, HEAD, POST"};
    httpd_request_explain(r, MHD_HTTP_METHOD_NOT_ALLOWED);
    r->header[0].name = MHD_HTTP_HEADER_ALLOW;
    r->header[0].value = allow[methods & 7];
}

/* Let the program format a refusal. */
static void format_refusal(struct bj_httpd *h,
                           const struct bj_http_request *req,
                           struct bj_http_reply *r)
{
    const struct bj_http_route *end = h->routes;
    while (end->path)
        end++;
    if (end->handle)
        end->handle(h->ctx, req, r);
}

/* The library is done with the response. */
static void release_body(void *cls)
{
    struct bj_httpd_conn *c = cls;
    __atomic_sub_fetch(&c->h->flight_bytes, c->counted, __ATOMIC_RELAXED);
    c->counted = 0;
    bj_httpd_buf_return(c->h, &c->body);
}

static ssize_t empty_body(void *cls, uint64_t pos, char *buf, size_t max)
{
    (void)cls;
    (void)pos;
    (void)buf;
    (void)max;
    return MHD_CONTENT_READER_END_OF_STREAM;
}

/* The headers of the web configuration, unless the program sets them. */
static void add_site_headers(const struct bj_httpd *h, struct MHD_Response *m,
                             const struct bj_http_reply *r)
{
    for (int i = 0; h->web && i < BJ_WEB_HEADERS; i++) {
        const char *name = h->web->conf.header[i].name;
        size_t n = sizeof(r->header) / sizeof(r->header[0]), j = 0;
        while (name && j < n && r->header[j].name &&
               strcasecmp(r->header[j].name, name) != 0)
            j++;
        if (name && (j == n || !r->header[j].name))
            MHD_add_response_header(m, name, h->web->conf.header[i].value);
    }
}

static struct MHD_Response *build(struct bj_httpd_conn *c,
                                  struct bj_http_reply *r)
{
    struct MHD_Response *m;
    if (r->stream)
        bj_httpd_buf_return(c->h, &r->body);
    if (r->body.failed)
        httpd_request_explain(r, MHD_HTTP_INTERNAL_SERVER_ERROR);
    c->body = r->body;
    c->counted = c->body.cap;
    __atomic_add_fetch(&c->h->flight_bytes, c->counted, __ATOMIC_RELAXED);
    if (r->stream)
        m = bj_httpd_stream_build(c, r);
    else if (r->unsized && r->body.len == 0)
        m = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 64, empty_body,
                                              c, release_body);
    else
        m = MHD_create_response_from_buffer_with_free_callback_cls(
            c->body.len, c->body.p, release_body, c);
    if (!m) {
        release_body(c);
        return NULL;
    }
    /* With chunks, the library sends the last chunk even after HEAD. */
    if (r->unsized)
        MHD_set_response_options(m, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT,
                                 MHD_RO_END);
    MHD_add_response_header(m, MHD_HTTP_HEADER_CONTENT_TYPE, r->type);
    for (size_t i = 0; i < sizeof(r->header) / sizeof(r->header[0]); i++) {
        if (!r->header[i].name)
            break;
        MHD_add_response_header(m, r->header[i].name, r->header[i].value);
    }
    add_site_headers(c->h, m, r);
    return m;
}

static enum MHD_Result queue(struct bj_httpd_conn *c, unsigned status,
                             struct MHD_Response *m)
{
    if (!m)
        return MHD_NO;
    enum MHD_Result ok = MHD_queue_response(c->mhd, status, m);
    MHD_destroy_response(m);
    if (ok == MHD_YES && c->phase != BJ_HTTPD_CLOSED)
        bj_httpd_conn_move(c, c->stream ? BJ_HTTPD_STREAM : BJ_HTTPD_SEND);
    return ok;
}

/* Build first: that may change the status. */
static enum MHD_Result send_reply(struct bj_httpd_conn *c,
                                  struct bj_http_reply *r)
{
    struct MHD_Response *m = build(c, r);
    return queue(c, r->status, m);
}

/* Until bj_httpd_finish(). */
static enum MHD_Result suspend(struct bj_httpd_conn *c)
{
    c->suspended = true;
    MHD_suspend_connection(c->mhd);
    bj_httpd_conn_move(c, BJ_HTTPD_WORK);
    return MHD_YES;
}

void bj_httpd_finish(struct bj_httpd *h, const struct bj_http_request *req,
                     struct bj_http_reply *reply)
{
    struct bj_httpd_conn *c =
        (struct bj_httpd_conn *)((char *)(uintptr_t)req -
                                 offsetof(struct bj_httpd_conn, req));
    if (c->phase == BJ_HTTPD_CLOSED) {
        bj_httpd_buf_return(h, &reply->body);
        if (reply->stream)
            bj_stream_close(reply->stream);
    } else {
        c->response = build(c, reply);
        c->response_status = reply->status;
    }
    bj_httpd_conn_resume(c);
}

bool bj_http_client_gone(const struct bj_http_request *req)
{
    const struct bj_httpd_conn *c =
        (const struct bj_httpd_conn *)((const char *)req -
                                       offsetof(struct bj_httpd_conn, req));
    /* The library does not poll a suspended connection. */
    struct pollfd p = {.fd = c->fd, .events = POLLRDHUP};
    return __atomic_load_n(&c->client_gone, __ATOMIC_RELAXED) ||
           (poll(&p, 1, 0) == 1 &&
            (p.revents & (POLLRDHUP | POLLHUP | POLLERR)));
}

static void respond(struct bj_httpd_conn *c, const struct bj_http_request *req,
                    struct bj_http_reply *r)
{
    struct bj_httpd *h = c->h;
    bool refused = true;
    bj_httpd_count(&h->stat.requests, 1);
    if (h->guard && !h->guard(h->ctx, req, r)) {
        refused = false;
    } else if (c->upload.failed) {
        httpd_request_explain(r, MHD_HTTP_INTERNAL_SERVER_ERROR);
    } else if (c->status != 0) {
        httpd_request_explain(r, c->status);
    } else if (!(c->route->methods & req->method)) {
        refuse_method(r, c->route->methods);
    } else if (!c->route->always && !may_respond(h)) {
        bj_httpd_count(&h->stat.refused, 1);
        httpd_request_explain(r, MHD_HTTP_SERVICE_UNAVAILABLE);
        r->header[0].name = MHD_HTTP_HEADER_RETRY_AFTER;
        r->header[0].value = "1";
    } else {
        refused = false;
        c->route->handle(h->ctx, req, r);
    }
    if (refused)
        format_refusal(h, req, r);
}

/* A piece of the request's body.  begin() has checked the length; do not rely
 * on the library to respect it. */
static void take_upload(struct bj_httpd_conn *c, const char *piece, size_t n)
{
    if (takes_body(c) && n <= c->h->lim.body_bytes - c->upload.len)
        bj_buf_put(&c->upload, piece, n);
}

/* The request is complete.  Called again after bj_httpd_finish(). */
static enum MHD_Result complete(struct bj_httpd_conn *c,
                                struct bj_http_reply *reply)
{
    if (c->response || c->phase == BJ_HTTPD_WORK) {
        struct MHD_Response *m = c->response;
        c->response = NULL;
        return queue(c, c->response_status, m);
    }
    c->req.body = (struct bj_slice){c->upload.p, c->upload.len};
    bj_httpd_tls_peer(c);
    respond(c, &c->req, reply);
    return reply->later ? suspend(c) : send_reply(c, reply);
}

/* The headers have arrived. */
static enum MHD_Result httpd_request_begin(struct bj_httpd_conn *c,
                                           const char *method,
                                           struct bj_http_reply *reply)
{
    c->seen = true;
    c->req = (struct bj_http_request){.method = method_of(method),
                                      .handle = c->mhd,
                                      .fd = c->fd,
                                      .address = c->address,
                                      .tail = bj_slice_str(c->tail),
                                      .secure = c->tls != NULL};
    bj_httpd_forget_body(c);
    unsigned status = refuse_body(c);
    if (status == 0 && c->h->admit && takes_body(c)) {
        bj_httpd_tls_peer(c);
        status = c->h->admit(c->h->ctx, &c->req);
    }
    if (status == 0)
        return MHD_YES;
    bj_httpd_count(&c->h->stat.requests, 1);
    bj_httpd_forget_body(c);
    httpd_request_explain(reply, status);
    /* The start of the next request is unknown. */
    reply->header[0].name = MHD_HTTP_HEADER_CONNECTION;
    reply->header[0].value = "close";
    if (status == MHD_HTTP_UNAUTHORIZED) {
        reply->header[1].name = MHD_HTTP_HEADER_WWW_AUTHENTICATE;
        reply->header[1].value = "Bearer";
    }
    format_refusal(c->h, &c->req, reply);
    return send_reply(c, reply);
}

enum MHD_Result bj_httpd_on_request(void *ctx, struct MHD_Connection *mhd,
                                    const char *url, const char *method,
                                    const char *version, const char *upload,
                                    size_t *upload_size, void **slot)
{
    struct bj_httpd_conn *c = *slot;
    struct bj_http_reply reply = {.status = MHD_HTTP_OK,
                                  .type = "text/plain; charset=utf-8"};
    (void)ctx;
    (void)mhd;
    (void)url;
    (void)version;
    if (!c || c->phase == BJ_HTTPD_CLOSED)
        return MHD_NO;
    if (!c->seen)
        return httpd_request_begin(c, method, &reply);
    if (*upload_size == 0)
        return complete(c, &reply);
    take_upload(c, upload, *upload_size);
    *upload_size = 0;
    return MHD_YES;
}

void bj_httpd_on_completed(void *ctx, struct MHD_Connection *mhd, void **slot,
                           enum MHD_RequestTerminationCode why)
{
    struct bj_httpd_conn *c = *slot;
    (void)ctx;
    (void)mhd;
    (void)why;
    if (c && c->response)
        MHD_destroy_response(c->response);
    if (c)
        c->response = NULL;
    if (!c || c->phase == BJ_HTTPD_CLOSED)
        return;
    bj_httpd_forget_body(c);
    bj_httpd_conn_move(c, BJ_HTTPD_IDLE);
    if (c->h->draining)
        bj_httpd_conn_hang_up(c);
}

struct bj_slice bj_http_header(const struct bj_http_request *req,
                               const char *name)
{
    const char *value = NULL;
    size_t n = 0;
    if (MHD_lookup_connection_value_n(req->handle, MHD_HEADER_KIND, name,
                                      strlen(name), &value, &n) != MHD_YES)
        return (struct bj_slice){0};
    return (struct bj_slice){value, n};
}

/* Collects the headers of one name. */
struct collected {
    struct bj_slice name;
    struct bj_slice *ret;
    unsigned n, max;
};

static enum MHD_Result on_header(void *ctx, enum MHD_ValueKind kind,
                                 const char *key, size_t key_size,
                                 const char *value, size_t value_size)
{
    struct collected *w = ctx;
    (void)kind;
    if (key_size != w->name.n || strncasecmp(key, w->name.p, key_size) != 0)
        return MHD_YES;
    if (w->n < w->max)
        w->ret[w->n] = (struct bj_slice){value ? value : "", value_size};
    w->n++;
    return MHD_YES;
}

unsigned bj_http_header_all(const struct bj_http_request *req, const char *name,
                            struct bj_slice *ret, unsigned max)
{
    struct collected w = {bj_slice_str(name), ret, 0, max};
    MHD_get_connection_values_n(req->handle, MHD_HEADER_KIND, on_header, &w);
    return w.n;
}

struct args {
    int (*each)(void *ctx, struct bj_slice key, struct bj_slice value);
    void *ctx;
    int result;
};

static enum MHD_Result on_arg(void *ctx, enum MHD_ValueKind kind,
                              const char *key, size_t key_size,
                              const char *value, size_t value_size)
{
    struct args *a = ctx;
    (void)kind;
    a->result = a->each(a->ctx, (struct bj_slice){key, key_size},
                        (struct bj_slice){value, value_size});
    return a->result == 0 ? MHD_YES : MHD_NO;
}

int bj_http_each_arg(const struct bj_http_request *req,
                     int (*each)(void *ctx, struct bj_slice key,
                                 struct bj_slice value),
                     void *ctx)
{
    struct args a = {each, ctx, 0};
    MHD_get_connection_values_n(req->handle, MHD_GET_ARGUMENT_KIND, on_arg, &a);
    return a.result;
}
