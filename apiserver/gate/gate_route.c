#include "apiserver/gate/gate_route.h"

#include <errno.h>

/* The servers that may be chosen. */
struct fit {
    struct bj_gate_upstream *const *v;
    unsigned n;
    bool eligible[BJ_GATE_SERVERS];
};

static uint64_t retention_of(const struct fit *f, unsigned i)
{
    return bj_gate_server_retention(f->v[i]->conf);
}

/* Select the servers that cover the time; if there are none, those with the
 * longest retention. */
static void find_covering(struct fit *f, const struct bj_gate_need *need)
{
    uint64_t longest = 0;
    bool any = false;
    for (unsigned i = 0; i < f->n; i++) {
        f->eligible[i] =
            bj_gate_server_covers(f->v[i]->conf, need->span, need->now_ms);
        any = any || f->eligible[i];
        longest = retention_of(f, i) > longest ? retention_of(f, i) : longest;
    }
    for (unsigned i = 0; !any && i < f->n; i++)
        f->eligible[i] = retention_of(f, i) == longest;
}

/* Leave out servers that are down, unless all are down. */
static void leave_out_down(struct fit *f, const struct bj_gate_need *need)
{
    bool any = need->failed != NULL;
    for (unsigned i = 0; i < f->n; i++) {
        f->eligible[i] = f->eligible[i] && f->v[i] != need->failed;
        any = any || (f->eligible[i] && f->v[i]->up);
    }
    for (unsigned i = 0; any && i < f->n; i++)
        f->eligible[i] = f->eligible[i] && f->v[i]->up;
}

static bool is_better(const struct bj_gate_upstream *a,
                      const struct bj_gate_upstream *b)
{
    return a->running < b->running ||
           (a->running == b->running && a->last_use < b->last_use);
}

int bj_gate_route(struct bj_gate_upstream *const *v, unsigned n,
                  const struct bj_gate_need *need)
{
    struct fit f = {.v = v, .n = n};
    uint64_t least = UINT64_MAX;
    int best = -ENOENT;
    find_covering(&f, need);
    leave_out_down(&f, need);
    for (unsigned i = 0; i < n; i++)
        if (f.eligible[i] && retention_of(&f, i) < least)
            least = retention_of(&f, i);
    for (unsigned i = 0; i < n; i++) {
        if (!f.eligible[i] || retention_of(&f, i) != least)
            continue;
        if (v[i]->running >= v[i]->conf->queries ||
            v[i]->user_running >= need->own_max)
            best = best == -ENOENT ? -EAGAIN : best;
        else if (best < 0 || is_better(v[i], v[best]))
            best = (int)i;
    }
    return best;
}
