#include "sched/sinfo_long.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define FLAG(name) (1u << BJ_NODE_##name)

/* The marks of flags, by precedence. */
static const struct {
    uint32_t flag;
    char mark;
} marks[] = {
    {FLAG(MAINTENANCE), '$'},      {FLAG(REBOOT_ISSUED), '^'},
    {FLAG(REBOOT_REQUESTED), '@'}, {FLAG(POWERING_UP), '#'},
    {FLAG(POWERING_DOWN), '%'},    {FLAG(POWERED_DOWN), '~'},
    {FLAG(POWER_DOWN), '!'},       {FLAG(NOT_RESPONDING), '*'},
};

static char mark_of(uint32_t flags)
{
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (flags & marks[i].flag)
            return marks[i].mark;
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
    char mark = mark_of(s.flags);
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
