/* The state of a ledger as text. */
#include "core/energy/ledger_state.h"

#include "base/digits.h"

#include <stdlib.h>

/* ---------------------------------------------------------------------------*/

/* Checks a ledger that was loaded.  The arithmetic relies on these bounds, and
 * a state with inconsistent sums must not be continued. */

static bool weights_fit(const bj_u128 *raw, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (raw[i] > BJ_LEDGER_WEIGHT_MAX)
            return false;
    return true;
}

static bool account_fits(const struct bj_account *a)
{
    return a->mem_seen_bytes <= BJ_LEDGER_MEM_MAX &&
           a->gpu_new_uj <= BJ_LEDGER_ENERGY_MAX &&
           weights_fit(a->raw, BJ_WEIGHTS);
}

static bool idle_fits(const struct bj_idle *idle)
{
    for (size_t i = 0; i < BJ_IDLE_SAMPLES; i++)
        if (idle->uw[i] > BJ_LEDGER_ENERGY_MAX)
            return false;
    return idle->n <= BJ_IDLE_SAMPLES && idle->next < BJ_IDLE_SAMPLES;
}

static bool times_fit(const struct bj_ledger *l)
{
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++)
        if (l->intake[c].silent_usec > BJ_LEDGER_TIME_MAX)
            return false;
    return l->span_usec <= BJ_LEDGER_TIME_MAX &&
           l->waited_usec <= BJ_LEDGER_TIME_MAX &&
           l->interval_usec <= BJ_LEDGER_TIME_MAX &&
           l->gpu_given_uj <= BJ_LEDGER_ENERGY_MAX &&
           weights_fit(&l->node_cpu, 1) && weights_fit(&l->node_mem, 1);
}

static bool adds_up(const struct bj_ledger *l, enum bj_policy p,
                    enum bj_component c)
{
    const struct bj_ledger_sums *s = &l->sums;
    bj_u128 sum = (bj_u128)s->system_uj[p][c] + s->unallocated_uj[p][c] +
                  s->dropped_uj[p][c] + s->pending_uj[c];
    for (size_t i = 0; i < l->n; i++)
        sum += l->accounts[i]->total_uj[p][c];
    return sum == s->taken_uj[c];
}

/* other = node - components settled with the node + deficit */
static bool other_adds_up(const struct bj_ledger_sums *s)
{
    bj_u128 parts = 0;
    if (s->pending_uj[BJ_ENERGY_OTHER] || s->alone_uj[BJ_ENERGY_OTHER] ||
        s->missed_uj[BJ_ENERGY_OTHER] || s->node_uj > BJ_LEDGER_TOTAL_MAX)
        return false;
    for (enum bj_component c = 0; c < BJ_ENERGY_OTHER; c++) {
        if ((bj_u128)s->alone_uj[c] + s->pending_uj[c] > s->taken_uj[c])
            return false;
        parts += s->taken_uj[c] - s->alone_uj[c] - s->pending_uj[c];
    }
    return parts + s->taken_uj[BJ_ENERGY_OTHER] ==
           (bj_u128)s->node_uj + s->deficit_uj;
}

/* Does a ledger satisfy the conditions of its arithmetic? False: no ledger
 * wrote this state. */
static bool state_sound(const struct bj_ledger *l)
{
    if (!times_fit(l) || !idle_fits(&l->idle[0]) || !idle_fits(&l->idle[1]))
        return false;
    for (size_t i = 0; i < l->n; i++)
        if (!account_fits(l->accounts[i]))
            return false;
    for (enum bj_component c = 0; c < BJ_COMPONENTS; c++) {
        if (l->sums.taken_uj[c] > BJ_LEDGER_TOTAL_MAX)
            return false;
        for (enum bj_policy p = 0; p < BJ_POLICIES; p++)
            if (!adds_up(l, p, c))
                return false;
    }
    return other_adds_up(&l->sums);
}

/* --- loads the state of a ledger (ledger_state.c writes it) ---------------*/

/* The position in the text. */
struct cursor {
    struct bj_slice all, rest;
    size_t line; /* number of the last one cut off */
    struct bj_err *err;
};

static int ledger_state_bad(const struct cursor *c, const char *what)
{
    return bj_err_set(c->err, -EBADMSG, "line %zu: %s", c->line, what);
}

/* Cut the next line; it must end with a newline, which is removed. */
static int ledger_state_next(struct cursor *c, struct bj_slice *ret)
{
    const char *end = c->rest.n ? memchr(c->rest.p, '\n', c->rest.n) : NULL;
    c->line++;
    if (!end)
        return ledger_state_bad(c, "cut off");
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

static bool ledger_state_number(struct bj_slice *line, uint64_t *ret)
{
    struct bj_slice word;
    return bj_slice_field(line, ' ', &word) && bj_slice_u64(word, ret) == 0;
}

static bool ledger_state_read_row(const struct bj_state_row *row,
                                  struct bj_slice *line, void *of)
{
    char *p = (char *)of + row->off;
    for (size_t i = 0; i < row->count; i++, p += row->stride) {
        uint64_t v, low = 0;
        if (!ledger_state_number(line, &v))
            return false;
        if (row->type == BJ_ROW_WIDE && !ledger_state_number(line, &low))
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

static int ledger_state_hex(char c)
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
        int high = i + 2 < n ? ledger_state_hex(s[i + 1]) : -1;
        int low = high >= 0 ? ledger_state_hex(s[i + 2]) : -1;
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
        return ledger_state_bad(c, "no job");
    struct bj_account *a = bj_ledger_add(l, key);
    if (!a)
        return bj_err_set(c->err, -ENOMEM, "line %zu", c->line);
    char *own = (char *)(a + 1);
    int n = bj_state_unword(own, key.n);
    if (n < 0)
        return ledger_state_bad(c, "expected the key of a job");
    a->key.n = (size_t)n;
    for (const struct bj_state_row *row = bj_account_rows; row->word; row++)
        if (!ledger_state_read_row(row, &line, a))
            return ledger_state_bad(c, "expected the numbers of a job");
    if (line.n > 0)
        return ledger_state_bad(c, "too many numbers for a job");
    a->unopened = true;
    l->unopened++;
    return 0;
}

static int read_rows(struct cursor *c, struct bj_ledger *l)
{
    struct bj_slice line;
    for (const struct bj_state_row *row = bj_ledger_rows; row->word; row++) {
        int r = ledger_state_next(c, &line);
        if (r < 0)
            return r;
        if (!starts(&line, row->word))
            return ledger_state_bad(c, row->word);
        if (!ledger_state_read_row(row, &line, l) || line.n > 0)
            return ledger_state_bad(c, "expected other numbers here");
    }
    return 0;
}

/* Read jobs up to the line "extra"; *line is then the rest of that line. */
static int read_accounts(struct cursor *c, struct bj_ledger *l,
                         struct bj_slice *line)
{
    for (;;) {
        int r = ledger_state_next(c, line);
        if (r < 0)
            return r;
        if (starts(line, "extra"))
            return 0;
        if (!starts(line, "job"))
            return ledger_state_bad(c, "expected 'job' or 'extra'");
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
        return ledger_state_bad(c, "expected a number of bytes");
    if (n > c->rest.n)
        return ledger_state_bad(c,
                                "the file is shorter than the number of bytes");
    *ret = (struct bj_slice){c->rest.p, (size_t)n};
    for (size_t i = 0; i < n; i++)
        c->line += ret->p[i] == '\n';
    if (n > 0 && ret->p[n - 1] != '\n')
        return ledger_state_bad(c, "extra ends within a line");
    c->rest.p += n;
    c->rest.n -= (size_t)n;
    return 0;
}

static int check_sum(struct cursor *c)
{
    struct bj_slice line, above = {c->all.p, c->all.n - c->rest.n};
    uint64_t sum = 0;
    int r = ledger_state_next(c, &line);
    if (r < 0)
        return r;
    if (!starts(&line, "sum") || line.n != 16)
        return ledger_state_bad(c, "no checksum");
    for (size_t i = 0; i < line.n; i++) {
        if (ledger_state_hex(line.p[i]) < 0)
            return ledger_state_bad(c, "no checksum");
        sum = sum << 4 | (uint64_t)ledger_state_hex(line.p[i]);
    }
    if (sum != bj_state_sum(above))
        return ledger_state_bad(c,
                                "the checksum does not match the lines above");
    if (c->rest.n > 0) {
        c->line++;
        return ledger_state_bad(c, "text after the end");
    }
    return 0;
}

static int ledger_state_read_all(struct cursor *c, struct bj_ledger *l,
                                 struct bj_slice *ret_boot,
                                 struct bj_slice *ret_extra)
{
    struct bj_slice line = {0};
    int r = ledger_state_next(c, &line);
    if (r == 0 && !bj_slice_eq(line, BJ_SLICE(BJ_STATE_HEAD)))
        return ledger_state_bad(c, "not '" BJ_STATE_HEAD "'");
    if (r == 0)
        r = ledger_state_next(c, &line);
    if (r == 0 && (!starts(&line, "boot") || line.n == 0))
        return ledger_state_bad(c, "no boot id");
    *ret_boot = line;
    if (r == 0)
        r = read_rows(c, l);
    if (r == 0)
        r = read_accounts(c, l, &line);
    if (r == 0)
        r = read_extra(c, line, ret_extra);
    if (r == 0)
        r = check_sum(c);
    if (r == 0 && !state_sound(l))
        r = ledger_state_bad(c, "the sums above do not add up");
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
        r = ledger_state_read_all(&c, read, &boot, &extra);
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

/* ---------------------------------------------------------------------------*/

/* The state of a ledger as text.
 *
 *   batchjob-ledger 1
 *   boot ID
 *   WORD NUMBER...              each row of bj_ledger_rows
 *   job KEY NUMBER...           each account: all rows of bj_account_rows
 *   extra BYTES
 *   the caller's lines, so many bytes
 *   sum 16 hexadecimal digits   of all above
 *
 * The sum is FNV-1a with 64 bits, but each step uses eight bytes (little
 * endian; the last ones singly) and folds the upper half of the sum into the
 * lower one, which a multiplication never does.  Each step is reversible, so a
 * change of the bytes of one step always changes the sum.  Source: G. Fowler,
 * L. C. Noll, K.-P. Vo, "FNV hash" (RFC 9923). */

#define AT(type, member) offsetof(struct type, member)
#define U64(type, word, member, count)                                         \
    {                                                                          \
        word, AT(type, member), count, sizeof(uint64_t), BJ_ROW_U64            \
    }
#define ONE(type, word, member) U64(type, word, member, 1)
#define FLAG(type, word, member)                                               \
    {                                                                          \
        word, AT(type, member), 1, sizeof(bool), BJ_ROW_FLAG                   \
    }
#define WIDE(type, word, member, count)                                        \
    {                                                                          \
        word, AT(type, member), count, sizeof(bj_u128), BJ_ROW_WIDE            \
    }
#define EACH BJ_COMPONENTS
#define ALL ((int)BJ_POLICIES * (int)BJ_COMPONENTS)

const struct bj_state_row bj_ledger_rows[] = {
    ONE(bj_ledger, "node-cpus", conf.cpus),
    ONE(bj_ledger, "node-memory", conf.mem_bytes),
    FLAG(bj_ledger, "ticked", ticked),
    ONE(bj_ledger, "tick", tick_usec),
    ONE(bj_ledger, "interval", interval_usec),
    ONE(bj_ledger, "node-stamp", node_stamp_usec),
    ONE(bj_ledger, "cpu-used", cpu_usec),
    ONE(bj_ledger, "memory-used", mem_bytes),
    {"last", AT(bj_ledger, intake[0].last_uj), EACH, sizeof(struct bj_intake),
     BJ_ROW_U64},
    {"known", AT(bj_ledger, intake[0].known), EACH, sizeof(struct bj_intake),
     BJ_ROW_FLAG},
    {"live", AT(bj_ledger, intake[0].live), EACH, sizeof(struct bj_intake),
     BJ_ROW_FLAG},
    {"silent", AT(bj_ledger, intake[0].silent_usec), EACH,
     sizeof(struct bj_intake), BJ_ROW_U64},
    ONE(bj_ledger, "gpu-given", gpu_given_uj),
    ONE(bj_ledger, "span", span_usec),
    ONE(bj_ledger, "waited", waited_usec),
    FLAG(bj_ledger, "odd", odd),
    FLAG(bj_ledger, "gap", gap),
    FLAG(bj_ledger, "jobs", jobs),
    WIDE(bj_ledger, "window-cpu", node_cpu, 1),
    WIDE(bj_ledger, "window-memory", node_mem, 1),
    ONE(bj_ledger, "idle-part-n", idle[0].n),
    ONE(bj_ledger, "idle-part-next", idle[0].next),
    U64(bj_ledger, "idle-part", idle[0].uw, BJ_IDLE_SAMPLES),
    ONE(bj_ledger, "idle-node-n", idle[1].n),
    ONE(bj_ledger, "idle-node-next", idle[1].next),
    U64(bj_ledger, "idle-node", idle[1].uw, BJ_IDLE_SAMPLES),
    U64(bj_ledger, "system", sums.system_uj, ALL),
    U64(bj_ledger, "unallocated", sums.unallocated_uj, ALL),
    U64(bj_ledger, "dropped", sums.dropped_uj, ALL),
    U64(bj_ledger, "pending", sums.pending_uj, EACH),
    U64(bj_ledger, "taken", sums.taken_uj, EACH),
    U64(bj_ledger, "alone", sums.alone_uj, EACH),
    U64(bj_ledger, "missed", sums.missed_uj, EACH),
    ONE(bj_ledger, "node", sums.node_uj),
    ONE(bj_ledger, "node-missed", sums.node_missed_uj),
    ONE(bj_ledger, "deficit", sums.deficit_uj),
    ONE(bj_ledger, "idle", sums.idle_uw),
    FLAG(bj_ledger, "idle-learnt", sums.idle_learnt),
    ONE(bj_ledger, "windows", sums.windows),
    {0},
};

const struct bj_state_row bj_account_rows[] = {
    FLAG(bj_account, "", cpu_known),    FLAG(bj_account, "", born),
    FLAG(bj_account, "", whole),        FLAG(bj_account, "", closed),
    FLAG(bj_account, "", ended),        FLAG(bj_account, "", final),
    FLAG(bj_account, "", flagged),      FLAG(bj_account, "", involved),
    ONE(bj_account, "", cpu_usec),      ONE(bj_account, "", cpu_seen_usec),
    ONE(bj_account, "", mem_bytes),     ONE(bj_account, "", mem_seen_bytes),
    ONE(bj_account, "", cpus),          ONE(bj_account, "", mem_limit_bytes),
    ONE(bj_account, "", gpu_new_uj),    WIDE(bj_account, "", raw, BJ_WEIGHTS),
    U64(bj_account, "", total_uj, ALL), {0},
};

uint64_t bj_state_sum(struct bj_slice s)
{
    const uint64_t prime = UINT64_C(0x100000001b3);
    uint64_t h = UINT64_C(0xcbf29ce484222325), word;
    for (; s.n >= sizeof(word); s.p += sizeof(word), s.n -= sizeof(word)) {
        memcpy(&word, s.p, sizeof(word));
        h = (h ^ le64toh(word)) * prime;
        h ^= h >> 32;
    }
    for (; s.n > 0; s.p++, s.n--)
        h = (h ^ (unsigned char)*s.p) * prime;
    return h;
}

static bool plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
           (c >= 'a' && c <= 'z') || (c != '\0' && strchr("._:@/+,-", c));
}

void bj_state_word(struct bj_buf *out, struct bj_slice s)
{
    static const char hex[] = "0123456789abcdef";
    if (s.n == 0)
        bj_buf_str(out, "%");
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        char escaped[3] = {'%', hex[c >> 4], hex[c & 15]};
        if (plain(s.p[i]))
            bj_buf_put(out, s.p + i, 1);
        else
            bj_buf_put(out, escaped, sizeof(escaped));
    }
}

enum { NUMBER_MAX = 1 + 20 }; /* a blank and 64 bits */

static char *ledger_state_put_number(char *at, uint64_t v)
{
    *at++ = ' ';
    if (v >= 10)
        return bj_digits_u64(at, v);
    *at++ = (char)('0' + v);
    return at;
}

static char *row_number(char *at, const struct bj_state_row *row, const char *p)
{
    uint64_t one;
    bj_u128 wide;
    if (row->type == BJ_ROW_FLAG)
        return ledger_state_put_number(at, *(const bool *)p);
    if (row->type == BJ_ROW_U64) {
        memcpy(&one, p, sizeof(one));
        return ledger_state_put_number(at, one);
    }
    memcpy(&wide, p, sizeof(wide));
    return ledger_state_put_number(
        ledger_state_put_number(at, (uint64_t)(wide >> 64)), (uint64_t)wide);
}

static void ledger_state_put_row(struct bj_buf *out,
                                 const struct bj_state_row *row, const void *of)
{
    const char *p = (const char *)of + row->off;
    if (!bj_buf_room(out, 2 * row->count * NUMBER_MAX + BJ_DIGITS_ROOM))
        return;
    char *at = out->p + out->len;
    for (size_t i = 0; i < row->count; i++, p += row->stride)
        at = row_number(at, row, p);
    out->len = (size_t)(at - out->p);
}

static void put_account(struct bj_buf *out, const struct bj_account *a)
{
    bj_buf_str(out, "job ");
    bj_state_word(out, a->key);
    for (const struct bj_state_row *row = bj_account_rows; row->word; row++)
        ledger_state_put_row(out, row, a);
    bj_buf_put(out, "\n", 1);
}

void bj_ledger_save(const struct bj_ledger *l, struct bj_slice boot_id,
                    struct bj_slice extra, struct bj_buf *out)
{
    size_t from = out->len;
    bool open_line = extra.n > 0 && extra.p[extra.n - 1] != '\n';
    bj_buf_str(out, BJ_STATE_HEAD "\nboot ");
    bj_state_word(out, boot_id);
    bj_buf_put(out, "\n", 1);
    for (const struct bj_state_row *row = bj_ledger_rows; row->word; row++) {
        bj_buf_str(out, row->word);
        ledger_state_put_row(out, row, l);
        bj_buf_put(out, "\n", 1);
    }
    for (size_t i = 0; i < l->n; i++)
        put_account(out, l->accounts[i]);
    bj_buf_str(out, "extra ");
    bj_buf_u64(out, extra.n + open_line);
    bj_buf_put(out, "\n", 1);
    bj_buf_slice(out, extra);
    bj_buf_put(out, "\n", open_line);
    if (out->failed)
        return;
    struct bj_slice all = {out->p + from, out->len - from};
    bj_buf_printf(out, "sum %016llx\n", (unsigned long long)bj_state_sum(all));
}
