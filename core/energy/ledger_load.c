/* Loads the state of a ledger (ledger_state.c writes it). */
#include "core/energy/ledger_state.h"

#include <stdlib.h>

/* The position in the text. */
struct cursor {
    struct bj_slice all, rest;
    size_t line; /* number of the last one cut off */
    struct bj_err *err;
};

static int bad(const struct cursor *c, const char *what)
{
    return bj_err_set(c->err, -EBADMSG, "line %zu: %s", c->line, what);
}

/* Cut the next line; it must end with a newline, which is removed. */
static int next(struct cursor *c, struct bj_slice *ret)
{
    const char *end = c->rest.n ? memchr(c->rest.p, '\n', c->rest.n) : NULL;
    c->line++;
    if (!end)
        return bad(c, "cut off");
    *ret = (struct bj_slice){c->rest.p, (size_t)(end - c->rest.p)};
    c->rest.p += ret->n + 1;
    c->rest.n -= ret->n + 1;
    return 0;
}

/* Cut "word " off the line. */
static bool starts(struct bj_slice *line, const char *word)
{
    size_t n = strlen(word);
    if (line->n <= n || memcmp(line->p, word, n) != 0 || line->p[n] != ' ')
        return false;
    *line = (struct bj_slice){line->p + n + 1, line->n - n - 1};
    return true;
}

static bool number(struct bj_slice *line, uint64_t *ret)
{
    struct bj_slice word;
    return bj_slice_field(line, ' ', &word) && bj_slice_u64(word, ret) == 0;
}

static bool read_row(const struct bj_state_row *row, struct bj_slice *line,
                     void *of)
{
    char *p = (char *)of + row->off;
    for (size_t i = 0; i < row->count; i++, p += row->stride) {
        uint64_t v, low = 0;
        if (!number(line, &v))
            return false;
        if (row->type == BJ_ROW_WIDE && !number(line, &low))
            return false;
        if (row->type == BJ_ROW_FLAG && v > 1)
            return false;
        bj_u128 wide = (bj_u128)v << 64 | low;
        if (row->type == BJ_ROW_FLAG)
            *(bool *)p = v == 1;
        else if (row->type == BJ_ROW_WIDE)
            memcpy(p, &wide, sizeof(wide));
        else
            memcpy(p, &v, sizeof(v));
    }
    return true;
}

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int bj_state_unword(char *s, size_t n)
{
    size_t to = 0;
    if (n == 1 && s[0] == '%')
        return 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] != '%') {
            s[to++] = s[i];
            continue;
        }
        int high = i + 2 < n ? hex(s[i + 1]) : -1;
        int low = high >= 0 ? hex(s[i + 2]) : -1;
        if (low < 0)
            return -EINVAL;
        s[to++] = (char)(high << 4 | low);
        i += 2;
    }
    return n > 0 ? (int)to : -EINVAL;
}

/* Read "job KEY NUMBER..." after the first word. */
static int read_account(struct cursor *c, struct bj_ledger *l,
                        struct bj_slice line)
{
    struct bj_slice key;
    if (!bj_slice_field(&line, ' ', &key))
        return bad(c, "no job");
    struct bj_account *a = bj_ledger_add(l, key);
    if (!a)
        return bj_err_set(c->err, -ENOMEM, "line %zu", c->line);
    char *own = (char *)(a + 1);
    int n = bj_state_unword(own, key.n);
    if (n < 0)
        return bad(c, "expected the key of a job");
    a->key.n = (size_t)n;
    for (const struct bj_state_row *row = bj_account_rows; row->word; row++)
        if (!read_row(row, &line, a))
            return bad(c, "expected the numbers of a job");
    if (line.n > 0)
        return bad(c, "too many numbers for a job");
    a->unopened = true;
    l->unopened++;
    return 0;
}

static int read_rows(struct cursor *c, struct bj_ledger *l)
{
    struct bj_slice line;
    for (const struct bj_state_row *row = bj_ledger_rows; row->word; row++) {
        int r = next(c, &line);
        if (r < 0)
            return r;
        if (!starts(&line, row->word))
            return bad(c, row->word);
        if (!read_row(row, &line, l) || line.n > 0)
            return bad(c, "expected other numbers here");
    }
    return 0;
}

/* Read jobs up to the line "extra"; *line is then the rest of that line. */
static int read_accounts(struct cursor *c, struct bj_ledger *l,
                         struct bj_slice *line)
{
    for (;;) {
        int r = next(c, line);
        if (r < 0)
            return r;
        if (starts(line, "extra"))
            return 0;
        if (!starts(line, "job"))
            return bad(c, "expected 'job' or 'extra'");
        r = read_account(c, l, *line);
        if (r < 0)
            return r;
    }
}

static int read_extra(struct cursor *c, struct bj_slice line,
                      struct bj_slice *ret)
{
    uint64_t n;
    if (bj_slice_u64(line, &n) < 0)
        return bad(c, "expected a number of bytes");
    if (n > c->rest.n)
        return bad(c, "the file is shorter than the number of bytes");
    *ret = (struct bj_slice){c->rest.p, (size_t)n};
    for (size_t i = 0; i < n; i++)
        c->line += ret->p[i] == '\n';
    if (n > 0 && ret->p[n - 1] != '\n')
        return bad(c, "extra ends within a line");
    c->rest.p += n;
    c->rest.n -= (size_t)n;
    return 0;
}

static int check_sum(struct cursor *c)
{
    struct bj_slice line, above = {c->all.p, c->all.n - c->rest.n};
    uint64_t sum = 0;
    int r = next(c, &line);
    if (r < 0)
        return r;
    if (!starts(&line, "sum") || line.n != 16)
        return bad(c, "no checksum");
    for (size_t i = 0; i < line.n; i++) {
        if (hex(line.p[i]) < 0)
            return bad(c, "no checksum");
        sum = sum << 4 | (uint64_t)hex(line.p[i]);
    }
    if (sum != bj_state_sum(above))
        return bad(c, "the checksum does not match the lines above");
    if (c->rest.n > 0) {
        c->line++;
        return bad(c, "text after the end");
    }
    return 0;
}

static int read_all(struct cursor *c, struct bj_ledger *l,
                    struct bj_slice *ret_boot, struct bj_slice *ret_extra)
{
    struct bj_slice line = {0};
    int r = next(c, &line);
    if (r == 0 && !bj_slice_eq(line, BJ_SLICE(BJ_STATE_HEAD)))
        return bad(c, "not '" BJ_STATE_HEAD "'");
    if (r == 0)
        r = next(c, &line);
    if (r == 0 && (!starts(&line, "boot") || line.n == 0))
        return bad(c, "no boot id");
    *ret_boot = line;
    if (r == 0)
        r = read_rows(c, l);
    if (r == 0)
        r = read_accounts(c, l, &line);
    if (r == 0)
        r = read_extra(c, line, ret_extra);
    if (r == 0)
        r = check_sum(c);
    if (r == 0 && !bj_state_sound(l))
        r = bad(c, "the sums above do not add up");
    return r;
}

/* The node has changed: its saved shares are not valid. */
static void forget_shares(struct bj_ledger *l)
{
    for (size_t i = 0; i < l->n; i++)
        l->accounts[i]->raw[BJ_W_RESERVED] = 0;
}

/* Move all data but the configuration. */
static void move(struct bj_ledger *to, struct bj_ledger *from)
{
    struct bj_ledger old = *to;
    bool resized = old.conf.cpus != from->conf.cpus ||
                   old.conf.mem_bytes != from->conf.mem_bytes;
    *to = *from;
    *from = old;
    to->conf = old.conf;
    if (resized)
        forget_shares(to);
    for (size_t i = 0; i < to->n; i++)
        to->accounts[i]->ledger = to;
    to->resumed = to->ticked;
    to->sums.tick_usec = to->tick_usec;
}

static void take_idle(struct bj_ledger *to, const struct bj_ledger *from)
{
    memcpy(to->idle, from->idle, sizeof(to->idle));
    for (int i = 0; i < 2; i++)
        bj_idle_refresh(&to->idle[i]);
}

int bj_ledger_load(struct bj_ledger *l, struct bj_slice text,
                   struct bj_slice boot_id, struct bj_slice *ret_extra,
                   bool *ret_same_boot, struct bj_err *err)
{
    struct cursor c = {text, text, 0, err};
    struct bj_slice boot = {0}, extra = {0};
    struct bj_buf ours = {0};
    if (l->ticked || l->n > 0)
        return bj_err_set(err, -EBUSY, "the ledger is in use");
    struct bj_ledger *read = bj_ledger_new(&l->conf);
    bj_state_word(&ours, boot_id);
    int r = -ENOMEM;
    if (read && !ours.failed)
        r = read_all(&c, read, &boot, &extra);
    else
        bj_err_set(err, r, "state");
    if (r == 0) {
        *ret_extra = extra;
        *ret_same_boot = boot_id.n > 0 &&
                         bj_slice_eq(boot, (struct bj_slice){ours.p, ours.len});
        take_idle(l, read);
        if (*ret_same_boot) {
            take_idle(read, read);
            move(l, read);
        }
    }
    bj_ledger_free(read);
    bj_buf_free(&ours);
    return r;
}
