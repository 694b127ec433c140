/* States of nodes. */
#include "sched/sinfo.h"
#include "sched/word.h"

#include <stdbool.h>
#include <strings.h>

static const char *const bases[BJ_NODE_BASES] = {
    [BJ_NODE_UNKNOWN] = "unknown", [BJ_NODE_DOWN] = "down",
    [BJ_NODE_IDLE] = "idle",       [BJ_NODE_ALLOCATED] = "allocated",
    [BJ_NODE_ERROR] = "error",     [BJ_NODE_MIXED] = "mixed",
    [BJ_NODE_FUTURE] = "future",
};

static const char *const flags[BJ_NODE_FLAGS] = {
    [BJ_NODE_BLOCKED] = "blocked",
    [BJ_NODE_CLOUD] = "cloud",
    [BJ_NODE_COMPLETING] = "completing",
    [BJ_NODE_DRAIN] = "drain",
    [BJ_NODE_DYNAMIC_FUTURE] = "dynamic_future",
    [BJ_NODE_DYNAMIC_NORM] = "dynamic_norm",
    [BJ_NODE_EXTERNAL] = "external",
    [BJ_NODE_FAIL] = "fail",
    [BJ_NODE_INVALID_REG] = "invalid_reg",
    [BJ_NODE_MAINTENANCE] = "maintenance",
    [BJ_NODE_NOT_RESPONDING] = "not_responding",
    [BJ_NODE_PERFCTRS] = "perfctrs",
    [BJ_NODE_PLANNED] = "planned",
    [BJ_NODE_POWER_DOWN] = "power_down",
    [BJ_NODE_POWER_DRAIN] = "power_drain",
    [BJ_NODE_POWERED_DOWN] = "powered_down",
    [BJ_NODE_POWERING_DOWN] = "powering_down",
    [BJ_NODE_POWERING_UP] = "powering_up",
    [BJ_NODE_POWER_UP] = "power_up",
    [BJ_NODE_REBOOT_CANCEL] = "reboot_cancel",
    [BJ_NODE_REBOOT_ISSUED] = "reboot_issued",
    [BJ_NODE_REBOOT_REQUESTED] = "reboot_requested",
    [BJ_NODE_RESERVED] = "reserved",
    [BJ_NODE_RESUME] = "resume",
    [BJ_NODE_UNDRAIN] = "undrain",
};

#define NO_BASE BJ_NODE_BASES

/* Other words for states: of sinfo's shorter view, of other versions. */
static const struct {
    struct bj_slice word;
    enum bj_node_base base; /* NO_BASE: unknown */
    enum bj_node_flag flag; /* BJ_NODE_FLAGS: none */
} others[] = {
    {BJ_WORD("alloc"), BJ_NODE_ALLOCATED, BJ_NODE_FLAGS},
    {BJ_WORD("mix"), BJ_NODE_MIXED, BJ_NODE_FLAGS},
    {BJ_WORD("drained"), NO_BASE, BJ_NODE_DRAIN},
    {BJ_WORD("draining"), NO_BASE, BJ_NODE_DRAIN},
    {BJ_WORD("failing"), NO_BASE, BJ_NODE_FAIL},
    {BJ_WORD("maint"), NO_BASE, BJ_NODE_MAINTENANCE},
    {BJ_WORD("inval"), NO_BASE, BJ_NODE_INVALID_REG},
    {BJ_WORD("no_respond"), NO_BASE, BJ_NODE_NOT_RESPONDING},
    {BJ_WORD("reboot"), NO_BASE, BJ_NODE_REBOOT_REQUESTED},
    {BJ_WORD("reboot_canceled"), NO_BASE, BJ_NODE_REBOOT_CANCEL},
    {BJ_WORD("reboot_cancelled"), NO_BASE, BJ_NODE_REBOOT_CANCEL},
    {BJ_WORD("powerdown"), NO_BASE, BJ_NODE_POWER_DOWN},
    {BJ_WORD("powerup"), NO_BASE, BJ_NODE_POWER_UP},
};

/* The marks after a state.  Source: sinfo(1), "NODE STATE CODES". */
static const struct {
    char mark;
    enum bj_node_flag flag;
} marks[] = {
    {'*', BJ_NODE_NOT_RESPONDING},   {'~', BJ_NODE_POWERED_DOWN},
    {'#', BJ_NODE_POWERING_UP},      {'!', BJ_NODE_POWER_DOWN},
    {'%', BJ_NODE_POWERING_DOWN},    {'$', BJ_NODE_MAINTENANCE},
    {'@', BJ_NODE_REBOOT_REQUESTED}, {'^', BJ_NODE_REBOOT_ISSUED},
    {'-', BJ_NODE_PLANNED},
};

const char *bj_node_base_name(enum bj_node_base base)
{
    return (unsigned)base < BJ_NODE_BASES ? bases[base] : bases[0];
}

const char *bj_node_flag_name(enum bj_node_flag flag)
{
    return (unsigned)flag < BJ_NODE_FLAGS ? flags[flag] : "unknown";
}

static bool same(struct bj_slice s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* The flag that the last byte of a word marks; BJ_NODE_FLAGS: none. */
static enum bj_node_flag mark_of(struct bj_slice word)
{
    for (size_t i = 0; word.n > 1 && i < sizeof(marks) / sizeof(marks[0]); i++)
        if (word.p[word.n - 1] == marks[i].mark)
            return marks[i].flag;
    return BJ_NODE_FLAGS;
}

static bool other_word(struct bj_slice word, struct bj_slurm_node_state *s)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!same(word, others[i].word.p))
            continue;
        if (others[i].base != NO_BASE)
            s->base = others[i].base;
        if (others[i].flag != BJ_NODE_FLAGS)
            s->flags |= 1u << others[i].flag;
        return true;
    }
    return false;
}

static void take_word(struct bj_slice word, struct bj_slurm_node_state *s)
{
    enum bj_node_flag mark;
    while ((mark = mark_of(word)) != BJ_NODE_FLAGS) {
        s->flags |= 1u << mark;
        word.n--;
    }
    for (unsigned i = 0; i < BJ_NODE_BASES; i++)
        if (same(word, bases[i])) {
            s->base = (enum bj_node_base)i;
            return;
        }
    for (unsigned i = 0; i < BJ_NODE_FLAGS; i++)
        if (same(word, flags[i])) {
            s->flags |= 1u << i;
            return;
        }
    if (other_word(word, s))
        return;
    for (unsigned i = 0; i < s->unknown && i < BJ_NODE_WORDS; i++)
        if (bj_slice_eq(s->word[i], word))
            return;
    if (s->unknown < BJ_NODE_WORDS)
        s->word[s->unknown] = word;
    s->unknown++;
}

struct bj_slurm_node_state
bj_node_state_parse(struct bj_slice text, uint64_t allocated, uint64_t cpus)
{
    struct bj_slurm_node_state s = {.base = NO_BASE};
    struct bj_slice word;
    if (text.n > 1 && text.p[text.n - 1] == '+') /* "allocated+" */
        s.flags |= 1u << BJ_NODE_COMPLETING;
    while (bj_slice_field(&text, '+', &word))
        if (word.n > 0)
            take_word(word, &s);
    if (s.base == NO_BASE && s.flags != 0)
        s.base = allocated == 0      ? BJ_NODE_IDLE
                 : allocated >= cpus ? BJ_NODE_ALLOCATED
                                     : BJ_NODE_MIXED;
    if (s.base == NO_BASE)
        s.base = BJ_NODE_UNKNOWN;
    return s;
}
