#include "sched/sacct_cut.h"

bool bj_cut_put(struct bj_cut *c, struct bj_slice piece)
{
    if (c->at > 0) { /* drop the records before at */
        c->buf.len -= c->at;
        memmove(c->buf.p, c->buf.p + c->at, c->buf.len);
        c->next -= c->at;
        c->at = 0;
    }
    bj_buf_slice(&c->buf, piece);
    return !c->buf.failed;
}

/* A delimiter of n bytes begins at p. */
static bool is_delimiter(const struct bj_cut *c, const char *p, const char *end)
{
    const size_t n = c->delimiter_n;
    return n == 1 || ((size_t)(end - p) >= n &&
                      memcmp(p + 1, c->delimiter + 1, n - 1) == 0);
}

/* Split the bytes from from to to at delimiters, into as many fields as there
 * are slots.  Returns the number of fields so far; the one after the last
 * delimiter is not complete. */
static unsigned cut_fields(struct bj_cut *c, const char *record, size_t from,
                           size_t to)
{
    const char *const end = record + to;
    const char *open = record + c->open, *p = record + from;
    unsigned fields = c->fields;
    while (p < end && (p = memchr(p, c->delimiter[0], (size_t)(end - p)))) {
        if (p < open || !is_delimiter(c, p, end)) {
            p++;
            continue;
        }
        if (fields < BJ_CUT_COLUMNS_MAX)
            c->field[fields] = (struct bj_cut_field){(uint32_t)(open - record),
                                                     (uint32_t)(p - open)};
        fields++;
        p += c->delimiter_n;
        open = p;
    }
    c->open = (size_t)(open - record);
    return fields;
}

/* The line begins like a record, and has the same number of fields. */
static bool is_record(const struct bj_cut *c, struct bj_slice line)
{
    struct bj_slice rest = line;
    const char *const end = line.p + line.n;
    uint64_t id;
    if (!c->id_first || !bj_slice_number(&rest, &id))
        return false;
    unsigned n = 1;
    for (const char *p = line.p; p < end;) {
        const char *hit = memchr(p, c->delimiter[0], (size_t)(end - p));
        if (!hit)
            break;
        const bool is = is_delimiter(c, hit, end);
        if (is && n++ == 1 && memchr(line.p, ' ', (size_t)(hit - line.p)))
            return false;
        p = hit + (is ? c->delimiter_n : 1);
    }
    return n == c->columns;
}

/* The record ends before the line at at + n. */
static void end_before(struct bj_cut *c, size_t n)
{
    c->next = c->at + n;
}

static enum bj_cut_found bad(struct bj_cut *c, size_t n, const char *expected)
{
    c->record = (struct bj_slice){c->buf.p + c->at, n};
    c->expected = expected;
    return BJ_CUT_BAD;
}

/* The line from done to newline.  BJ_CUT_MORE: the record continues. */
static enum bj_cut_found take_line(struct bj_cut *c, size_t newline)
{
    static const char expected[] = "as many fields as there are columns";
    const char *record = c->buf.p + c->at;
    const size_t line_at = c->done;
    const struct bj_slice line = {record + line_at, newline - line_at};
    if (line_at > 0 && is_record(c, line)) {
        /* the record before it was cut short */
        end_before(c, line_at);
        return bad(c, line_at - 1, expected);
    }
    c->newlines++;
    c->fields = cut_fields(c, record, line_at, newline);
    if (c->columns && c->fields + 1 < c->columns) {
        c->done = newline + 1;
        return BJ_CUT_MORE;
    }
    if (c->fields < BJ_CUT_COLUMNS_MAX)
        c->field[c->fields] = (struct bj_cut_field){
            (uint32_t)c->open, (uint32_t)(newline - c->open)};
    c->fields++;
    end_before(c, newline + 1);
    if (c->columns && c->fields != c->columns)
        return bad(c, newline, expected);
    c->record = (struct bj_slice){record, newline};
    return BJ_CUT_RECORD;
}

/* Continue after the last record. */
static void advance(struct bj_cut *c)
{
    if (c->next == c->at)
        return;
    c->line += c->newlines;
    c->lines += c->newlines;
    c->newlines = 0;
    c->at = c->next;
    c->fields = 0;
    c->searched = c->done = c->open = 0;
}

/* Skip the rest of a line; false when its end has not arrived. */
static bool skip_line(struct bj_cut *c)
{
    const size_t n = c->buf.len - c->at;
    if (n == 0)
        return false;
    const char *p = c->buf.p + c->at;
    const char *nl = memchr(p, '\n', n);
    end_before(c, nl ? (size_t)(nl - p) + 1 : n);
    c->newlines = nl ? 1 : 0;
    advance(c);
    c->skipping = !nl;
    return nl != NULL;
}

enum bj_cut_found bj_cut_next(struct bj_cut *c)
{
    if (c->line == 0)
        c->line = 1;
    advance(c);
    if (c->skipping && !skip_line(c))
        return BJ_CUT_MORE;
    enum bj_cut_found found = BJ_CUT_MORE;
    while (found == BJ_CUT_MORE && c->at < c->buf.len) {
        const char *record = c->buf.p + c->at;
        const size_t n = c->buf.len - c->at;
        const char *nl = n > c->searched ? memchr(record + c->searched, '\n',
                                                  n - c->searched)
                                         : NULL;
        const size_t newline = nl ? (size_t)(nl - record) : n;
        if (newline > c->max_record) {
            c->skipping = true;
            end_before(c, c->done);
            return bad(c, c->max_record, "a line of fewer bytes");
        }
        c->searched = nl ? newline + 1 : n;
        if (!nl)
            break;
        found = take_line(c, newline);
    }
    return found;
}

struct bj_slice bj_cut_rest(const struct bj_cut *c)
{
    if (c->buf.len == c->next)
        return (struct bj_slice){NULL, 0};
    return (struct bj_slice){c->buf.p + c->next, c->buf.len - c->next};
}

void bj_cut_free(struct bj_cut *c)
{
    bj_buf_free(&c->buf);
}
