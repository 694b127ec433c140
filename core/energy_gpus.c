#include "core/energy_gpus.h"

#include "core/energy/energy.h"
#include "core/gpu/gpus.h"
#include "core/internal.h"

static struct bj_account *account_of(const struct bj_track *t)
{
    return t->energy ? t->energy->account : NULL;
}

static struct bj_slice energy_gpus_key_of(const struct bj_track *t)
{
    const struct bj_account *a = account_of(t);
    return a ? bj_account_key(a) : (struct bj_slice){NULL, 0};
}

/* Add the energy of a job's GPUs to its account, also after its end. */
static void give(struct bj_core *core, struct bj_track *t)
{
    struct bj_account *a = account_of(t);
    if (a && t->energy->opened)
        bj_gpus_resume(core->gpus, t, bj_account_key(a));
    if (a && t->energy->closed)
        bj_account_linger(a, bj_gpus_energy_due(core->gpus, t, core->now_usec));
    uint64_t uj = bj_gpus_take(core->gpus, t);
    if (a)
        bj_account_gpu(a, uj);
}

/* Energy that GPUs counted before their own total was used is included in that
 * of a meter, or unknown: no job gets it. */
static uint64_t give_all(struct bj_core *core)
{
    if (!bj_energy_gpus_counted(core->energy))
        bj_gpus_discard(core->gpus);
    for (size_t k = 0; k < core->tracks.n; k++)
        give(core, core->tracks.v[k]);
    return bj_gpus_energy(core->gpus);
}

static void write_state(struct bj_core *core)
{
    struct bj_buf lines = {0};
    if (core->gpus)
        bj_gpus_save(core->gpus, energy_gpus_key_of, &lines);
    bj_energy_write(core->energy, &lines);
    bj_buf_free(&lines);
}

int bj_energy_gpus_tick(struct bj_core *core)
{
    struct bj_slice extra;
    int r = bj_energy_accounts(core->energy, core, &extra);
    if (r < 0)
        return r;
    if (core->gpus && extra.n > 0)
        bj_gpus_load(core->gpus, extra);
    bj_copies_begin(&core->copies);
    bj_energy_tick(core->energy, core, core->gpus ? give_all(core) : BJ_ABSENT,
                   core->gpus && bj_gpus_held(core->gpus));
    if (core->gpus)
        bj_gpus_copy(core->gpus);
    write_state(core);
    return 0;
}

void bj_energy_gpus_finish(struct bj_core *core)
{
    struct bj_slice extra;
    if (bj_energy_ticked(core->energy) &&
        bj_energy_accounts(core->energy, core, &extra) == 0)
        write_state(core);
}

struct bj_account *bj_energy_gpus_orphan(struct bj_core *core,
                                         struct bj_slice *ret_key,
                                         uint64_t *ret_seen_sec)
{
    return bj_energy_orphan(core->energy, core->now_usec, ret_key,
                            ret_seen_sec);
}

void bj_energy_gpus_forget(struct bj_core *core, struct bj_account *a,
                           struct bj_slice key)
{
    if (core->gpus)
        bj_gpus_forget(core->gpus, key);
    bj_energy_forget(core->energy, a);
}
