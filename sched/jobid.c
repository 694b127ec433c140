#include "sched/jobid.h"

#include "base/absent.h"

#include <errno.h>

static bool cut_char(struct bj_slice *s, char c)
{
    if (s->n == 0 || s->p[0] != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

static bool jobid_cut_number(struct bj_slice *s, uint64_t *ret)
{
    uint64_t v;
    if (!bj_slice_number(s, &v) || v > INT64_MAX)
        return false;
    *ret = v;
    return true;
}

/* Names of steps, servers and clusters. */
static bool jobid_is_name(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        const unsigned char c = (unsigned char)s.p[i];
        const bool letter = (c | 32) >= 'a' && (c | 32) <= 'z';
        if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-' &&
            c != '.' && c != ':')
            return false;
    }
    return s.n > 0;
}

/* Cut "[...]" and return the inside. */
static bool cut_tasks(struct bj_slice *s, struct bj_jobid *id)
{
    const char *end = memchr(s->p, ']', s->n);
    if (!cut_char(s, '[') || !end)
        return false;
    const struct bj_slice inside = {s->p, (size_t)(end - s->p)};
    for (size_t i = 0; i < inside.n; i++)
        if (!memchr("0123456789-,%:.", inside.p[i], 15))
            return false;
    s->n -= inside.n + 1;
    s->p = end + 1;
    id->array = true;
    id->tasks = inside;
    return true;
}

static void jobid_begin(struct bj_jobid *id, struct bj_slice s)
{
    *id = (struct bj_jobid){.number = BJ_ABSENT,
                            .task = BJ_ABSENT,
                            .offset = BJ_ABSENT,
                            .without_step = s};
}

/* The part after the job: ".0", ".batch", ".0+1". */
static int slurm_step(struct bj_slice s, struct bj_jobid *id)
{
    uint64_t component;
    id->without_step.n -= s.n;
    if (!cut_char(&s, '.'))
        return -EINVAL;
    const char *plus = memchr(s.p, '+', s.n);
    if (plus) {
        struct bj_slice behind = {plus + 1, s.n - (size_t)(plus - s.p) - 1};
        if (!jobid_cut_number(&behind, &component) || behind.n > 0)
            return -EINVAL;
        s.n = (size_t)(plus - s.p);
    }
    id->step = s;
    return jobid_is_name(s) ? 0 : -EINVAL;
}

int bj_jobid_slurm(struct bj_slice s, struct bj_jobid *ret)
{
    struct bj_jobid id;
    jobid_begin(&id, s);
    if (!jobid_cut_number(&s, &id.number))
        return -EINVAL;
    if (cut_char(&s, '_')) {
        if (s.n > 0 && s.p[0] == '[') {
            /* not split yet, even with one task left */
            if (!cut_tasks(&s, &id))
                return -EINVAL;
        } else if (!jobid_cut_number(&s, &id.task)) {
            return -EINVAL;
        }
        id.array = true;
    } else if (cut_char(&s, '+') && !jobid_cut_number(&s, &id.offset)) {
        return -EINVAL;
    }
    if (s.n > 0 && slurm_step(s, &id) < 0)
        return -EINVAL;
    *ret = id;
    return 0;
}

int bj_jobid_pbs(struct bj_slice s, struct bj_jobid *ret)
{
    struct bj_jobid id;
    jobid_begin(&id, s);
    if (!jobid_cut_number(&s, &id.number))
        return -EINVAL;
    if (s.n > 0 && s.p[0] == '[' && !cut_tasks(&s, &id))
        return -EINVAL;
    if (bj_slice_u64(id.tasks, &id.task) == 0)
        id.tasks = (struct bj_slice){NULL, 0};
    if (id.task != BJ_ABSENT && id.task > INT64_MAX)
        return -EINVAL;
    if (s.n > 0) {
        if (!cut_char(&s, '.') || !jobid_is_name(s))
            return -EINVAL;
        id.server = s;
    }
    *ret = id;
    return 0;
}
