/* Asking who the jobs are, and taking the answers. */
#include "core/internal.h"

#define SECOND 1000000u

static void ask(struct bj_track *t)
{
    struct bj_core *core = t->core;
    struct bj_ident_query q = {0};
    char paths[4][4096];
    size_t n = 0;
    bj_told_fields(t->told, q.f);
    for (unsigned h = 0; h < core->hiers.n && n < 4; h++)
        if ((t->unit.there & 1u << h) &&
            bj_unit_path(&t->unit, &core->reader, h, "", paths[n],
                         sizeof(paths[n])) == 0) {
            q.dirs[n] = bj_slice_str(paths[n]);
            n++;
        }
    t->ask = bj_resolver_ask(core->resolver, &q);
    /* What is not known yet is asked again, less and less often. */
    unsigned wait = t->asked < 8 ? t->asked : 8;
    t->asked++;
    t->ask_usec = core->now_usec + ((uint64_t)SECOND << wait);
}

static size_t known_fields(const struct bj_slice f[BJ_ID_FIELDS])
{
    size_t n = 0;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        n += f[i].n > 0;
    return n;
}

/* Take the answer when it tells more than is known. */
static void take_answer(struct bj_track *t)
{
    struct bj_ident *id = t->ask ? bj_ident_ask_answer(t->ask) : NULL;
    if (!id)
        return;
    bj_ident_ask_drop(t->ask);
    t->ask = NULL;
    t->answered++;
    struct bj_slice told[BJ_ID_FIELDS];
    bj_told_fields(t->told, told);
    size_t n = known_fields(id->f);
    if (id->complete ||
        (n >= known_fields(t->ident->f) && n >= known_fields(told))) {
        bj_ident_unref(t->ident);
        t->ident = id;
        t->found = true;
    } else {
        bj_ident_unref(id);
    }
}

/* Whoever was asked is stuck, and may be for ever. */
static bool hangs(const struct bj_track *t)
{
    enum { PATIENCE_SEC = 30 };
    return t->ask && t->core->now_usec >= t->ask_usec + PATIENCE_SEC * SECOND;
}

/* Until there is an answer the path tells who it is.  A SLUID or the name of
 * the slot stands for the id of a job that nobody can tell, once it has been
 * asked for a while. */
static void make_do(struct bj_track *t)
{
    enum { TRIES = 4 };
    struct bj_slice f[BJ_ID_FIELDS];
    if (t->ident == t->core->nobody) {
        bj_told_fields(t->told, f);
        bj_track_name(t, f);
    }
    if (t->ident->f[BJ_ID_JOBID].n > 0 || (t->answered < TRIES && !hangs(t)))
        return;
    memcpy(f, t->ident->f, sizeof(f));
    f[BJ_ID_JOBID] = bj_slice_str(t->id);
    t->found |= bj_track_name(t, f);
}

void bj_core_identify(struct bj_core *core)
{
    uint64_t begun = bj_clock_boot_usec();
    bool waits = false;
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        if (bj_track_live(t) && t->born && !t->ask && !t->ident->complete &&
            core->now_usec >= t->ask_usec)
            ask(t);
        waits |= t->ask && t->asked == 1;
    }
    if (waits)
        bj_resolver_wait(core->resolver, begun + core->conf->ident_wait_usec);
    for (size_t k = 0; k < core->tracks.n; k++) {
        take_answer(core->tracks.v[k]);
        make_do(core->tracks.v[k]);
    }
    struct bj_resolver_stat st;
    struct bj_err err = {0};
    bj_resolver_stat(core->resolver, &st);
    bj_resolver_fault(core->resolver, &err);
    bj_core_ran(core, BJ_RUN_IDENT, begun, st.faults - core->ident_faults,
                &err);
    core->ident_faults = st.faults;
}
