/* Steps and tasks of a job: published when asked for, and on cgroup v1 needed
 * for the job's memory events, which the kernel keeps for each cgroup on its
 * own. */
#include "core/internal.h"

#include <stdlib.h>

static bool wants_steps(const struct bj_conf *conf)
{
    return conf->steps && strcmp(conf->steps, "off") != 0;
}

static bool wants_tasks(const struct bj_conf *conf)
{
    return conf->steps && strcmp(conf->steps, "tasks") == 0;
}

/* v1's memory events are summed over the cgroups of the job. */
static bool sums_events(const struct bj_track *t)
{
    const struct bj_core *c = t->core;
    int h = t->unit.ctl[BJ_CTL_MEMORY];
    return h >= 0 && c->hiers.v[h].version == BJ_CGROUP_V1 &&
           c->conf->collect[BJ_COLLECT_MEMORY] && !c->conf->basic;
}

static unsigned classify(void *ctx, const char *rel)
{
    const struct bj_track *t = ctx;
    struct bj_path_match m;
    unsigned kind = bj_layout_step(t->layout, rel, &m);
    bool below = wants_tasks(t->core->conf) || sums_events(t);
    if ((kind & BJ_PATH_HIT) && !below)
        kind &= ~(unsigned)BJ_PATH_INNER;
    return kind;
}

static void step_free(struct bj_step *s)
{
    bj_unit_fini(&s->unit, &s->job->core->pool);
    s->job->core->tracks.steps--;
    free(s->step);
    free(s->task);
    free(s);
}

/* The step of a task, or the step itself. */
static struct bj_step *find_step(const struct bj_track *t, const char *step)
{
    struct bj_step *s = t->steps;
    while (s && (*s->task || strcmp(s->step, step) != 0))
        s = s->next;
    return s;
}

static void place_step(struct bj_track *t, struct bj_step *s, const char *rel)
{
    const struct bj_reader *rd = &t->core->reader;
    bool all = wants_steps(t->core->conf);
    for (unsigned h = 0; h < rd->hiers->n; h++) {
        const char *job = t->unit.rel[rd->hiers->v[h].version - 1];
        char path[4096];
        if (!(t->unit.there & 1u << h) || (!all && h != t->step_hier) ||
            strlen(job) + strlen(rel) + 2 > sizeof(path))
            continue;
        size_t n = strlen(job);
        memcpy(path, job, n);
        path[n] = '/';
        memcpy(path + n + 1, rel, strlen(rel) + 1);
        bj_unit_place(&s->unit, rd, h, path);
    }
}

static void *appeared(void *ctx, const char *rel, bool again)
{
    struct bj_track *t = ctx;
    struct bj_path_match m;
    if (!(bj_layout_step(t->layout, rel, &m) & BJ_PATH_HIT))
        return NULL;
    if (t->core->tracks.steps >= t->core->conf->max_steps) {
        t->core->steps_refused += !again;
        return NULL;
    }
    struct bj_step *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    t->core->tracks.steps++;
    s->job = t;
    s->first_usec = t->core->now_usec;
    bj_unit_init(&s->unit);
    s->step = strndup(m.step.p, m.step.n);
    s->task = m.task.n ? strndup(m.task.p, m.task.n) : strdup("");
    if (!s->step || !s->task) {
        step_free(s);
        return NULL;
    }
    place_step(t, s, rel);
    s->next = t->steps;
    t->steps = s;
    return s;
}

/* What it has counted stays with the one above. */
static void lost(void *ctx, void *cookie)
{
    struct bj_track *t = ctx;
    struct bj_step *s = cookie, **at = &t->steps;
    struct bj_step *parent = *s->task ? find_step(t, s->step) : NULL;
    uint64_t *heir = parent ? parent->retired : t->retired;
    for (int e = 0; e < BJ_EVENTS; e++)
        heir[e] += s->local[e] + s->retired[e];
    while (*at && *at != s)
        at = &(*at)->next;
    if (*at)
        *at = s->next;
    step_free(s);
}

/* Drop the tree and its steps without keeping what they have counted. */
static void forget_steps(struct bj_track *t)
{
    bj_tree_free(t->step_tree, false);
    t->step_tree = NULL;
    while (t->steps) {
        struct bj_step *s = t->steps;
        t->steps = s->next;
        step_free(s);
    }
}

/* The hierarchy whose directories tell the steps: not all have the tasks. */
static int best_hier(const struct bj_track *t)
{
    int h = t->unit.ctl[BJ_CTL_MEMORY];
    if (h < 0)
        h = t->unit.ctl[BJ_CTL_CPUACCT];
    for (unsigned k = 0; h < 0 && k < BJ_HIERS; k++)
        if (t->unit.there & 1u << k)
            h = (int)k;
    return h;
}

static void open_tree(struct bj_track *t, int h)
{
    const struct bj_tree_ops ops = {t, classify, appeared, lost};
    char path[4096];
    if (bj_unit_path(&t->unit, &t->core->reader, (unsigned)h, "", path,
                     sizeof(path)) < 0)
        return;
    t->step_hier = (unsigned)h;
    if (bj_tree_new(path, &ops, &t->core->pool, &t->step_tree) < 0)
        t->step_tree = NULL;
}

/* The directories of a step appear one after the other, hierarchy by
 * hierarchy, like those of its job. */
static void place_late(struct bj_track *t, struct bj_step *s)
{
    enum { PATIENCE_USEC = 20 * 1000000 };
    const struct bj_reader *rd = &t->core->reader;
    const char *rel = s->unit.rel[BJ_CGROUP_V1 - 1];
    if (!rel || t->core->now_usec - s->first_usec > PATIENCE_USEC ||
        !wants_steps(t->core->conf))
        return;
    for (unsigned h = 0; h < rd->hiers->n; h++)
        if (rd->hiers->v[h].version == BJ_CGROUP_V1 &&
            (rd->hiers->v[h].controllers & rd->needed) &&
            (t->unit.there & 1u << h) && !(s->unit.there & 1u << h))
            bj_unit_place(&s->unit, rd, h, rel);
}

void bj_track_steps(struct bj_track *t)
{
    if (!wants_steps(t->core->conf) && !sums_events(t))
        return;
    int h = best_hier(t);
    if (h < 0)
        return;
    /* A better one has appeared since: nothing has been counted yet. */
    if (t->step_tree && (unsigned)h != t->step_hier)
        forget_steps(t);
    if (!t->step_tree)
        open_tree(t, h);
    if (!t->step_tree)
        return;
    for (struct bj_step *s = t->steps; s; s = s->next)
        place_late(t, s);
    bj_tree_look(t->step_tree, false);
}

void bj_track_steps_free(struct bj_track *t)
{
    bj_tree_free(t->step_tree, true);
    t->step_tree = NULL;
}

/* Read a cgroup's own events into local; absent ones are left alone. */
static void read_local(struct bj_core *core, struct bj_unit *u,
                       uint64_t local[BJ_EVENTS])
{
    const unsigned first = 26; /* behind the files of all collectors */
    u->use.mem_limit_hits = u->use.mem_oom_kills = BJ_ABSENT;
    bj_unit_read(u, &core->reader, bj_memory_event_files, first, BJ_UNIT_JOB);
    if (u->use.mem_limit_hits != BJ_ABSENT)
        local[BJ_EV_HITS] = u->use.mem_limit_hits;
    if (u->use.mem_oom_kills != BJ_ABSENT)
        local[BJ_EV_KILLS] = u->use.mem_oom_kills;
}

static void tell(struct bj_unit *u, const uint64_t sum[BJ_EVENTS], bool kills)
{
    u->use.mem_limit_hits = sum[BJ_EV_HITS];
    u->use.mem_oom_kills = kills ? sum[BJ_EV_KILLS] : BJ_ABSENT;
}

void bj_track_events(struct bj_track *t, bool slow)
{
    struct bj_unit *u = &t->unit;
    /* Nothing can have hit a limit while the peak stands still.  Steps that
     * have ended since are noticed by the look before. */
    if (!sums_events(t) ||
        (!slow && u->use.mem_peak_bytes == t->seen_peak_bytes))
        return;
    t->seen_peak_bytes = u->use.mem_peak_bytes;
    uint64_t sum[BJ_EVENTS] = {0};
    read_local(t->core, u, sum);
    bool kills = u->use.mem_oom_kills != BJ_ABSENT; /* Linux 4.13 and later */
    for (int e = 0; e < BJ_EVENTS; e++)
        sum[e] += t->retired[e];
    for (struct bj_step *s = t->steps; s; s = s->next) {
        read_local(t->core, &s->unit, s->local);
        for (int e = 0; e < BJ_EVENTS; e++)
            sum[e] += s->local[e] + s->retired[e];
        tell(&s->unit, s->local, kills);
    }
    for (struct bj_step *s = t->steps; s; s = s->next) {
        struct bj_step *parent = *s->task ? find_step(t, s->step) : NULL;
        if (!parent)
            continue;
        parent->unit.use.mem_limit_hits += s->local[BJ_EV_HITS];
        if (kills)
            parent->unit.use.mem_oom_kills += s->local[BJ_EV_KILLS];
    }
    for (struct bj_step *s = t->steps; s; s = s->next) {
        s->unit.use.mem_limit_hits += s->retired[BJ_EV_HITS];
        if (kills)
            s->unit.use.mem_oom_kills += s->retired[BJ_EV_KILLS];
    }
    tell(u, sum, kills);
}
