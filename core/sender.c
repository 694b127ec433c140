#include "core/sender.h"

#include "base/absent.h"
#include "base/clock.h"
#include "base/fetch.h"
#include "base/file.h"
#include "base/gzip.h"
#include "base/json.h"
#include "base/secret_file.h"
#include "core/poller.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void bj_send_batch_free(struct bj_send_batch *b)
{
    bj_buf_free(&b->names);
    bj_buf_free(&b->body);
    free(b->text);
    *b = (struct bj_send_batch){0};
}

bool bj_send_is_record(const char *name)
{
    size_t n = strlen(name);
    return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".json") == 0;
}

static int set_bad(int dir, const char *name, struct bj_err *err)
{
    char to[NAME_MAX + 1];
    snprintf(to, sizeof(to), "%.*s.bad", NAME_MAX - 4, name);
    return renameat(dir, name, dir, to) == 0 || errno == ENOENT
               ? 0
               : bj_err_set(err, -errno, "rename %s", name);
}

/* Rename the only file of a batch to NAME.bad. */
static int send_batch_set_bad(const struct bj_send_batch *b, int dir,
                              struct bj_err *err)
{
    return set_bad(dir, b->names.p, err);
}

/* --- filling --------------------------------------------------------------*/

/* Whether the error is permanent: the file will never be a record. */
static bool is_bad(int e)
{
    return e == -EINVAL || e == -EPERM || e == -EFBIG || e == -ELOOP ||
           e == -ENXIO;
}

/* A record is one line: a newline between two tokens of JSON becomes a blank,
 * and none is allowed inside of one. */
static void sender_put_line(struct bj_buf *body, struct bj_slice text)
{
    size_t from = body->len;
    bj_buf_slice(body, text);
    bj_buf_str(body, "\n");
    for (size_t i = from; !body->failed && i < from + text.n; i++)
        if (body->p[i] == '\n' || body->p[i] == '\r')
            body->p[i] = ' ';
}

/* 1: added; 0: left out; or the error of a bad file. */
static int sender_add(struct bj_send_batch *b, int dir, const char *name,
                      struct bj_err *err)
{
    struct bj_slice text;
    struct bj_err why = {0};
    int r =
        bj_file_read_spooled(dir, name, b->text, BJ_SEND_BYTES, &text, &why);
    if (r == -ENOENT)
        return 0;
    text = r == 0 ? bj_slice_trim(text) : text;
    if (r == 0 && text.n == 0)
        r = bj_err_set(&why, -EINVAL, "%s: the file is empty", name);
    if (r < 0 && !is_bad(r)) {
        b->unreadable++;
        b->why = why;
        return 0;
    }
    if (r < 0) {
        if (err)
            *err = why;
        return r;
    }
    sender_put_line(&b->body, text);
    bj_buf_put(&b->names, name, strlen(name) + 1);
    b->n++;
    return 1;
}

int bj_send_batch_fill(struct bj_send_batch *b, DIR *d, unsigned max,
                       uint64_t *ret_bad, struct bj_err *err)
{
    const struct dirent *e;
    bj_buf_reset(&b->names);
    bj_buf_reset(&b->body);
    b->n = b->unreadable = 0;
    if (!b->text && !(b->text = malloc(BJ_SEND_BYTES)))
        return bj_err_set(err, -ENOMEM, "final records");
    while (b->n < max && b->body.len < BJ_SEND_BYTES / 2 && (e = readdir(d))) {
        if (!bj_send_is_record(e->d_name))
            continue;
        if (sender_add(b, dirfd(d), e->d_name, err) >= 0)
            continue;
        *ret_bad += set_bad(dirfd(d), e->d_name, NULL) == 0;
    }
    return b->names.failed || b->body.failed
               ? bj_err_set(err, -ENOMEM, "final records")
               : 0;
}

/* --- the response ---------------------------------------------------------*/

enum verdict { STORED, BAD, DENIED };

/* Read the result of each record; -EPROTO: the response is not about this
 * batch. */
static int read_response(const struct bj_send_batch *b,
                         const struct bj_json *doc, unsigned char *verdict,
                         struct bj_send_result *ret)
{
    const struct bj_json *refused = bj_json_get(doc, "refused");
    uint64_t stored = bj_json_u64_or(bj_json_get(doc, "stored"), UINT64_MAX);
    if (bj_json_kind(refused) != BJ_JSON_ARRAY ||
        stored != b->n - bj_json_len(refused))
        return -EPROTO;
    BJ_JSON_EACH(r, refused)
    {
        uint64_t number = bj_json_u64_or(bj_json_get(r, "record"), 0);
        uint64_t status = bj_json_u64_or(bj_json_get(r, "status"), 0);
        struct bj_slice why = bj_json_text(bj_json_get(r, "error"));
        if (number == 0 || number > b->n || verdict[number - 1] != STORED ||
            (status != 400 && status != 403))
            return -EPROTO;
        verdict[number - 1] = status == 400 ? BAD : DENIED;
        struct bj_err *to = status == 400 ? &ret->bad_why : &ret->denied_why;
        if (to->code == 0)
            bj_err_set(to, -EINVAL, "%.*s", (int)(why.n < 200 ? why.n : 200),
                       why.p ? why.p : "");
    }
    return 0;
}

static int settle_one(int dir, const char *name, unsigned verdict,
                      struct bj_send_result *ret, struct bj_err *err)
{
    ret->denied += verdict == DENIED;
    ret->bad += verdict == BAD;
    ret->stored += verdict == STORED;
    if (verdict == BAD)
        return set_bad(dir, name, err);
    if (verdict == DENIED || unlinkat(dir, name, 0) == 0 || errno == ENOENT)
        return 0;
    return bj_err_set(err, -errno, "remove %s", name);
}

int bj_send_batch_settle(const struct bj_send_batch *b, int dir,
                         struct bj_slice response, struct bj_send_result *ret,
                         struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    const char *name = b->names.p;
    unsigned char *verdict = calloc(b->n ? b->n : 1, 1);
    *ret = (struct bj_send_result){0};
    int r = verdict ? 0 : bj_err_set(err, -ENOMEM, "final records");
    if (r == 0 &&
        (bj_json_parse(&arena, response, "answer", NULL, &doc, NULL) < 0 ||
         read_response(b, doc, verdict, ret) < 0))
        r = bj_err_set(err, -EPROTO,
                       "the answer is not that of batchjob_stats_db");
    for (unsigned i = 0; r == 0 && i < b->n; i++) {
        r = settle_one(dir, name, verdict[i], ret, err);
        name += strlen(name) + 1;
    }
    bj_arena_free(&arena);
    free(verdict);
    return r;
}

/* --- the thread -----------------------------------------------------------*/

enum {
    SECOND = 1000000,
    IDLE_INTERVALS = 6, /* until the spool is searched for files of other
                           programs */
    CONNECT_USEC = 10 * SECOND,
    TOTAL_USEC = 120 * SECOND,
    RETRY_MAX_USEC = 600 * SECOND,
    RESPONSE_BYTES = 1 << 20,
    TOKEN_BYTES = 512,
};

struct bj_sender {
    struct bj_poller poller;
    struct bj_sender_conf conf; /* copies: an abandoned thread keeps them */
    char *dir, *url;
    struct bj_fetch *fetch;
    struct bj_fetch_reply reply;
    struct bj_gzip *gzip;
    struct bj_buf packed;
    struct bj_send_batch batch;
    unsigned max;    /* records of the next request */
    unsigned faults; /* rounds in a row */
    int failing;     /* error of the last round, which was logged; 0: none */
    bool proved;     /* the last request was answered, so no trial is needed */
    /* under the lock */
    uint64_t random; /* state of the generator, never 0 */
    bool woken, retrying;
    struct bj_sender_stat stat;
    uint64_t oldest_usec; /* wall clock; 0: none waits */
};

/* The results of one walk through the spool. */
struct round {
    int dir;
    unsigned requests;
    uint64_t denied, bad, unreadable, retry_after_usec;
    struct bj_err bad_why, stay_why; /* stay: denied or unreadable */
};

static const char *if_set(const char *text)
{
    return bj_is_set(text) ? text : NULL;
}

/* With the lock.  Spreads the requests of many nodes over time. */
static uint64_t random_below(struct bj_sender *s, uint64_t n)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return n ? (s->random >> 11) % n : 0;
}

static void log_error(const struct bj_sender *s, enum bj_log_level level,
                      const char *what, const struct bj_err *err)
{
    char text[400];
    bj_host_log(&s->poller.host, level, NULL, "%s: %s", what,
                bj_err_reason(err, text, sizeof(text)));
}

/* --- the spool ------------------------------------------------------------*/

static void count_file(int dir, const char *name, uint64_t *n, uint64_t *oldest)
{
    struct stat st;
    if (!bj_send_is_record(name) ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return;
    uint64_t usec = st.st_mtime > 0 ? (uint64_t)st.st_mtime * SECOND : 1;
    ++*n;
    if (*oldest == 0 || usec < *oldest)
        *oldest = usec;
}

/* Open the spool as a directory stream; NULL: err has the reason. */
static DIR *open_dir(const struct bj_sender *s, struct bj_err *err)
{
    int fd = bj_dir_open(AT_FDCWD, s->dir);
    DIR *d = fd < 0 ? NULL : fdopendir(fd);
    if (!d) {
        bj_file_fail(err, fd < 0 ? fd : -errno, "", AT_FDCWD, s->dir,
                     R_OK | W_OK | X_OK);
        if (fd >= 0)
            close(fd);
    }
    return d;
}

/* Count the waiting records. */
static void survey(struct bj_sender *s)
{
    uint64_t n = 0, oldest = 0;
    struct bj_err err;
    DIR *d = open_dir(s, &err);
    if (!d)
        return;
    for (const struct dirent *e; (e = readdir(d));)
        count_file(dirfd(d), e->d_name, &n, &oldest);
    closedir(d);
    pthread_mutex_lock(s->poller.lock);
    s->stat.waiting = n;
    s->oldest_usec = oldest;
    pthread_mutex_unlock(s->poller.lock);
}

/* --- a request ------------------------------------------------------------*/

/* Add the server's reason to the message. */
static void sender_explain(struct bj_sender *s, struct bj_err *err)
{
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    struct bj_slice body = {s->reply.body.p, s->reply.body.len};
    if (s->reply.fault == BJ_FETCH_HTTP &&
        bj_json_parse(&arena, body, "answer", NULL, &doc, NULL) == 0) {
        struct bj_slice why = bj_json_text(bj_json_get(doc, "error"));
        struct bj_err was = *err;
        if (why.n > 0) {
            bj_err_set(err, was.code, "%.140s: %.*s", was.msg,
                       (int)(why.n < 90 ? why.n : 90), why.p);
            err->explained = true;
        }
    }
    bj_arena_free(&arena);
}

/* Post the records of the batch. */
static int post(struct bj_sender *s, const char *url, struct bj_err *err)
{
    static const char *const headers[] = {"Content-Type: application/x-ndjson",
                                          "Content-Encoding: gzip", NULL};
    char token[TOKEN_BYTES];
    s->reply.fault = BJ_FETCH_OK; /* clear the fault of the last request */
    s->reply.retry_after_usec = 0;
    bj_buf_reset(&s->packed);
    int r = bj_gzip_pack(&s->gzip,
                         (struct bj_slice){s->batch.body.p, s->batch.body.len},
                         &s->packed);
    if (r < 0)
        return bj_err_set(err, r, "compressing final records");
    r = bj_secret_read(s->conf.token_file, token, sizeof(token), err);
    if (r < 0)
        return bj_err_wrap(err, r, "record.token-file");
    const struct bj_fetch_request req = {.url = url,
                                         .headers = headers,
                                         .body = {s->packed.p, s->packed.len},
                                         .bearer = if_set(token),
                                         .ca_file = if_set(s->conf.ca_file),
                                         .cert_file = if_set(s->conf.cert_file),
                                         .key_file = if_set(s->conf.key_file),
                                         .no_proxy = true,
                                         .connect_usec = CONNECT_USEC,
                                         .total_usec = TOTAL_USEC,
                                         .max_bytes = RESPONSE_BYTES,
                                         .abort = &s->poller.stop};
    r = bj_fetch(s->fetch, &req, &s->reply, err);
    explicit_bzero(token, sizeof(token));
    if (r < 0)
        sender_explain(s, err);
    return r;
}

static void sender_count(struct bj_sender *s, uint64_t sent, uint64_t refused)
{
    pthread_mutex_lock(s->poller.lock);
    uint64_t gone = sent + refused;
    s->stat.sent += sent;
    s->stat.refused += refused;
    s->stat.waiting -= gone < s->stat.waiting ? gone : s->stat.waiting;
    pthread_mutex_unlock(s->poller.lock);
}

/* The request was too long for the server: send fewer records at a time.  A
 * single record that is too long never fits. */
static int shrink(struct bj_sender *s, struct round *w, struct bj_err *err)
{
    if (s->batch.n > 1) {
        s->max = s->batch.n / 2;
        return 0;
    }
    w->bad++;
    w->bad_why = *err;
    sender_count(s, 0, 1);
    return send_batch_set_bad(&s->batch, w->dir, err);
}

/* Send the batch and apply the response to its files. */
static int exchange(struct bj_sender *s, struct round *w, struct bj_err *err)
{
    struct bj_send_result n;
    int r = post(s, s->url, err);
    w->requests++;
    w->retry_after_usec = s->reply.retry_after_usec;
    if (r < 0)
        return s->reply.fault == BJ_FETCH_HTTP && s->reply.status == 413
                   ? shrink(s, w, err)
                   : r;
    s->max = s->max < BJ_SEND_RECORDS / 2 ? 2 * s->max : BJ_SEND_RECORDS;
    struct bj_slice response = {s->reply.body.p, s->reply.body.len};
    r = bj_send_batch_settle(&s->batch, w->dir, response, &n, err);
    sender_count(s, n.stored, n.bad);
    w->denied += n.denied;
    w->bad += n.bad;
    if (n.bad > 0)
        w->bad_why = n.bad_why;
    if (n.denied > 0)
        w->stay_why = n.denied_why;
    return r;
}

/* --- a round --------------------------------------------------------------*/

/* Post no record, so that a wrong URL, certificate or token is known before the
 * first job ends.  The server refuses a host that this client may not write. */
static int try_server(struct bj_sender *s, struct round *w, struct bj_err *err)
{
    struct bj_buf url = {0};
    struct bj_send_result n;
    char host[256] = "";
    gethostname(host, sizeof(host) - 1);
    bj_buf_printf(&url, "%s?host=", s->url);
    for (const char *c = host; *c; c++)
        bj_buf_printf(
            &url,
            isalnum((unsigned char)*c) || strchr("-._", *c) ? "%c" : "%%%02X",
            (unsigned char)*c);
    bj_buf_put(&url, "", 1);
    s->batch.n = 0;
    bj_buf_reset(&s->batch.names);
    bj_buf_reset(&s->batch.body);
    int r = url.failed ? bj_err_set(err, -ENOMEM, "record.url")
                       : post(s, url.p, err);
    bj_buf_free(&url);
    w->retry_after_usec = s->reply.retry_after_usec;
    struct bj_slice response = {s->reply.body.p, s->reply.body.len};
    return r < 0 ? r
                 : bj_send_batch_settle(&s->batch, w->dir, response, &n, err);
}

/* Walk once through the spool.  The first request that fails ends it. */
static int walk(struct bj_sender *s, struct round *w, struct bj_err *err)
{
    DIR *d = open_dir(s, err);
    if (!d)
        return err->code;
    w->dir = dirfd(d);
    int r = 0;
    while (r == 0 && !atomic_load(&s->poller.stop)) {
        uint64_t bad = 0;
        r = bj_send_batch_fill(&s->batch, d, s->max, &bad, &w->bad_why);
        w->bad += bad;
        sender_count(s, 0, bad);
        w->unreadable += s->batch.unreadable;
        if (s->batch.unreadable > 0)
            w->stay_why = s->batch.why;
        if (r < 0) {
            *err = w->bad_why;
            break;
        }
        if (s->batch.n == 0)
            break;
        r = exchange(s, w, err);
    }
    if (r == 0 && w->requests == 0 && !s->proved &&
        !atomic_load(&s->poller.stop))
        r = try_server(s, w, err);
    closedir(d);
    return r;
}

static void log_round(struct bj_sender *s, const struct round *w, int r,
                      const struct bj_err *err)
{
    if (w->bad > 0)
        log_error(s, BJ_LOG_WARN, "final records refused and kept as *.bad",
                  &w->bad_why);
    if (r < 0 && r != s->failing)
        log_error(s, BJ_LOG_ERROR, "final records are not sent", err);
    else if (r == 0 && s->failing < 0)
        bj_host_log(&s->poller.host, BJ_LOG_INFO, NULL,
                    "sending final records works again");
    s->failing = r;
    s->proved = r == 0;
}

/* With the lock: when the next round is due. */
static uint64_t next_usec(struct bj_sender *s, int r, const struct round *w)
{
    const uint64_t interval = s->conf.interval_usec;
    uint64_t wait = IDLE_INTERVALS * interval + random_below(s, interval);
    if (r < 0) {
        uint64_t most = bj_poller_back_off(interval / 2, s->faults - 1);
        uint64_t least = w->retry_after_usec < RETRY_MAX_USEC
                             ? w->retry_after_usec
                             : RETRY_MAX_USEC;
        wait = interval / 10 + least +
               random_below(s, most > least ? most : least);
    } else if (s->woken || s->stat.waiting > 0) {
        wait = random_below(s, interval);
    }
    return bj_clock_boot_usec() + wait;
}

static bool sender_step(struct bj_worker *worker)
{
    struct bj_sender *s = (struct bj_sender *)worker->poller;
    struct round w = {.dir = -1};
    struct bj_err err = {0};
    s->woken = false;
    bj_worker_unlock(worker);
    survey(s);
    int r = walk(s, &w, &err);
    if (r == 0 && w.denied + w.unreadable > 0) {
        r = -EACCES;
        err = w.stay_why;
    }
    bool stopped = atomic_load(&s->poller.stop);
    if (!stopped)
        log_round(s, &w, r, &err);
    survey(s);
    bool ours = bj_worker_lock(worker);
    s->faults = r < 0 ? s->faults + 1 : 0;
    s->stat.errors += r < 0 && !stopped;
    s->retrying = r < 0;
    s->stat.success = stopped ? s->stat.success : r == 0;
    s->poller.due_usec = next_usec(s, r, &w);
    return ours;
}

static void sender_gone(struct bj_poller *poller)
{
    struct bj_sender *s = (struct bj_sender *)poller;
    bj_fetch_free(s->fetch);
    bj_fetch_reply_free(&s->reply);
    bj_gzip_free(s->gzip);
    bj_buf_free(&s->packed);
    bj_send_batch_free(&s->batch);
    free(s->conf.ca_file);
    free(s->conf.cert_file);
    free(s->conf.key_file);
    free(s->conf.token_file);
    free(s->dir);
    free(s->url);
    free(s);
}

/* --- for the owner --------------------------------------------------------*/

/* A copy of *text in its place, "" for NULL. */
static bool copy_text(char **ret, const char *text)
{
    *ret = strdup(text ? text : "");
    return *ret != NULL;
}

static bool copy_texts(struct bj_sender *s, const struct bj_sender_conf *c,
                       const char *dir)
{
    size_t n = strlen(c->url);
    while (n > 0 && c->url[n - 1] == '/')
        n--;
    s->conf.interval_usec = c->interval_usec;
    if (asprintf(&s->url, "%.*s/records", (int)n, c->url) < 0)
        s->url = NULL;
    return s->url && copy_text(&s->dir, dir) &&
           copy_text(&s->conf.ca_file, c->ca_file) &&
           copy_text(&s->conf.cert_file, c->cert_file) &&
           copy_text(&s->conf.key_file, c->key_file) &&
           copy_text(&s->conf.token_file, c->token_file);
}

/* A sender whose thread does not run yet. */
static int sender_make(const struct bj_sender_conf *conf, const char *dir,
                       const struct bj_host *host, struct bj_sender **ret,
                       struct bj_err *err)
{
    static const struct bj_poller_work work = {.step = sender_step,
                                               .gone = sender_gone};
    struct bj_sender *s = calloc(1, sizeof(*s));
    if (!s || bj_poller_init(&s->poller, &work, "bj-sender", host, NULL) < 0) {
        free(s);
        return bj_err_set(err, -ENOMEM, "record.url");
    }
    s->max = BJ_SEND_RECORDS;
    s->stat.success = BJ_ABSENT;
    s->random =
        (bj_clock_wall_usec() ^ (uint64_t)getpid() << 40 ^ (uintptr_t)s) | 1;
    int r = copy_texts(s, conf, dir) ? bj_fetch_new(&s->fetch, err)
                                     : bj_err_set(err, -ENOMEM, "record.url");
    if (r < 0)
        bj_sender_free(s);
    else
        *ret = s;
    return r;
}

int bj_sender_new(const struct bj_sender_conf *conf, const char *dir,
                  const struct bj_host *host, struct bj_sender **ret,
                  struct bj_err *err)
{
    struct bj_sender *s = NULL;
    int r = sender_make(conf, dir, host, &s, err);
    if (r == 0) {
        survey(s);
        s->poller.due_usec =
            bj_clock_boot_usec() + random_below(s, s->conf.interval_usec);
        r = bj_poller_start(&s->poller);
        if (r < 0)
            bj_err_set(err, r, "record.url: cannot start the thread");
    }
    if (r < 0) {
        bj_sender_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

int bj_sender_try(const struct bj_sender_conf *conf, struct bj_err *err)
{
    static const struct bj_host host = {0};
    struct round none = {.dir = -1};
    struct bj_sender *s = NULL;
    int r = sender_make(conf, "", &host, &s, err);
    if (r == 0)
        r = try_server(s, &none, err);
    bj_sender_free(s);
    return r;
}

void bj_sender_free(struct bj_sender *s)
{
    if (s)
        bj_poller_free(&s->poller);
}

void bj_sender_wake(struct bj_sender *s)
{
    pthread_mutex_lock(s->poller.lock);
    uint64_t now = bj_clock_boot_usec();
    s->stat.waiting++;
    if (s->oldest_usec == 0)
        s->oldest_usec = bj_clock_wall_usec();
    s->woken = true;
    if (!s->retrying && s->poller.due_usec > now + s->conf.interval_usec) {
        s->poller.due_usec = now + random_below(s, s->conf.interval_usec);
        pthread_cond_broadcast(&s->poller.change);
    }
    pthread_mutex_unlock(s->poller.lock);
}

void bj_sender_stat(struct bj_sender *s, struct bj_sender_stat *ret)
{
    pthread_mutex_lock(s->poller.lock);
    *ret = s->stat;
    uint64_t now = bj_clock_wall_usec();
    ret->age_usec =
        s->stat.waiting > 0 && s->oldest_usec > 0 && now > s->oldest_usec
            ? now - s->oldest_usec
            : 0;
    pthread_mutex_unlock(s->poller.lock);
}
