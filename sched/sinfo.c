#include "sched/sinfo.h"

#include "base/absent.h"
#include "base/json.h"
#include "sched/squeue.h"
#include "sched/word.h"

#include <errno.h>
#include <stdbool.h>

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
    FIELDS /* load, weight and reason follow them */
};

const char *const bj_sinfo_argv[] = {
    "sinfo",
    "--local",
    "--all",
    "--noheader",
    "--Node",
    "-O",
    F("NodeList") F("PartitionName") F("StateComplete") F("CPUsState")
        F("Memory") F("AllocMem") F("FreeMem") F("Gres") F("GresUsed")
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

/* "0.55" or "N/A", and a number.  Recorded outputs without them continue with
 * the reason: undo then. */
static void parse_load(struct bj_slice *rest, struct bj_sinfo_node *ret)
{
    struct bj_slice behind = *rest, load = {0}, weight = {0};
    uint64_t centi = BJ_ABSENT, number;
    bj_slice_field(&behind, *BJ_SLURM_SEP, &load);
    bj_slice_field(&behind, *BJ_SLURM_SEP, &weight);
    ret->load_centi = ret->weight = BJ_ABSENT;
    if ((!bj_word_is_none(load) && bj_decimal_u64(load, 2, &centi) < 0) ||
        bj_slice_u64(weight, &number) < 0)
        return;
    ret->load_centi = centi;
    ret->weight = number;
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
    parse_load(&line, ret);
    static const struct bj_slice none = BJ_WORD("none");
    if (!bj_slice_eq(line, none))
        ret->reason = bj_word_text(bj_slice_trim(line));
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
