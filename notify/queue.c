/* Messages that wait.  An event is written in the transaction that marks its
 * alert, and becomes part of a message in another one; a message is kept until
 * its target has accepted it, so that each is sent at least once, with the same
 * id. */
#include "base/array.h"
#include "base/json.h"
#include "base/log.h"
#include "notify/notify_impl.h"
#include "store/db.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum {
    HOLD_SEC = 300,   /* an alert that begins again meanwhile has not ended */
    LIFE_SEC = 86400, /* older events and messages are lost */
    KEPT_SEC = 7 * 86400,
    MOST_SENT = 100,     /* messages of a target in a round */
    DIGEST = 10000,      /* events in a message */
    FIRST_WAIT_SEC = 10, /* doubled after each failure */
    LONGEST_WAIT_SEC = 900,
    ID_BYTES = 16
};

struct queue_value {
    const char *name;
    struct bj_slice text; /* p NULL: the number */
    int64_t number;
};
#define NUMBER(name, n)                                                        \
    {                                                                          \
        name, {NULL, 0}, n                                                     \
    }
#define TEXT(name, s)                                                          \
    {                                                                          \
        name, s, 0                                                             \
    }

static int queue_prepare(const struct bj_queue *q, const char *sql,
                         const struct queue_value *v, size_t n,
                         struct bj_st **ret, struct bj_err *err)
{
    int r = bj_db_prepare(bj_store_db(q->store), sql, ret, err);
    for (size_t i = 0; r == 0 && i < n; i++)
        if (v[i].text.p)
            bj_st_set_filled(*ret, v[i].name, v[i].text);
        else
            bj_st_set_i64(*ret, v[i].name, v[i].number);
    return r;
}

static int queue_run(const struct bj_queue *q, const char *sql,
                     const struct queue_value *v, size_t n, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int r = queue_prepare(q, sql, v, n, &st, err);
    if (r == 0)
        r = bj_st_run(st, err);
    bj_st_finalize(st);
    return r;
}

/* The number of a query with one row. */
static int queue_number(const struct bj_queue *q, const char *sql,
                        const struct queue_value *v, size_t n, int64_t *ret,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    *ret = 0;
    int r = queue_prepare(q, sql, v, n, &st, err);
    if (r == 0)
        r = bj_st_int(st, ret, err);
    bj_st_finalize(st);
    return r < 0 ? r : 0;
}

/* End a transaction: commit, or after a failure roll back. */
static int queue_end(const struct bj_queue *q, int r, struct bj_err *err)
{
    if (r == 0)
        r = bj_store_commit(q->store, err);
    if (r < 0)
        bj_store_rollback(q->store);
    return r;
}

static struct bj_slice queue_name(const struct bj_target *t)
{
    return bj_slice_str(t->conf->name);
}

/* --- events ----------------------------------------------------------------
 */

/* The alerts of which an event is due: told becomes :told. */
#define BEGUN "ended IS NULL AND coalesce(told, 0) = 0"
#define ENDED "ended <= :until AND told = 1"

static const char *const due_sql[] = {
    "SELECT key, kind, since, ended, fields FROM notify_alert WHERE " BEGUN
    " ORDER BY since, key",
    "SELECT key, kind, since, ended, fields FROM notify_alert WHERE " ENDED
    " ORDER BY ended, key",
};
static const char *const told_sql[] = {
    "UPDATE notify_alert SET told = 1 WHERE " BEGUN,
    "UPDATE notify_alert SET told = 2 WHERE " ENDED,
};

/* Copy the row of an alert. */
static int queue_put_event(const struct bj_queue *q, struct bj_slice target,
                           struct bj_slice key, struct bj_err *err)
{
    const struct queue_value v[] = {TEXT("target", target), TEXT("key", key),
                                    NUMBER("now", q->now_sec)};
    return queue_run(q,
                     "INSERT INTO notify_event(target, at, kind, user, since,"
                     " ended, fields) SELECT :target, :now, kind, user, since,"
                     " ended, fields FROM notify_alert WHERE key = :key",
                     v, 3, err);
}

static bool queue_wants(const struct bj_target *t, const struct bj_alert *v)
{
    return t->form && (v->ended_sec == 0 || t->conf->ended) &&
           bj_target_wants(t, v);
}

static int queue_read_due(const struct bj_queue *q, int which,
                          struct bj_alerts *ret, struct bj_slice **keys,
                          struct bj_err *err)
{
    const struct queue_value until[] = {NUMBER("until", q->now_sec - HOLD_SEC)};
    struct bj_st *st = NULL;
    size_t room = 0;
    int r = queue_prepare(q, due_sql[which], until, (size_t)which, &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        r = bj_alert_of_row(st, ret, err);
        if (r == 0 && !BJ_GROW(*keys, ret->n, room))
            r = bj_err_set(err, -ENOMEM, "alerts");
        if (r == 0)
            (*keys)[ret->n - 1] =
                bj_arena_copy(&ret->arena, bj_st_text(st, "key"));
    }
    bj_st_finalize(st);
    return r == 0 && ret->arena.failed ? bj_err_set(err, -ENOMEM, "alerts") : r;
}

static int queue_fill_due(const struct bj_queue *q, int which,
                          const struct bj_target *target, size_t n,
                          struct bj_err *err)
{
    const struct queue_value until[] = {NUMBER("until", q->now_sec - HOLD_SEC)};
    struct bj_alerts due = {.n = 0};
    struct bj_slice *keys = NULL;
    int r = queue_read_due(q, which, &due, &keys, err);
    for (size_t i = 0; r == 0 && i < due.n; i++)
        for (size_t k = 0; r == 0 && k < n; k++)
            if (queue_wants(&target[k], &due.v[i]))
                r = queue_put_event(q, queue_name(&target[k]), keys[i], err);
    if (r == 0 && due.n > 0)
        r = queue_run(q, told_sql[which], until, (size_t)which, err);
    bj_alerts_free(&due);
    free(keys);
    return r;
}

int bj_queue_fill(const struct bj_queue *q, struct bj_target *target, size_t n,
                  struct bj_err *err)
{
    int r = bj_store_begin(q->store, err);
    if (r < 0)
        return r;
    for (int which = 0; r == 0 && which < 2; which++)
        r = queue_fill_due(q, which, target, n, err);
    return queue_end(q, r, err);
}

/* --- messages --------------------------------------------------------------
 */

static int queue_make_id(char ret[static 2 * ID_BYTES + 1], struct bj_err *err)
{
    unsigned char random[ID_BYTES];
    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
        return bj_err_set(err, -EIO, "no random numbers");
    for (unsigned i = 0; i < sizeof(random); i++)
        snprintf(ret + (size_t)2 * i, 3, "%02x", random[i]);
    return 0;
}

/* Write a message of alerts. */
static int queue_put_message(const struct bj_queue *q,
                             const struct bj_target *t,
                             const struct bj_alert *v, size_t n,
                             struct bj_err *err)
{
    char id[2 * ID_BYTES + 1];
    struct bj_buf body = {0};
    int r = queue_make_id(id, err);
    if (r < 0)
        return r;
    const struct bj_form_input in = {t->conf, id, q->pages, v, n};
    t->form->put(&in, &body);
    const struct queue_value values[] = {
        TEXT("name", bj_slice_str(id)), TEXT("target", queue_name(t)),
        NUMBER("now", q->now_sec), NUMBER("events", (int64_t)n),
        TEXT("body", ((struct bj_slice){body.p, body.len}))};
    r = body.failed
            ? bj_err_set(err, -ENOMEM, "messages")
            : queue_run(
                  q,
                  "INSERT INTO notify_message(name, target, at, due, tries,"
                  " state, events, body) VALUES(:name, :target, :now, :now,"
                  " 0, 'waiting', :events, :body)",
                  values, 5, err);
    bj_buf_free(&body);
    return r;
}

/* Read the waiting events of a target, and remove them. */
static int queue_take_events(const struct bj_queue *q,
                             const struct bj_target *t, int64_t most,
                             struct bj_alerts *ret, struct bj_err *err)
{
    const struct queue_value v[] = {TEXT("target", queue_name(t)),
                                    NUMBER("most", most)};
    struct bj_st *st = NULL;
    int64_t last = 0;
    int r = queue_prepare(q,
                          "SELECT id, kind, since, ended, fields FROM"
                          " notify_event WHERE target = :target ORDER BY id"
                          " LIMIT :most",
                          v, 2, &st, err);
    while (r == 0 && (r = bj_st_row(st, err)) > 0) {
        last = bj_st_i64(st, "id");
        r = bj_alert_of_row(st, ret, err);
    }
    bj_st_finalize(st);
    const struct queue_value taken[] = {TEXT("target", queue_name(t)),
                                        NUMBER("last", last)};
    return r == 0 && ret->n > 0
               ? queue_run(q,
                           "DELETE FROM notify_event WHERE target = :target"
                           " AND id <= :last",
                           taken, 2, err)
               : r;
}

/* Messages of the last hour. */
static int queue_last_hour(const struct bj_queue *q, const struct bj_target *t,
                           int64_t *ret, struct bj_err *err)
{
    const struct queue_value v[] = {TEXT("target", queue_name(t)),
                                    NUMBER("since", q->now_sec - 3600)};
    return queue_number(q,
                        "SELECT count(*) FROM notify_message WHERE target ="
                        " :target AND at > :since",
                        v, 2, ret, err);
}

/* Make messages of the events that wait: one of all for a chat, unless it has
 * had its messages of this hour. */
static int queue_compose(const struct bj_queue *q, const struct bj_target *t,
                         struct bj_err *err)
{
    struct bj_alerts events = {.n = 0};
    const bool digest = t->form->digest;
    int64_t hour = 0;
    int r = digest ? queue_last_hour(q, t, &hour, err) : 0;
    if (r < 0 || (digest && (uint64_t)hour >= t->conf->per_hour))
        return r;
    r = bj_store_begin(q->store, err);
    if (r < 0)
        return r;
    r = queue_take_events(q, t, digest ? DIGEST : MOST_SENT, &events, err);
    if (r == 0 && digest && events.n > 0)
        r = queue_put_message(q, t, events.v, events.n, err);
    for (size_t i = 0; r == 0 && !digest && i < events.n; i++)
        r = queue_put_message(q, t, &events.v[i], 1, err);
    bj_alerts_free(&events);
    return queue_end(q, r, err);
}

/* A message that waits, in the arena of the caller. */
struct queue_message {
    int64_t id;
    struct bj_slice name, body;
    int64_t at_sec, due_sec, tries;
};

/* The oldest message that waits: 1; 0: there is none. */
static int queue_next(const struct bj_queue *q, const struct bj_target *t,
                      struct bj_arena *arena, struct queue_message *ret,
                      struct bj_err *err)
{
    const struct queue_value v[] = {TEXT("target", queue_name(t))};
    struct bj_st *st = NULL;
    int r = queue_prepare(
        q,
        "SELECT id, name, at, due, tries, body FROM notify_message"
        " WHERE target = :target AND state = 'waiting' ORDER"
        " BY id LIMIT 1",
        v, 1, &st, err);
    if (r == 0)
        r = bj_st_row(st, err);
    if (r > 0)
        *ret =
            (struct queue_message){bj_st_i64(st, "id"),
                                   bj_arena_copy(arena, bj_st_text(st, "name")),
                                   bj_arena_copy(arena, bj_st_text(st, "body")),
                                   bj_st_i64(st, "at"),
                                   bj_st_i64(st, "due"),
                                   bj_st_i64(st, "tries")};
    bj_st_finalize(st);
    return r > 0 && arena->failed ? bj_err_set(err, -ENOMEM, "messages") : r;
}

/* Record the result of an attempt; due_sec 0: it was the last one. */
static int queue_note(const struct bj_queue *q, const struct queue_message *m,
                      const char *error, int64_t due_sec, struct bj_err *err)
{
    const struct queue_value v[] = {
        NUMBER("id", m->id),
        TEXT("state", bj_slice_str(!error    ? "sent"
                                   : due_sec ? "waiting"
                                             : "failed")),
        TEXT("error", bj_slice_str(error ? error : "")),
        NUMBER("due", due_sec)};
    int r = bj_store_begin(q->store, err);
    if (r < 0)
        return r;
    r = queue_run(
        q,
        "UPDATE notify_message SET state = :state, error = :error, due"
        " = :due, tries = tries + 1, body = CASE WHEN :state ="
        " 'waiting' THEN body END WHERE id = :id",
        v, 4, err);
    return queue_end(q, r, err);
}

/* Seconds that the target asks for: Retry-After, or what Matrix has in its
 * answer. */
static int64_t queue_asked(const struct bj_fetch_reply *reply)
{
    enum { MOST_SEC = 86400 };
    struct bj_arena arena = {0};
    const struct bj_json *doc = NULL;
    uint64_t ms = 0;
    if (reply->retry_after_usec > 0)
        return (int64_t)(reply->retry_after_usec / 1000000);
    if (bj_json_parse(&arena, (struct bj_slice){reply->body.p, reply->body.len},
                      "answer", NULL, &doc, NULL) == 0)
        ms = bj_json_u64_or(bj_json_get(doc, "retry_after_ms"), 0);
    bj_arena_free(&arena);
    return ms / 1000 < MOST_SEC ? (int64_t)((ms + 999) / 1000) : MOST_SEC;
}

/* Until the next attempt: what the target asks for, or 10 s, 20 s, up to 15
 * min, with a random part so that several programs do not come together. */
static int64_t queue_wait(const struct queue_message *m,
                          const struct bj_fetch_reply *reply)
{
    unsigned char chance = 0;
    int64_t wait = FIRST_WAIT_SEC;
    for (int64_t i = 0; i < m->tries && wait < LONGEST_WAIT_SEC; i++)
        wait *= 2;
    wait = wait < LONGEST_WAIT_SEC ? wait : LONGEST_WAIT_SEC;
    if (getrandom(&chance, sizeof(chance), 0) == (ssize_t)sizeof(chance))
        wait += wait * chance / 1024;
    const int64_t asked = queue_asked(reply);
    return asked > wait ? asked : wait;
}

/* Is the answer final?  408, 409 and 429 are not. */
static bool is_refused(const struct bj_fetch_reply *reply)
{
    const unsigned s = reply->status;
    return reply->fault == BJ_FETCH_HTTP && s >= 300 && s < 500 && s != 408 &&
           s != 409 && s != 429;
}

static void queue_log(struct bj_target *t, const struct bj_err *why, bool lost)
{
    if (lost)
        bj_log(BJ_LOG_ERROR, why, "notify: message not sent");
    else if (!t->failed)
        bj_log(BJ_LOG_WARN, why, "notify: trying again");
}

/* The address of a message. */
static int queue_url(const struct bj_queue *q, const struct bj_target *t,
                     const struct queue_message *m, struct bj_buf *ret,
                     struct bj_err *err)
{
    char url[BJ_TARGET_URL_MAX];
    const struct bj_form_input in = {
        .conf = t->conf, .id = m->name.p, .pages = q->pages};
    int r = bj_target_url(t->conf, url, sizeof(url), err);
    size_t n = strlen(url);
    if (r == 0 && t->form->put_path)
        n -= url[n - 1] == '/';
    bj_buf_put(ret, url, n);
    if (r == 0 && t->form->put_path)
        t->form->put_path(&in, ret);
    bj_buf_put(ret, "", 1);
    explicit_bzero(url, sizeof(url));
    return r == 0 && ret->failed ? bj_err_set(err, -ENOMEM, "messages") : r;
}

/* Send one message: 1: it is done, 0: it waits; or an error of the store. */
static int queue_try(const struct bj_queue *q, struct bj_target *t,
                     const struct queue_message *m, struct bj_err *err)
{
    char text[320];
    struct bj_buf full = {0};
    struct bj_fetch_reply reply = {0};
    struct bj_err why = {0};
    int r = queue_url(q, t, m, &full, &why);
    if (r < 0)
        bj_err_wrap(&why, r, "target '%s'", t->conf->name);
    const struct bj_target_post p = {.conf = t->conf,
                                     .id = m->name.p,
                                     .method = t->form->method,
                                     .url = full.p,
                                     .type = t->form->type,
                                     .body = m->body,
                                     .stop = q->stop};
    if (r == 0) {
        t->requests++;
        r = bj_target_send(q->fetch, &p, &reply, &why);
        t->errors += r < 0;
    }
    if (full.p)
        explicit_bzero(full.p, full.len);
    bj_buf_free(&full);
    const bool stopped = r < 0 && atomic_load(q->stop);
    const bool lost = r < 0 && !stopped && is_refused(&reply);
    if (r < 0 && !stopped)
        queue_log(t, &why, lost);
    else if (r == 0 && t->failed)
        bj_log(BJ_LOG_INFO, NULL, "notify: target '%s' answers again",
               t->conf->name);
    t->failed = r < 0 && !lost;
    t->lost += lost;
    const int64_t due = r < 0 && !lost ? q->now_sec + queue_wait(m, &reply) : 0;
    bj_fetch_reply_free(&reply);
    int e = stopped ? 0
                    : queue_note(q, m,
                                 r < 0 ? bj_err_reason(&why, text, sizeof(text))
                                       : NULL,
                                 due, err);
    return e < 0 ? e : r == 0 || lost;
}

/* Messages that no target accepted for a day, and events. */
static int queue_expire(const struct bj_queue *q, struct bj_target *t,
                        struct bj_err *err)
{
    const struct queue_value v[] = {TEXT("target", queue_name(t)),
                                    NUMBER("before", q->now_sec - LIFE_SEC)};
    int64_t old = 0, events = 0;
    int r = queue_number(q,
                         "SELECT count(*) FROM notify_message WHERE target ="
                         " :target AND state = 'waiting' AND at < :before",
                         v, 2, &old, err);
    if (r == 0)
        r = queue_number(q,
                         "SELECT count(*) FROM notify_event WHERE target ="
                         " :target AND at < :before",
                         v, 2, &events, err);
    if (r < 0 || old + events == 0)
        return r;
    bj_log(BJ_LOG_ERROR, NULL,
           "notify: target '%s': %lld messages have waited for a day and are "
           "not sent",
           t->conf->name, (long long)(old + events));
    t->lost += (uint64_t)(old + events);
    r = bj_store_begin(q->store, err);
    if (r < 0)
        return r;
    r = queue_run(q,
                  "UPDATE notify_message SET state = 'failed', body = NULL"
                  " WHERE target = :target AND state = 'waiting' AND at <"
                  " :before",
                  v, 2, err);
    if (r == 0)
        r = queue_run(q,
                      "DELETE FROM notify_event WHERE target = :target AND at"
                      " < :before",
                      v, 2, err);
    return queue_end(q, r, err);
}

static int queue_count(const struct bj_queue *q, struct bj_target *t,
                       struct bj_err *err)
{
    const struct queue_value v[] = {TEXT("target", queue_name(t))};
    int64_t n = 0;
    int r = queue_number(q,
                         "SELECT (SELECT count(*) FROM notify_message WHERE"
                         " target = :target AND state = 'waiting') + (SELECT"
                         " count(*) FROM notify_event WHERE target = :target)",
                         v, 1, &n, err);
    t->waiting = (uint64_t)n;
    return r;
}

int bj_queue_send(const struct bj_queue *q, struct bj_target *t,
                  struct bj_err *err)
{
    struct bj_arena arena = {0};
    struct queue_message m;
    int r = queue_expire(q, t, err);
    for (int i = 0; r >= 0 && i < MOST_SENT && !atomic_load(q->stop); i++) {
        bj_arena_reset(&arena);
        r = queue_next(q, t, &arena, &m, err);
        if (r == 0 && i == 0) {
            r = queue_compose(q, t, err);
            if (r == 0)
                r = queue_next(q, t, &arena, &m, err);
        }
        if (r <= 0 || m.due_sec > q->now_sec)
            break;
        r = queue_try(q, t, &m, err);
        if (r == 0)
            break;
    }
    bj_arena_free(&arena);
    return r < 0 ? r : queue_count(q, t, err);
}

int bj_queue_forget(const struct bj_queue *q, struct bj_err *err)
{
    const struct queue_value v[] = {NUMBER("before", q->now_sec - KEPT_SEC)};
    int64_t old = 0;
    int r = queue_number(q,
                         "SELECT count(*) FROM notify_message WHERE at <"
                         " :before",
                         v, 1, &old, err);
    if (r < 0 || old == 0)
        return r;
    r = bj_store_begin(q->store, err);
    if (r < 0)
        return r;
    r = queue_run(q, "DELETE FROM notify_message WHERE at < :before", v, 1,
                  err);
    return queue_end(q, r, err);
}
