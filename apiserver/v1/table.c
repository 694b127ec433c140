#include "apiserver/v1/table.h"

#include "apiserver/frame/state.h"

void bj_table_select(struct bj_query *q, const struct bj_picked *k)
{
    bj_picked_sql(k, &q->b.sql);
}

static int table_word(void *ctx, enum bj_word which, int64_t id,
                      struct bj_slice *ret, struct bj_err *err)
{
    struct bj_call *c = ctx;
    return bj_words_text(c->worker->words, c->reader, which, id, ret, err);
}

int bj_table_row(struct bj_call *c, const struct bj_picked *k, struct bj_st *st,
                 int first, struct bj_rows *rows)
{
    struct bj_job_raw raw;
    raw.word = table_word;
    raw.ctx = c;
    if (c->worker->scratch.failed) /* in an earlier request */
        bj_buf_free(&c->worker->scratch);
    raw.scratch = &c->worker->scratch;
    return bj_picked_row(k, st, first, &raw, rows, &c->err);
}

int bj_table_rows(struct bj_call *c, struct bj_query *q,
                  const struct bj_picked *k, const struct bj_output *out,
                  uint64_t max, bool *cut)
{
    struct bj_st *st = NULL;
    struct bj_rows rows;
    int r = bj_query_open(q, c->reader, &st, &c->err);
    if (r < 0)
        return r;
    *cut = false;
    bj_rows_begin(&rows, out, k->key, k->n);
    while (r == 0 && (r = bj_st_row(st, &c->err)) > 0) {
        *cut = rows.n == max;
        r = *cut ? 0 : bj_table_row(c, k, st, 0, &rows);
        if (*cut)
            break;
    }
    bj_rows_end(&rows);
    return r;
}

int bj_table_reply(struct bj_call *c, struct bj_query *q,
                   const struct bj_picked *k, uint64_t max)
{
    bool csv = bj_call_shape(c) == BJ_SHAPE_CSV, cut;
    if (csv)
        c->reply->type = "text/csv; charset=utf-8";
    else
        bj_call_open(c);
    const struct bj_output out = {
        .to = &c->reply->body, .shape = csv ? BJ_SHAPE_CSV : BJ_SHAPE_OBJECTS};
    int r = bj_table_rows(c, q, k, &out, max, &cut);
    if (r == 0 && csv && cut)
        bj_call_header(c, "X-Cut", "true");
    if (r == 0 && !csv)
        bj_call_close(c, max == BJ_TABLE_ALL ? ""
                         : cut               ? ",\"meta\":{\"cut\":true}"
                                             : ",\"meta\":{\"cut\":false}");
    return r;
}
