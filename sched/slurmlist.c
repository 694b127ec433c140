#include "sched/slurmlist.h"

#include "base/absent.h"
#include "sched/value.h"

#include <errno.h>

const char *const bj_licenses_argv[] = {"scontrol", "--oneliner", "show",
                                        "licenses", NULL};
const char *const bj_reservations_argv[] = {"scontrol", "--oneliner", "show",
                                            "reservation", NULL};
const char *const bj_shares_argv[] = {
    "sshare",
    "--all",
    "--noheader",
    "--parsable2",
    "-o",
    "account,user,rawshares,rawusage,normshares,effectvusage,fairshare,"
    "levelfs",
    NULL};
const char *const bj_limits_argv[] = {
    "sacctmgr",
    "--noheader",
    "--parsable2",
    "--readonly",
    "list",
    "associations",
    "format=Cluster,Account,User,Partition,GrpJobs,GrpSubmitJobs,MaxJobs,"
    "MaxSubmitJobs,GrpTRES,MaxTRES",
    NULL};
const char *const bj_slurm_config_argv[] = {"scontrol", "show", "config", NULL};

/* --- "Key=value Key=value" ----------------------------------------------- */

/* The value of a key, up to the next blank; the key comes with a blank before
 * it and '=' after. */
static struct bj_slice slurmlist_value_of(struct bj_slice line,
                                          struct bj_slice key)
{
    const char *at = memmem(line.p, line.n, key.p, key.n);
    if (!at)
        return (struct bj_slice){NULL, 0};
    at += key.n;
    const size_t n = line.n - (size_t)(at - line.p);
    const char *blank = n > 0 ? memchr(at, ' ', n) : NULL;
    return (struct bj_slice){at, blank ? (size_t)(blank - at) : n};
}

static uint64_t slurmlist_number_of(struct bj_slice s)
{
    uint64_t v;
    return bj_slice_u64(s, &v) == 0 ? v : BJ_ABSENT;
}

/* Cut the name at the start of the line: from first up to next. */
static int cut_name(struct bj_slice *line, struct bj_slice first,
                    struct bj_slice next, struct bj_slice *ret)
{
    static const struct bj_slice none = BJ_WORD("No ");
    if (bj_slice_starts(*line, none))
        return -ENOENT;
    if (!bj_slice_starts(*line, first))
        return -EINVAL;
    line->p += first.n;
    line->n -= first.n;
    const char *at = memmem(line->p, line->n, next.p, next.n);
    if (!at || at == line->p)
        return -EINVAL;
    *ret = (struct bj_slice){line->p, (size_t)(at - line->p)};
    line->n -= ret->n;
    line->p = at;
    return 0;
}

int bj_license_parse(struct bj_slice line, struct bj_license *ret)
{
    line = bj_slice_trim(line);
    int r = cut_name(&line, BJ_SLICE("LicenseName="), BJ_SLICE(" Total="),
                     &ret->name);
    if (r < 0)
        return r;
    ret->total =
        slurmlist_number_of(slurmlist_value_of(line, BJ_SLICE(" Total=")));
    ret->used =
        slurmlist_number_of(slurmlist_value_of(line, BJ_SLICE(" Used=")));
    ret->free =
        slurmlist_number_of(slurmlist_value_of(line, BJ_SLICE(" Free=")));
    ret->reserved =
        slurmlist_number_of(slurmlist_value_of(line, BJ_SLICE(" Reserved=")));
    ret->last_consumed = slurmlist_number_of(
        slurmlist_value_of(line, BJ_SLICE(" LastConsumed=")));
    ret->last_deficit = slurmlist_number_of(
        slurmlist_value_of(line, BJ_SLICE(" LastDeficit=")));
    return 0;
}

int bj_reservation_parse(struct bj_slice line, struct bj_reservation *ret)
{
    line = bj_slice_trim(line);
    int r = cut_name(&line, BJ_SLICE("ReservationName="),
                     BJ_SLICE(" StartTime="), &ret->name);
    if (r < 0)
        return r;
    ret->start_sec = ret->end_sec = BJ_ABSENT;
    if (bj_time_slurm(slurmlist_value_of(line, BJ_SLICE(" StartTime=")),
                      &ret->start_sec) < 0 ||
        bj_time_slurm(slurmlist_value_of(line, BJ_SLICE(" EndTime=")),
                      &ret->end_sec) < 0)
        return -EINVAL;
    ret->nodes = bj_word_text(slurmlist_value_of(line, BJ_SLICE(" Nodes=")));
    ret->flags = bj_word_text(slurmlist_value_of(line, BJ_SLICE(" Flags=")));
    ret->state = slurmlist_value_of(line, BJ_SLICE(" State="));
    ret->node_count =
        slurmlist_number_of(slurmlist_value_of(line, BJ_SLICE(" NodeCnt=")));
    ret->core_count =
        slurmlist_number_of(slurmlist_value_of(line, BJ_SLICE(" CoreCnt=")));
    return 0;
}

struct bj_slice bj_slurm_cluster(struct bj_slice text)
{
    static const struct bj_slice key = BJ_WORD("ClusterName");
    struct bj_slice line, name;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &name) || !bj_slice_eq(name, key))
            continue;
        bj_slice_field(&line, '=', &name);
        return bj_word_text(bj_slice_trim(line));
    }
    return (struct bj_slice){NULL, 0};
}

/* --- "a|b|c" --------------------------------------------------------------*/

/* Exactly n fields. */
static int cut_fields(struct bj_slice line, struct bj_slice *f, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *bar = line.n > 0 ? memchr(line.p, '|', line.n) : NULL;
        if ((bar == NULL) != (i + 1 == n))
            return -EINVAL;
        f[i].p = line.p;
        f[i].n = bar ? (size_t)(bar - line.p) : line.n;
        line.p += f[i].n + (bar != NULL);
        line.n -= f[i].n + (bar != NULL);
    }
    return 0;
}

/* "0.031250" in millionths; "inf" and the empty text are absent. */
static uint64_t ppm_of(struct bj_slice s)
{
    uint64_t whole, part = 0;
    if (!bj_slice_number(&s, &whole) || whole > 1000000)
        return BJ_ABSENT;
    if (s.n == 0)
        return whole * 1000000;
    if (*s.p != '.')
        return BJ_ABSENT;
    for (size_t i = 1; i <= 6; i++) {
        const unsigned d = i < s.n ? (unsigned)(unsigned char)s.p[i] - '0' : 0;
        if (d > 9)
            return BJ_ABSENT;
        part = part * 10 + d;
    }
    return whole * 1000000 + part;
}

int bj_share_parse(struct bj_slice line, struct bj_share *ret)
{
    enum { ACCOUNT, USER, SHARES, USAGE, NORM, USED, FAIR, LEVEL, FIELDS };
    struct bj_slice f[FIELDS] = {{0}};
    /* The level is optional: a site's command may print the seven before it. */
    if (cut_fields(line, f, FIELDS) < 0 && cut_fields(line, f, LEVEL) < 0)
        return -EINVAL;
    *ret = (struct bj_share){.account = bj_slice_trim(f[ACCOUNT]),
                             .user = f[USER],
                             .shares = slurmlist_number_of(f[SHARES]),
                             .usage = slurmlist_number_of(f[USAGE]),
                             .norm_ppm = ppm_of(f[NORM]),
                             .used_ppm = ppm_of(f[USED]),
                             .fairshare_ppm = ppm_of(f[FAIR]),
                             .level_ppm = ppm_of(f[LEVEL])};
    return ret->account.n > 0 ? 0 : -EINVAL;
}

int bj_limits_parse(struct bj_slice line, struct bj_limits *ret)
{
    enum {
        CLUSTER,
        ACCOUNT,
        USER,
        PARTITION,
        JOBS,
        SUBMIT,
        MAX_JOBS,
        MAX_SUBMIT,
        GROUP,
        MAX,
        FIELDS
    };
    struct bj_slice f[FIELDS];
    if (cut_fields(line, f, FIELDS) < 0)
        return -EINVAL;
    *ret = (struct bj_limits){.cluster = f[CLUSTER],
                              .account = f[ACCOUNT],
                              .user = f[USER],
                              .partition = f[PARTITION],
                              .jobs = slurmlist_number_of(f[JOBS]),
                              .submit = slurmlist_number_of(f[SUBMIT]),
                              .max_jobs = slurmlist_number_of(f[MAX_JOBS]),
                              .max_submit = slurmlist_number_of(f[MAX_SUBMIT])};
    return ret->account.n > 0 &&
                   bj_tres_parse(f[GROUP], BJ_TRES_REQUESTED, &ret->group) ==
                       0 &&
                   bj_tres_parse(f[MAX], BJ_TRES_REQUESTED, &ret->max) == 0
               ? 0
               : -EINVAL;
}
