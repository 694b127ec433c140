#include "core/identity.h"

#include "core/find/ident.h"
#include "core/internal.h"

#include <stdlib.h>

#define SECOND 1000000u

/* The first processes of a job are those of the batch system, and a short job
 * may have ended before the next pass: the first requests follow each other
 * within seconds. */
enum { SOON_USEC = 100000, SOON = 6 };

struct bj_identity {
    struct bj_path_fields *path;
    struct bj_ident_request *request; /* at the resolver; NULL: none */
    bool resolved; /* t->ident has more fields than the path */
    unsigned requests, results;
    uint64_t request_usec; /* when the next one is due */
};

/* Fields of a path as an identity has them: clean. */
static struct bj_path_fields *clean_fields(const struct bj_conf *conf,
                                           const struct bj_slice f[])
{
    struct bj_ident *id = bj_ident_new(f, conf);
    struct bj_path_fields *p = id ? bj_path_fields_new(id->f) : NULL;
    bj_ident_unref(id);
    return p;
}

int bj_identity_new(struct bj_track *t, const struct bj_path_match *m)
{
    t->ident = bj_ident_ref(t->core->unknown);
    t->identity = calloc(1, sizeof(*t->identity));
    if (!t->identity)
        return -ENOMEM;
    t->identity->path = clean_fields(t->core->conf, m->f);
    return t->identity->path ? 0 : -ENOMEM;
}

void bj_identity_free(struct bj_track *t)
{
    bj_ident_unref(t->ident);
    t->ident = NULL;
    if (!t->identity)
        return;
    bj_ident_request_drop(t->identity->request);
    free(t->identity->path);
    free(t->identity);
    t->identity = NULL;
}

struct bj_slice bj_identity_path_uid(const struct bj_track *t)
{
    struct bj_slice f[BJ_ID_FIELDS];
    bj_path_fields_get(t->identity->path, f);
    return f[BJ_ID_UID];
}

/* Make the identity of t from these fields.  False without memory; the identity
 * is then unchanged. */
static bool set_fields(struct bj_track *t, const struct bj_slice f[])
{
    struct bj_ident *id = bj_ident_new(f, t->core->conf);
    if (!id)
        return false;
    id->n = t->ident->n;
    bj_ident_unref(t->ident);
    t->ident = id;
    return true;
}

void bj_identity_learn(struct bj_track *t, const struct bj_path_match *m)
{
    struct bj_slice f[BJ_ID_FIELDS];
    bool more = false;
    bj_path_fields_get(t->identity->path, f);
    for (int i = 0; i < BJ_ID_FIELDS; i++) {
        if (f[i].n > 0 || m->f[i].n == 0)
            continue;
        f[i] = m->f[i];
        more = true;
    }
    struct bj_path_fields *p = more ? clean_fields(t->core->conf, f) : NULL;
    if (!p)
        return;
    if (!t->identity->resolved)
        set_fields(t, f);
    free(t->identity->path);
    t->identity->path = p;
}

static void submit(struct bj_track *t)
{
    struct bj_core *core = t->core;
    struct bj_identity *i = t->identity;
    struct bj_ident_query q = {0};
    char paths[4][4096];
    size_t n = 0;
    bj_path_fields_get(i->path, q.f);
    for (unsigned h = 0; h < core->hiers.n && n < 4; h++)
        if ((t->unit.in_hiers & 1u << h) &&
            bj_unit_path(&t->unit, &core->reader, h, "", paths[n],
                         sizeof(paths[n])) == 0) {
            q.dirs[n] = bj_slice_str(paths[n]);
            n++;
        }
    i->request = bj_resolver_submit(core->resolver, &q);
    /* An incomplete identity is requested again, less and less often. */
    unsigned wait = i->requests < SOON + 8 ? i->requests : SOON + 8;
    i->requests++;
    i->request_usec =
        core->now_usec + (wait < SOON ? (uint64_t)SOON_USEC << wait
                                      : (uint64_t)SECOND << (wait - SOON));
}

/* Submit a request for t to the resolver, if one is due. */
static void identity_request(struct bj_track *t)
{
    if (bj_track_live(t) && t->life.born && !t->identity->request &&
        !t->ident->complete && t->core->now_usec >= t->identity->request_usec)
        submit(t);
}

static void drop_request(struct bj_track *t)
{
    bj_ident_request_drop(t->identity->request);
    t->identity->request = NULL;
}

static size_t known_fields(const struct bj_slice f[BJ_ID_FIELDS])
{
    size_t n = 0;
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        n += f[i].n > 0;
    return n;
}

/* Take the result when it has more fields than are known. */
static void take_result(struct bj_track *t)
{
    struct bj_identity *i = t->identity;
    struct bj_ident *id =
        i->request ? bj_ident_request_result(i->request) : NULL;
    if (!id)
        return;
    drop_request(t);
    i->results++;
    struct bj_slice path[BJ_ID_FIELDS];
    bj_path_fields_get(i->path, path);
    size_t n = known_fields(id->f);
    if (id->complete ||
        (n >= known_fields(t->ident->f) && n >= known_fields(path))) {
        bj_ident_unref(t->ident);
        t->ident = id;
        i->resolved = true;
    } else {
        bj_ident_unref(id);
    }
}

/* A short job may have ended before a second pass. */
void bj_identity_changed(struct bj_track *t)
{
    enum { AT_ONCE = 4 };
    struct bj_identity *i = t->identity;
    take_result(t);
    if (i->requests < AT_ONCE && i->request_usec > t->core->now_usec)
        i->request_usec = t->core->now_usec;
    identity_request(t);
}

bool bj_identity_hurry(struct bj_track *t)
{
    if (!bj_track_live(t) || !t->life.born || t->ident->complete ||
        t->identity->requests > SOON)
        return false;
    take_result(t);
    identity_request(t);
    return !t->ident->complete;
}

bool bj_identity_waits(const struct bj_track *t)
{
    enum { WAIT_SEC = 5 };
    return t->identity->request &&
           t->core->now_usec < t->life.end_usec + WAIT_SEC * SECOND;
}

/* The resolver has not responded for long, and may never respond. */
static bool hangs(const struct bj_track *t)
{
    enum { PATIENCE_SEC = 30 };
    const struct bj_identity *i = t->identity;
    return i->request &&
           t->core->now_usec >= i->request_usec + PATIENCE_SEC * SECOND;
}

/* Until there is a result, the identity consists of the fields of the path.  If
 * the resolver has not found the job id after some tries, the SLUID or the name
 * of the slot is used as the id. */
static void use_path(struct bj_track *t)
{
    enum { TRIES = SOON + 1 };
    struct bj_identity *i = t->identity;
    struct bj_slice f[BJ_ID_FIELDS];
    if (t->ident == t->core->unknown) {
        bj_path_fields_get(i->path, f);
        set_fields(t, f);
    }
    if (t->ident->f[BJ_ID_JOBID].n > 0 || (i->results < TRIES && !hangs(t)))
        return;
    memcpy(f, t->ident->f, sizeof(f));
    f[BJ_ID_JOBID] = bj_slice_str(t->id);
    i->resolved |= set_fields(t, f);
}

void bj_core_identify(struct bj_core *core)
{
    uint64_t begun = bj_clock_boot_usec();
    bool waits = false;
    for (size_t k = 0; k < core->tracks.n; k++) {
        struct bj_track *t = core->tracks.v[k];
        const struct bj_identity *i = t->identity;
        identity_request(t);
        waits |= (i->request && i->requests == 1) ||
                 (!bj_track_live(t) && bj_identity_waits(t));
    }
    if (waits)
        bj_resolver_wait(core->resolver, begun + core->conf->ident_wait_usec);
    for (size_t k = 0; k < core->tracks.n; k++) {
        take_result(core->tracks.v[k]);
        use_path(core->tracks.v[k]);
    }
    struct bj_resolver_stat st;
    struct bj_err err = {0};
    bj_resolver_stat(core->resolver, &st);
    bj_resolver_fault(core->resolver, &err);
    bj_core_run_done(core, BJ_RUN_IDENT, begun, st.faults - core->ident_faults,
                     &err);
    core->ident_faults = st.faults;
}
