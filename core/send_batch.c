#include "core/send_batch.h"

#include "base/file.h"
#include "base/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

int bj_send_batch_set_bad(const struct bj_send_batch *b, int dir,
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
static void put_line(struct bj_buf *body, struct bj_slice text)
{
    size_t from = body->len;
    bj_buf_slice(body, text);
    bj_buf_str(body, "\n");
    for (size_t i = from; !body->failed && i < from + text.n; i++)
        if (body->p[i] == '\n' || body->p[i] == '\r')
            body->p[i] = ' ';
}

/* 1: added; 0: left out; or the error of a bad file. */
static int add(struct bj_send_batch *b, int dir, const char *name,
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
    put_line(&b->body, text);
    bj_buf_put(&b->names, name, strlen(name) + 1);
    b->n++;
    return 1;
}

int bj_send_batch_fill(struct bj_send_batch *b, DIR *d, unsigned max,
                       uint64_t *ret_bad, struct bj_err *err)
{
    const struct dirent *e;
    b->names.len = b->body.len = 0;
    b->n = b->unreadable = 0;
    if (!b->text && !(b->text = malloc(BJ_SEND_BYTES)))
        return bj_err_set(err, -ENOMEM, "final records");
    while (b->n < max && b->body.len < BJ_SEND_BYTES / 2 && (e = readdir(d))) {
        if (!bj_send_is_record(e->d_name))
            continue;
        if (add(b, dirfd(d), e->d_name, err) >= 0)
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
