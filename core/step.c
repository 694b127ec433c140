#include "core/step.h"

#include "core/internal.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    STEPS_PER_JOB = 8
}; /* steps and tasks followed, for each of limit.jobs */

bool bj_steps_published(const struct bj_conf *conf)
{
    return conf->steps && strcmp(conf->steps, "off") != 0;
}

static bool tasks_published(const struct bj_conf *conf)
{
    return conf->steps && strcmp(conf->steps, "tasks") == 0;
}

static unsigned classify(void *ctx, const char *rel)
{
    const struct bj_track *t = ctx;
    struct bj_path_match m;
    unsigned kind = bj_layout_step(t->layout, rel, &m);
    bool below = tasks_published(t->core->conf) || bj_events_summed(t);
    if ((kind & BJ_PATH_HIT) && !below)
        kind &= ~(unsigned)BJ_PATH_INNER;
    return kind;
}

static void step_free(struct bj_step *s)
{
    if (s->unit)
        bj_unit_fini(s->unit, &s->job->core->pool);
    free(s->unit);
    s->job->core->tracks.steps--;
    free(s);
}

/* The step of that name, or NULL. */
static struct bj_step *find_step(const struct bj_track *t, const char *step)
{
    struct bj_step *s = t->steps.first;
    while (s && (*s->task || strcmp(s->step, step) != 0))
        s = s->next;
    return s;
}

/* Find the directories of a step. */
static void place_step(struct bj_track *t, struct bj_step *s)
{
    const struct bj_cgroup_reader *rd = &t->core->reader;
    for (unsigned h = 0; h < rd->hiers->n; h++) {
        const char *job = t->unit.rel[rd->hiers->v[h].version - 1];
        char path[4096];
        if (!(t->unit.in_hiers & 1u << h))
            continue;
        int n = snprintf(path, sizeof(path), "%s/%s", job, s->rel);
        if (n > 0 && (size_t)n < sizeof(path))
            bj_unit_place(s->unit, rd, h, path);
    }
}

static char *step_put_text(char *at, struct bj_slice s, const char **ret)
{
    if (s.n > 0)
        memcpy(at, s.p, s.n);
    at[s.n] = '\0';
    *ret = at;
    return at + s.n + 1;
}

static struct bj_step *step_new(struct bj_track *t, const char *rel,
                                const struct bj_path_match *m)
{
    size_t n = strlen(rel);
    struct bj_step *s = calloc(1, sizeof(*s) + n + m->step.n + m->task.n + 3);
    struct bj_unit *unit = NULL;
    if (s && bj_steps_published(t->core->conf) &&
        !(unit = malloc(sizeof(*unit)))) {
        free(s);
        return NULL;
    }
    if (!s)
        return NULL;
    if (unit)
        bj_unit_init(unit);
    s->unit = unit;
    s->job = t;
    s->first_usec = t->core->now_usec;
    char *at = step_put_text(s->text, (struct bj_slice){rel, n}, &s->rel);
    at = step_put_text(at, m->step, &s->step);
    step_put_text(at, m->task, &s->task);
    t->core->tracks.steps++;
    return s;
}

static void *appeared(void *ctx, const char *rel, bool again)
{
    struct bj_track *t = ctx;
    struct bj_path_match m;
    if (!(bj_layout_step(t->layout, rel, &m) & BJ_PATH_HIT))
        return NULL;
    if (t->core->tracks.steps >= STEPS_PER_JOB * t->core->conf->max_jobs) {
        t->core->steps_refused += !again;
        return NULL;
    }
    struct bj_step *s = step_new(t, rel, &m);
    if (!s)
        return NULL;
    if (s->unit)
        place_step(t, s);
    bj_events_step_added(t);
    s->next = t->steps.first;
    t->steps.first = s;
    return s;
}

static void lost(void *ctx, void *cookie)
{
    struct bj_track *t = ctx;
    struct bj_step *s = cookie, **at = &t->steps.first;
    bj_events_step_lost(t, s, *s->task ? find_step(t, s->step) : NULL);
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    step_free(s);
}

/* Drop the tree and its steps, and discard their events. */
static void forget_steps(struct bj_track *t)
{
    bj_tree_free(t->steps.tree, false);
    t->steps.tree = NULL;
    while (t->steps.first) {
        struct bj_step *s = t->steps.first;
        t->steps.first = s->next;
        step_free(s);
    }
}

/* The hierarchy with the most complete directories of steps: not all contain
 * the tasks. */
static int best_hier(const struct bj_track *t)
{
    int h = t->unit.ctl[BJ_CTL_MEMORY];
    if (h < 0)
        h = t->unit.ctl[BJ_CTL_CPUACCT];
    for (unsigned k = 0; h < 0 && k < BJ_HIERS; k++)
        if (t->unit.in_hiers & 1u << k)
            h = (int)k;
    return h;
}

static void open_tree(struct bj_track *t, int h)
{
    const struct bj_tree_ops ops = {t, classify, appeared, lost, NULL};
    char path[4096];
    if (bj_unit_path(&t->unit, &t->core->reader, (unsigned)h, "", path,
                     sizeof(path)) < 0)
        return;
    t->steps.hier = (unsigned)h;
    if (bj_tree_new(path, &ops, &t->core->pool, &t->steps.tree) < 0)
        t->steps.tree = NULL;
}

/* Find directories that appeared later: a step gets them one after the other,
 * hierarchy by hierarchy, as its job does. */
static void place_late(struct bj_track *t, struct bj_step *s)
{
    enum { PATIENCE_USEC = 20 * 1000000 };
    const struct bj_cgroup_reader *rd = &t->core->reader;
    const char *rel = s->unit ? s->unit->rel[BJ_CGROUP_V1 - 1] : NULL;
    if (!rel || t->core->now_usec - s->first_usec > PATIENCE_USEC)
        return;
    for (unsigned h = 0; h < rd->hiers->n; h++)
        if (rd->hiers->v[h].version == BJ_CGROUP_V1 &&
            (rd->hiers->v[h].controllers & rd->needed) &&
            (t->unit.in_hiers & 1u << h) && !(s->unit->in_hiers & 1u << h))
            bj_unit_place(s->unit, rd, h, rel);
}

void bj_steps_scan(struct bj_track *t)
{
    int h = best_hier(t);
    if (h < 0)
        return;
    /* A better hierarchy has appeared; the steps have counted no events yet. */
    if (t->steps.tree && (unsigned)h != t->steps.hier)
        forget_steps(t);
    if (!t->steps.tree)
        open_tree(t, h);
    if (!t->steps.tree)
        return;
    for (struct bj_step *s = t->steps.first; s; s = s->next)
        place_late(t, s);
    bj_tree_scan(t->steps.tree, false);
}

void bj_steps_free(struct bj_track *t)
{
    bj_tree_free(t->steps.tree, true);
    t->steps.tree = NULL;
}
