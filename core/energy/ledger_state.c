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
#include "core/energy/ledger_state.h"

#include "base/digits.h"

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

static char *number(char *at, uint64_t v)
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
        return number(at, *(const bool *)p);
    if (row->type == BJ_ROW_U64) {
        memcpy(&one, p, sizeof(one));
        return number(at, one);
    }
    memcpy(&wide, p, sizeof(wide));
    return number(number(at, (uint64_t)(wide >> 64)), (uint64_t)wide);
}

static void put_row(struct bj_buf *out, const struct bj_state_row *row,
                    const void *of)
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
        put_row(out, row, a);
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
        put_row(out, row, l);
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
