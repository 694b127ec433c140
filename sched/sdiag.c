#include "sched/sdiag.h"

#include "base/absent.h"
#include "sched/value.h"

#include <errno.h>
#include <stddef.h>

const char *const bj_sdiag_argv[] = {"sdiag", NULL};

enum section { TOP, MAIN, BACKFILL, BY_TYPE, BY_USER, PENDING, OTHER };

static const struct {
    struct bj_slice line; /* first line of a section */
    enum section section;
} sections[] = {
    {BJ_WORD("Main schedule statistics"), MAIN},
    {BJ_WORD("Backfilling stats"), BACKFILL},
    {BJ_WORD("Remote Procedure Call statistics by message type"), BY_TYPE},
    {BJ_WORD("Remote Procedure Call statistics by user"), BY_USER},
    {BJ_WORD("Pending RPC statistics"), PENDING},
    {BJ_WORD("Main scheduler exit"), OTHER},
    {BJ_WORD("Backfill exit"), OTHER},
};

#define AT(member) offsetof(struct bj_sdiag, member)

/* The lines "LABEL: NUMBER" of the sections. */
static const struct {
    enum section section;
    struct bj_slice label;
    size_t at;
} numbers[] = {
    {TOP, BJ_WORD("Server thread count"), AT(server_threads)},
    {TOP, BJ_WORD("Agent queue size"), AT(agent_queue)},
    {TOP, BJ_WORD("Agent count"), AT(agents)},
    {TOP, BJ_WORD("Agent thread count"), AT(agent_threads)},
    {TOP, BJ_WORD("DBD Agent queue size"), AT(dbd_queue)},
    {TOP, BJ_WORD("Jobs submitted"), AT(jobs_submitted)},
    {TOP, BJ_WORD("Jobs started"), AT(jobs_started)},
    {TOP, BJ_WORD("Jobs completed"), AT(jobs_completed)},
    {TOP, BJ_WORD("Jobs canceled"), AT(jobs_cancelled)},
    {TOP, BJ_WORD("Jobs failed"), AT(jobs_failed)},
    {MAIN, BJ_WORD("Total cycles"), AT(cycles)},
    {MAIN, BJ_WORD("Last cycle"), AT(cycle_last_usec)},
    {MAIN, BJ_WORD("Max cycle"), AT(cycle_max_usec)},
    {MAIN, BJ_WORD("Mean cycle"), AT(cycle_mean_usec)},
    {MAIN, BJ_WORD("Mean depth cycle"), AT(depth_mean)},
    {MAIN, BJ_WORD("Last queue length"), AT(queue_length)},
    {MAIN, BJ_WORD("Cycles per minute"), AT(cycles_per_min)},
    {BACKFILL, BJ_WORD("Total backfilled jobs (since last slurm start)"),
     AT(bf_jobs)},
    {BACKFILL, BJ_WORD("Total backfilled jobs (since last stats cycle start)"),
     AT(bf_jobs_cycle)},
    {BACKFILL, BJ_WORD("Total backfilled heterogeneous job components"),
     AT(bf_het_jobs)},
    {BACKFILL, BJ_WORD("Total cycles"), AT(bf_cycles)},
    {BACKFILL, BJ_WORD("Last cycle"), AT(bf_last_usec)},
    {BACKFILL, BJ_WORD("Max cycle"), AT(bf_max_usec)},
    {BACKFILL, BJ_WORD("Mean cycle"), AT(bf_mean_usec)},
    {BACKFILL, BJ_WORD("Last depth cycle"), AT(bf_depth)},
    {BACKFILL, BJ_WORD("Last depth cycle (try sched)"), AT(bf_depth_try)},
    {BACKFILL, BJ_WORD("Depth Mean"), AT(bf_depth_mean)},
    {BACKFILL, BJ_WORD("Depth Mean (try depth)"), AT(bf_depth_try_mean)},
    {BACKFILL, BJ_WORD("Depth Mean (try sched)"), AT(bf_depth_try_mean)},
    {BACKFILL, BJ_WORD("Last queue length"), AT(bf_queue)},
    {BACKFILL, BJ_WORD("Queue length mean"), AT(bf_queue_mean)},
    {BACKFILL, BJ_WORD("Last table size"), AT(bf_table)},
    {BACKFILL, BJ_WORD("Mean table size"), AT(bf_table_mean)},
};

/* "Fri Nov 20 10:51:07 2026 (1795171867)": the number in brackets; unknown
 * times are 0 or "N/A". */
static void take_time(struct bj_slice s, uint64_t *ret)
{
    uint64_t v;
    if (s.n < 2 || s.p[s.n - 1] != ')')
        return;
    size_t n = --s.n;
    while (n > 0 && s.p[n - 1] != '(')
        n--;
    if (bj_slice_u64((struct bj_slice){s.p + n, s.n - n}, &v) == 0 && v > 0)
        *ret = v;
}

static void take_number(enum section section, struct bj_slice line,
                        struct bj_sdiag *ret)
{
    struct bj_slice label, rest = line;
    uint64_t v;
    bj_slice_field(&rest, ':', &label);
    rest = bj_slice_trim(rest);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (numbers[i].section == section &&
            bj_slice_eq(numbers[i].label, label)) {
            if (bj_slice_u64(rest, &v) == 0)
                *(uint64_t *)(void *)((char *)ret + numbers[i].at) = v;
            return;
        }
    static const struct bj_slice last = BJ_WORD("Last cycle when");
    if (section == BACKFILL && bj_slice_eq(label, last))
        take_time(rest, &ret->bf_last_sec);
}

/* The number after key in s, such as "count:31". */
static bool sdiag_number_of(struct bj_slice s, struct bj_slice key,
                            uint64_t *ret)
{
    struct bj_slice word;
    while (bj_slice_word(&s, &word))
        if (bj_slice_starts(word, key))
            return bj_slice_u64(
                       (struct bj_slice){word.p + key.n, word.n - key.n},
                       ret) == 0;
    return false;
}

/* "REQUEST_NODE_INFO ( 2007) count:21 ave_time:473 total_time:9940" */
static bool take_rpc(struct bj_slice line, struct bj_sdiag_rpc *r)
{
    static const struct bj_slice count = BJ_WORD("count:");
    static const struct bj_slice total = BJ_WORD("total_time:");
    const char *open = memchr(line.p, '(', line.n);
    const char *shut =
        open ? memchr(open, ')', line.n - (size_t)(open - line.p)) : NULL;
    if (!shut)
        return false;
    r->name = bj_slice_trim((struct bj_slice){line.p, (size_t)(open - line.p)});
    const struct bj_slice rest = {shut + 1,
                                  line.n - (size_t)(shut + 1 - line.p)};
    return r->name.n > 0 && sdiag_number_of(rest, count, &r->count) &&
           sdiag_number_of(rest, total, &r->total_usec);
}

static bool take_section(struct bj_slice line, enum section *section)
{
    for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
        if (bj_slice_starts(line, sections[i].line)) {
            *section = sections[i].section;
            return true;
        }
    return false;
}

int bj_sdiag_parse(struct bj_slice text, struct bj_sdiag *ret,
                   void (*rpc)(void *ctx, const struct bj_sdiag_rpc *r),
                   void *ctx)
{
    static const struct bj_slice head = BJ_WORD("sdiag output at");
    static const struct bj_slice since = BJ_WORD("Data since");
    enum section section = TOP;
    struct bj_slice line;
    bool known = false;
    memset(ret, 0xff, sizeof(*ret));
    while (bj_slice_line(&text, &line)) {
        struct bj_sdiag_rpc r;
        line = bj_slice_trim(line);
        known |= bj_slice_starts(line, head);
        if (line.n == 0 || take_section(line, &section))
            continue;
        r.user = section == BY_USER;
        if (section == TOP && bj_slice_starts(line, since))
            take_time(line, &ret->since_sec);
        else if (section == BY_TYPE || section == BY_USER) {
            if (rpc && take_rpc(line, &r))
                rpc(ctx, &r);
        } else
            take_number(section, line, ret);
    }
    return known ? 0 : -EINVAL;
}
