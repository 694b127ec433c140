#include "core/gpu/health.h"

#include "core/model/record.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

const char *const bj_gpu_states[BJ_GPU_STATES] = {
    "ok",        "application", "degraded", "drain_later",
    "drain_now", "reset",       "lost"};

/* --- Xid errors ------------------------------------------------------------*/

/* Source: NVIDIA, "XID Errors" (docs.nvidia.com/deploy/xid-errors). */
static const struct {
    unsigned short xid;
    unsigned char state;
} xids[] = {
    {8, BJ_GPU_RESET}, /* the GPU stopped processing */
    {13, BJ_GPU_APPLICATION},
    {31, BJ_GPU_APPLICATION}, /* page fault of a program */
    {32, BJ_GPU_APPLICATION},
    {38, BJ_GPU_RESET},
    {43, BJ_GPU_APPLICATION},
    {45, BJ_GPU_APPLICATION},
    {48, BJ_GPU_DRAIN_LATER}, /* uncorrectable memory error */
    {61, BJ_GPU_RESET},
    {62, BJ_GPU_RESET},
    {63, BJ_GPU_DRAIN_LATER}, /* a row is remapped at the next reset */
    {64, BJ_GPU_DRAIN_NOW},   /* ... which has failed */
    {65, BJ_GPU_RESET},
    {68, BJ_GPU_APPLICATION},
    {69, BJ_GPU_APPLICATION},
    {74, BJ_GPU_RESET}, /* NVLink */
    {79, BJ_GPU_LOST},  /* fallen off the bus */
    {92, BJ_GPU_DEGRADED},
    {94, BJ_GPU_DRAIN_LATER}, /* contained memory error */
    {95, BJ_GPU_DRAIN_NOW},   /* uncontained */
    {109, BJ_GPU_APPLICATION},
    {110, BJ_GPU_LOST},
    {119, BJ_GPU_LOST}, /* the GPU's system processor does not answer */
    {120, BJ_GPU_LOST},
    {137, BJ_GPU_RESET},
    {140, BJ_GPU_DRAIN_NOW},
    {144, BJ_GPU_RESET},
    {145, BJ_GPU_RESET},
    {146, BJ_GPU_RESET},
    {147, BJ_GPU_RESET},
    {148, BJ_GPU_RESET},
    {149, BJ_GPU_RESET},
    {150, BJ_GPU_RESET},
    {154, BJ_GPU_OK}, /* repeats what to do about another one */
    {171, BJ_GPU_DRAIN_NOW},
    {172, BJ_GPU_DRAIN_NOW},
};

static int take_rule(struct bj_slice line, struct bj_gpu_xid_rules *ret)
{
    struct bj_slice number, state, more;
    uint64_t xid;
    if (!bj_slice_word(&line, &number))
        return 0;
    if (bj_slice_u64(number, &xid) < 0 || xid >= BJ_GPU_XID_MAX ||
        !bj_slice_word(&line, &state) || bj_slice_word(&line, &more))
        return -EINVAL;
    for (unsigned char s = 0; s < BJ_GPU_STATES; s++)
        if (bj_slice_eq(state, bj_slice_str(bj_gpu_states[s]))) {
            ret->state[xid] = s;
            ret->known[xid] = true;
            return 0;
        }
    return -EINVAL;
}

int bj_gpu_xid_rules_parse(struct bj_slice text, struct bj_gpu_xid_rules *ret,
                           struct bj_err *err)
{
    struct bj_slice line, rule;
    *ret = (struct bj_gpu_xid_rules){.state = {0}};
    for (size_t i = 0; i < sizeof(xids) / sizeof(xids[0]); i++) {
        ret->state[xids[i].xid] = xids[i].state;
        ret->known[xids[i].xid] = true;
    }
    for (unsigned n = 1; bj_slice_line(&text, &line); n++)
        if (bj_slice_field(&line, '#', &rule) && take_rule(rule, ret) < 0)
            return bj_err_set(err, -EINVAL,
                              "line %u: it is not \"XID STATE\", with a number "
                              "below %d and one of ok, application, degraded, "
                              "drain_later, drain_now, reset, lost",
                              n, BJ_GPU_XID_MAX);
    return 0;
}

enum bj_gpu_state bj_gpu_xid_state(const struct bj_gpu_xid_rules *rules,
                                   uint64_t xid)
{
    if (xid >= BJ_GPU_XID_MAX || !rules->known[xid])
        return BJ_GPU_DEGRADED;
    return (enum bj_gpu_state)rules->state[xid];
}

enum bj_gpu_state bj_gpu_recovery_state(uint64_t action)
{
    static const unsigned char states[] = {
        BJ_GPU_OK,          BJ_GPU_RESET, /* reset */
        BJ_GPU_LOST,                      /* reboot of the node */
        BJ_GPU_DRAIN_LATER,               /* no more peer access */
        BJ_GPU_DRAIN_LATER,               /* reset when no job is left */
        BJ_GPU_DEGRADED};                 /* recover the IMEX domain */
    return action < sizeof(states) ? (enum bj_gpu_state)states[action]
                                   : BJ_GPU_DEGRADED;
}

/* --- error counts of AMD ---------------------------------------------------*/

static void ras_sum(uint64_t *sum, uint64_t n)
{
    const uint64_t before = *sum == BJ_ABSENT ? 0 : *sum;
    if (n < BJ_ABSENT - before)
        *sum = before + n;
}

void bj_gpu_ras_add(struct bj_slice text, uint64_t *corrected,
                    uint64_t *uncorrected)
{
    struct bj_slice line, key, word;
    uint64_t ce = BJ_ABSENT, ue = BJ_ABSENT;
    while (bj_slice_line(&text, &line)) {
        uint64_t *to = NULL;
        if (!bj_slice_field(&line, ':', &key))
            continue;
        if (bj_slice_eq(key, BJ_SLICE("ce")))
            to = &ce;
        else if (bj_slice_eq(key, BJ_SLICE("ue")))
            to = &ue;
        if (to && bj_slice_word(&line, &word) && bj_slice_u64(word, to) < 0)
            *to = BJ_ABSENT;
    }
    if (ce == BJ_ABSENT || ue == BJ_ABSENT)
        return;
    ras_sum(corrected, ce);
    ras_sum(uncorrected, ue);
}

/* --- the kernel's log ------------------------------------------------------*/

static bool skip(struct bj_slice *s, struct bj_slice prefix)
{
    if (!bj_slice_starts(*s, prefix))
        return false;
    s->p += prefix.n;
    s->n -= prefix.n;
    return true;
}

/* "0000:65:00" in any case, at most eight digits of the domain. */
static bool take_address(struct bj_slice text, char ret[16])
{
    unsigned colons = 0, digits = 0;
    if (text.n < 7 || text.n > 14)
        return false;
    for (size_t i = 0; i < text.n; i++) {
        const unsigned char c = (unsigned char)text.p[i];
        if (c == ':') {
            if (digits < 1 || digits > (colons == 0 ? 8u : 2u))
                return false;
            colons++;
            digits = 0;
        } else if (isxdigit(c)) {
            digits++;
        } else {
            return false;
        }
        ret[i] = (char)tolower(c);
    }
    ret[text.n] = '\0';
    if (colons != 2 || digits != 2)
        return false;
    /* The domain has four digits, if they are enough. */
    size_t extra = 0;
    while (text.n - extra > strlen("0000:65:00") && ret[extra] == '0')
        extra++;
    memmove(ret, ret + extra, text.n - extra + 1);
    return true;
}

/* The text behind "NVRM: Xid (PCI:": "0000:65:00): 43, pid=7, name=x, ...".
 * What follows the pid is text of a program and is not read. */
static bool take_xid(struct bj_slice text, struct bj_gpu_log_xid *ret)
{
    struct bj_slice place, address;
    uint64_t number;
    /* With MIG there may be an instance: "0000:65:00 GPU-I:05". */
    if (!bj_slice_field(&text, ')', &place) ||
        !bj_slice_field(&place, ' ', &address) ||
        !take_address(address, ret->pci))
        return false;
    if (!skip(&text, BJ_SLICE(": ")) || !bj_slice_number(&text, &number) ||
        number > UINT32_MAX || (text.n > 0 && text.p[0] != ','))
        return false;
    ret->xid = (uint32_t)number;
    ret->pid = 0;
    if (skip(&text, BJ_SLICE(", pid=")) && bj_slice_number(&text, &number) &&
        number <= INT32_MAX && (text.n == 0 || text.p[0] == ','))
        ret->pid = (uint32_t)number;
    return true;
}

bool bj_gpu_log_parse(struct bj_slice record, struct bj_gpu_log_xid *ret)
{
    struct bj_slice line, head, field;
    uint64_t priority, usec;
    /* PRIORITY,SEQUENCE,MICROSECONDS,FLAGS[,...];TEXT, then lines of keys */
    if (!bj_slice_line(&record, &line) || !bj_slice_field(&line, ';', &head) ||
        !bj_slice_field(&head, ',', &field) ||
        bj_slice_u64(field, &priority) < 0 ||
        !bj_slice_field(&head, ',', &field) ||
        !bj_slice_field(&head, ',', &field) || bj_slice_u64(field, &usec) < 0)
        return false;
    /* Facility 0 is the kernel; programs that write to /dev/kmsg cannot have
     * it. */
    if (priority >> 3 != 0 || !skip(&line, BJ_SLICE("NVRM: Xid (PCI:")))
        return false;
    ret->boot_usec = usec;
    return take_xid(line, ret);
}

bool bj_gpu_log_sequence(struct bj_slice record, uint64_t *ret)
{
    struct bj_slice field;
    return bj_slice_field(&record, ',', &field) &&
           bj_slice_field(&record, ',', &field) &&
           bj_slice_u64(field, ret) == 0;
}
