/* States of nodes. */
#include "sched/sinfo.h"

#include "base/absent.h"
#include "base/json.h"
#include "sched/squeue.h"
#include "sched/value.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char *const bases[BJ_NODE_BASES] = {
    [BJ_NODE_UNKNOWN] = "unknown", [BJ_NODE_DOWN] = "down",
    [BJ_NODE_IDLE] = "idle",       [BJ_NODE_ALLOCATED] = "allocated",
    [BJ_NODE_ERROR] = "error",     [BJ_NODE_MIXED] = "mixed",
    [BJ_NODE_FUTURE] = "future",
};

static const char *const flag_names[BJ_NODE_FLAGS] = {
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
    return (unsigned)flag < BJ_NODE_FLAGS ? flag_names[flag] : "unknown";
}

static bool sinfo_same(struct bj_slice s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* The flag that the last byte of a word marks; BJ_NODE_FLAGS: none. */
static enum bj_node_flag flag_of_mark(struct bj_slice word)
{
    for (size_t i = 0; word.n > 1 && i < sizeof(marks) / sizeof(marks[0]); i++)
        if (word.p[word.n - 1] == marks[i].mark)
            return marks[i].flag;
    return BJ_NODE_FLAGS;
}

static bool other_word(struct bj_slice word, struct bj_slurm_node_state *s)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (!sinfo_same(word, others[i].word.p))
            continue;
        if (others[i].base != NO_BASE)
            s->base = others[i].base;
        if (others[i].flag != BJ_NODE_FLAGS)
            s->flags |= 1u << others[i].flag;
        return true;
    }
    return false;
}

static void sinfo_take_word(struct bj_slice word, struct bj_slurm_node_state *s)
{
    enum bj_node_flag mark;
    while ((mark = flag_of_mark(word)) != BJ_NODE_FLAGS) {
        s->flags |= 1u << mark;
        word.n--;
    }
    for (unsigned i = 0; i < BJ_NODE_BASES; i++)
        if (sinfo_same(word, bases[i])) {
            s->base = (enum bj_node_base)i;
            return;
        }
    for (unsigned i = 0; i < BJ_NODE_FLAGS; i++)
        if (sinfo_same(word, flag_names[i])) {
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
            sinfo_take_word(word, &s);
    if (s.base == NO_BASE && s.flags != 0)
        s.base = allocated == 0      ? BJ_NODE_IDLE
                 : allocated >= cpus ? BJ_NODE_ALLOCATED
                                     : BJ_NODE_MIXED;
    if (s.base == NO_BASE)
        s.base = BJ_NODE_UNKNOWN;
    return s;
}

/* --- words of states ------------------------------------------------------*/

#define FLAG(name) (1u << BJ_NODE_##name)

/* The marks of flags, by precedence. */
static const struct {
    uint32_t flag;
    char mark;
} shown_marks[] = {
    {FLAG(MAINTENANCE), '$'},      {FLAG(REBOOT_ISSUED), '^'},
    {FLAG(REBOOT_REQUESTED), '@'}, {FLAG(POWERING_UP), '#'},
    {FLAG(POWERING_DOWN), '%'},    {FLAG(POWERED_DOWN), '~'},
    {FLAG(POWER_DOWN), '!'},       {FLAG(NOT_RESPONDING), '*'},
};

static char shown_mark(uint32_t set)
{
    for (size_t i = 0; i < sizeof(shown_marks) / sizeof(shown_marks[0]); i++)
        if (set & shown_marks[i].flag)
            return shown_marks[i].mark;
    return '\0';
}

/* The word for flags that hide the base state; NULL: none is set.  *mark is
 * unchanged if the word has the usual mark. */
static const char *hiding_word(struct bj_slurm_node_state s, char *mark)
{
    const bool busy = s.base == BJ_NODE_ALLOCATED || s.base == BJ_NODE_MIXED;
    const bool completing = s.flags & FLAG(COMPLETING);
    const char deaf = s.flags & FLAG(NOT_RESPONDING) ? '*' : '\0';
    if (s.flags & FLAG(INVALID_REG)) {
        *mark = '\0';
        return "inval";
    }
    if (s.flags & FLAG(MAINTENANCE) && !(s.flags & FLAG(DRAIN)) && !busy &&
        s.base != BJ_NODE_DOWN) {
        *mark = deaf;
        return "maint";
    }
    if (s.flags & (FLAG(REBOOT_REQUESTED) | FLAG(REBOOT_ISSUED)) && !busy) {
        *mark = s.flags & FLAG(REBOOT_ISSUED) ? '^' : deaf;
        return "reboot";
    }
    if (s.flags & FLAG(DRAIN))
        return busy || completing ? "draining" : "drained";
    if (s.flags & FLAG(FAIL)) {
        *mark = deaf;
        return s.base == BJ_NODE_ALLOCATED || completing ? "failing" : "fail";
    }
    return completing && s.base != BJ_NODE_DOWN && s.base != BJ_NODE_ALLOCATED
               ? "completing"
               : NULL;
}

/* The word for the base state, or for flags that show only without another
 * word. */
static const char *base_word(struct bj_slurm_node_state s, char *mark)
{
    if (s.base == BJ_NODE_UNKNOWN)
        *mark = s.flags & FLAG(NOT_RESPONDING) ? '*' : '\0';
    if (*mark == '\0' && s.base == BJ_NODE_IDLE) {
        if (s.flags & FLAG(RESERVED))
            return "reserved";
        if (s.flags & FLAG(PLANNED))
            return "planned";
    }
    if (*mark == '\0' && s.base == BJ_NODE_MIXED && s.flags & FLAG(PLANNED))
        *mark = '-';
    if (*mark == '\0' && s.base == BJ_NODE_ALLOCATED &&
        s.flags & FLAG(COMPLETING))
        *mark = '+';
    return bj_node_base_name(s.base);
}

/* Long words whose compact form differs. */
static const struct {
    const char *word, *compact;
} compacts[] = {
    {"allocated", "alloc"}, {"completing", "comp"}, {"drained", "drain"},
    {"draining", "drng"},   {"failing", "failg"},   {"future", "futr"},
    {"mixed", "mix"},       {"planned", "plnd"},    {"reboot", "boot"},
    {"reserved", "resv"},   {"unknown", "unk"},
};

static const char *compact_word(const char *word)
{
    for (size_t i = 0; i < sizeof(compacts) / sizeof(compacts[0]); i++)
        if (strcmp(word, compacts[i].word) == 0)
            return compacts[i].compact;
    return word;
}

static struct bj_slice write_state(struct bj_slurm_node_state s, bool compact,
                                   char text[BJ_NODE_LONG_BYTES])
{
    char mark = shown_mark(s.flags);
    const char *word = hiding_word(s, &mark);
    if (!word)
        word = base_word(s, &mark);
    if (compact)
        word = compact_word(word);
    int n = snprintf(text, BJ_NODE_LONG_BYTES, "%s%.1s", word,
                     mark ? (char[]){mark, '\0'} : "");
    return (struct bj_slice){text, (size_t)n};
}

struct bj_slice bj_node_state_long(struct bj_slurm_node_state s,
                                   char text[BJ_NODE_LONG_BYTES])
{
    return write_state(s, false, text);
}

struct bj_slice bj_node_state_compact(struct bj_slurm_node_state s,
                                      char text[BJ_NODE_LONG_BYTES])
{
    return write_state(s, true, text);
}

/* --- lines ----------------------------------------------------------------*/

#define F(name) name ":" BJ_SLURM_SEP ","

enum {
    NAME,
    PARTITION,
    STATE,
    CPUS,
    MEMORY,
    ALLOC_MEMORY,
    FREE_MEMORY,
    GRES,
    GRES_USED,
    FIELDS /* who set the reason, load, weight and reason follow them */
};

const char *const bj_sinfo_argv[] = {
    "sinfo",
    "--local",
    "--all",
    "--noheader",
    "--Node",
    "-O",
    F("NodeList") F("PartitionName") F("StateComplete") F("CPUsState")
        F("Memory") F("AllocMem") F("FreeMem") F("Gres") F("GresUsed") F("User")
            F("CPUsLoad") F("Weight") "Reason:",
    NULL};

static int parse_mib(struct bj_slice s, bool may_lack, uint64_t *ret)
{
    if (may_lack && bj_word_is_none(s)) {
        *ret = BJ_ABSENT;
        return 0;
    }
    return bj_slice_u64(s, ret) < 0 ||
                   __builtin_mul_overflow(*ret, (uint64_t)1 << 20, ret)
               ? -EINVAL
               : 0;
}

/* "0.55" or "N/A", and a number; false: rest is not these. */
static bool parse_load(struct bj_slice *rest, struct bj_sinfo_node *ret)
{
    struct bj_slice behind = *rest, load = {0}, weight = {0};
    uint64_t centi = BJ_ABSENT, number;
    bj_slice_field(&behind, *BJ_SLURM_SEP, &load);
    bj_slice_field(&behind, *BJ_SLURM_SEP, &weight);
    ret->load_centi = ret->weight = BJ_ABSENT;
    if ((!bj_word_is_none(load) && bj_decimal_u64(load, 2, &centi) < 0) ||
        bj_slice_u64(weight, &number) < 0)
        return false;
    ret->load_centi = centi;
    ret->weight = number;
    *rest = behind;
    return true;
}

/* "root" or "Unknown", then load and weight.  Recorded outputs lack the first,
 * or continue with the reason: undo then. */
static void parse_setter(struct bj_slice *rest, struct bj_sinfo_node *ret)
{
    static const struct bj_slice unknown = BJ_WORD("Unknown");
    struct bj_slice behind = *rest, setter = {0};
    if (parse_load(rest, ret))
        return;
    bj_slice_field(&behind, *BJ_SLURM_SEP, &setter);
    if (!parse_load(&behind, ret))
        return;
    setter = bj_slice_trim(setter);
    if (!bj_slice_eq(setter, unknown))
        ret->reason_by = bj_word_text(setter);
    *rest = behind;
}

/* sinfo's idle leaves out CPUs in a state of their own; the sum of the three
 * must not exceed the total. */
static void settle_cpus(struct bj_sinfo_node *n)
{
    if (n->allocated > n->cpus)
        n->allocated = n->cpus;
    if (n->idle > n->cpus - n->allocated)
        n->idle = n->cpus - n->allocated;
    n->other = n->cpus - n->allocated - n->idle;
}

int bj_sinfo_cpus(struct bj_slice text, struct bj_sinfo_node *ret)
{
    uint64_t *const v[] = {&ret->allocated, &ret->idle, &ret->other,
                           &ret->cpus};
    for (int i = 0; i < 4; i++) {
        if (!bj_slice_number(&text, v[i]) ||
            (i < 3 && (text.n == 0 || *text.p != '/')))
            return -EINVAL;
        if (i < 3) {
            text.p++;
            text.n--;
        }
    }
    if (text.n > 0)
        return -EINVAL;
    settle_cpus(ret);
    return 0;
}

int bj_sinfo_parse(struct bj_slice line, struct bj_sinfo_node *ret)
{
    struct bj_slice f[FIELDS];
    for (int i = 0; i < FIELDS; i++) {
        if (line.n == 0 || !memchr(line.p, *BJ_SLURM_SEP, line.n))
            return -EINVAL;
        bj_slice_field(&line, *BJ_SLURM_SEP, &f[i]);
    }
    *ret = (struct bj_sinfo_node){.name = f[NAME],
                                  .partition = f[PARTITION],
                                  .state_text = f[STATE],
                                  .gres = bj_word_text(f[GRES]),
                                  .gres_used = bj_word_text(f[GRES_USED])};
    parse_setter(&line, ret);
    static const struct bj_slice none = BJ_WORD("none");
    if (!bj_slice_eq(line, none))
        ret->reason = bj_word_text(bj_slice_trim(line));
    if (ret->reason.n == 0)
        ret->reason_by = (struct bj_slice){NULL, 0};
    if (ret->partition.n > 0 && ret->partition.p[ret->partition.n - 1] == '*')
        ret->partition.n--;
    if (ret->name.n == 0 || bj_sinfo_cpus(f[CPUS], ret) < 0 ||
        parse_mib(f[MEMORY], false, &ret->mem_bytes) < 0 ||
        parse_mib(f[ALLOC_MEMORY], false, &ret->mem_allocated_bytes) < 0 ||
        parse_mib(f[FREE_MEMORY], true, &ret->mem_free_bytes) < 0)
        return -EINVAL;
    ret->state = bj_node_state_parse(f[STATE], ret->allocated, ret->cpus);
    return 0;
}
