/* core/energy/ledger_state.c: a state file is refused with the number of a
 * line, or it gives a ledger whose sums are right, which can be saved and
 * loaded again to the same text, and which does not lose a microjoule in later
 * ticks.
 *
 * Each input is also tried with a correct checksum, since almost none has
 * one. */
#include "core/energy/ledger_impl.h"
#include "core/energy/ledger_state.h"
#include "tests/fuzz/fuzz.h"

#include <stdio.h>

static const struct bj_ledger_conf conf = {
    .cpus = 8, .mem_bytes = UINT64_C(1) << 34, .patience_usec = 1000000};

static void must_add_up(const struct bj_ledger *l)
{
    struct bj_ledger_sums s;
    bj_ledger_sums(l, &s);
    for (int p = 0; p < BJ_POLICIES; p++)
        for (int c = 0; c < BJ_COMPONENTS; c++) {
            uint64_t sum = s.system_uj[p][c] + s.unallocated_uj[p][c] +
                           s.dropped_uj[p][c] + s.pending_uj[c];
            for (size_t i = 0; i < l->n; i++)
                sum += l->accounts[i]->total_uj[p][c];
            MUST(sum == s.taken_uj[c]);
        }
}

/* Run a few ticks on the loaded ledger. */
static void run_ticks(struct bj_ledger *l)
{
    struct bj_account *a = bj_ledger_open(l, BJ_SLICE("job"), true);
    struct bj_tick t = {.now_usec = l->tick_usec,
                        .node_stamp_usec = l->node_stamp_usec};
    MUST(a);
    for (uint64_t i = 1; i < 5; i++) {
        t.now_usec += 400000;
        t.node_stamp_usec += i % 2;
        t.node_uj = l->intake[BJ_ENERGY_OTHER].last_uj + 5000 * i;
        t.cpu_usec = t.mem_bytes = i << 20;
        for (int c = 0; c < BJ_ENERGY_OTHER; c++)
            t.total_uj[c] = l->intake[c].last_uj + 1000 * i;
        bj_account_use(a, &(struct bj_job_use){i, i, i, i});
        bj_ledger_tick(l, &t);
        must_add_up(l);
    }
}

static void must_round_trip(const struct bj_ledger *l, struct bj_slice boot)
{
    struct bj_buf one = {0}, two = {0};
    struct bj_slice extra;
    bool same;
    struct bj_ledger *again = bj_ledger_new(&conf);
    bj_ledger_save(l, boot, BJ_SLICE("x\n"), &one);
    MUST(again && !one.failed);
    MUST(bj_ledger_load(again, (struct bj_slice){one.p, one.len}, boot, &extra,
                        &same, NULL) == 0);
    MUST(same && bj_slice_eq(extra, BJ_SLICE("x\n")));
    bj_ledger_save(again, boot, extra, &two);
    MUST(one.len == two.len && memcmp(one.p, two.p, one.len) == 0);
    bj_ledger_free(again);
    bj_buf_free(&one);
    bj_buf_free(&two);
}

static void feed(struct bj_slice text)
{
    struct bj_ledger *l = bj_ledger_new(&conf);
    struct bj_slice extra = {0}, boot = BJ_SLICE("boot");
    struct bj_err err = {0};
    bool same = false;
    MUST(l);
    int r = bj_ledger_load(l, text, boot, &extra, &same, &err);
    MUST(r == 0 || (r == -EBADMSG && strncmp(err.msg, "line ", 5) == 0));
    if (r == 0)
        MUST(extra.p >= text.p && extra.p + extra.n <= text.p + text.n);
    must_add_up(l);
    if (r == 0 && same)
        must_round_trip(l, boot);
    run_ticks(l);
    bj_ledger_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem, tail[32];
    struct bj_slice text = fuzz_exact(data, size, &mem);
    feed(text);
    free(mem);
    /* The same text with a correct checksum. */
    struct bj_slice above = {(const char *)data, size};
    int n = snprintf(tail, sizeof(tail), "sum %016llx\n",
                     (unsigned long long)bj_state_sum(above));
    char *whole = malloc(size + (size_t)n);
    MUST(whole && n == 21);
    if (size > 0)
        memcpy(whole, data, size);
    memcpy(whole + size, tail, (size_t)n);
    text = fuzz_exact(whole, size + (size_t)n, &mem);
    feed(text);
    free(mem);
    free(whole);
    return 0;
}
