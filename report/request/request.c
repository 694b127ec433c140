#include "report/request/request.h"

#include "report/request/request_impl.h"

/* --- LSF -------------------------------------------------------------------
 */

/* Accounting has the command, but no option of bsub.  The time limit depends on
 * nothing else; slots and memory depend on each other as LSF is configured. */
static void request_lsf(struct bj_request_out *o)
{
    const int64_t sec = o->need->time;
    struct bj_buf b = {0};
    o->ret->line = false;
    if (!bj_request_wants(sec))
        return;
    bj_buf_printf(&b, "-W %lld:%02lld", (long long)(sec / 3600),
                  (long long)(sec % 3600 / 60));
    bj_request_put(o, BJ_REQUEST_TIME, (struct bj_slice){b.p, b.len},
                   (struct bj_slice){0});
    o->arena->failed |= b.failed;
    bj_buf_free(&b);
}

/* --- all -------------------------------------------------------------------
 */

static struct bj_slice request_copy(struct bj_request_out *o, struct bj_buf *b)
{
    const struct bj_slice s = {b->p, b->len};
    o->arena->failed |= b->failed;
    return b->len > 0 ? bj_arena_copy(o->arena, s) : (struct bj_slice){0};
}

static void request_settle(struct bj_request_out *o)
{
    const struct bj_request_need *need = o->need;
    const bool wanted[BJ_REQUEST_PARTS] = {
        [BJ_REQUEST_NODES] = bj_request_wants(need->nodes),
        [BJ_REQUEST_CPUS] = bj_request_wants(need->cpus),
        [BJ_REQUEST_GPUS] = bj_request_wants(need->gpus),
        [BJ_REQUEST_MEMORY] =
            bj_request_wants(need->memory) || bj_request_wants(need->more),
        [BJ_REQUEST_TIME] = bj_request_wants(need->time)};
    struct bj_buf all = {0}, line = {0};
    for (unsigned i = 0; i < BJ_REQUEST_PARTS; i++) {
        struct bj_request_change *c = &o->ret->of[i];
        c->option = request_copy(o, &o->option[i]);
        c->replaces = request_copy(o, &o->replaces[i]);
        c->places = request_copy(o, &o->places[i]);
        c->refused = wanted[i] && o->in[i] == 0;
        c->in = o->in[i] > 0 ? (enum bj_request_part)(o->in[i] - 1) : i;
        if (c->option.n == 0)
            continue;
        line.len = 0;
        /* the submit line overrides the script */
        bj_buf_str(&line, o->ret->script_known && o->on_submit_line[i]
                              ? ""
                              : o->directive);
        bj_buf_slice(&line, c->option);
        c->line = request_copy(o, &line);
        bj_buf_str(&all, all.len > 0 ? " " : "");
        bj_buf_slice(&all, c->option);
    }
    o->ret->all = request_copy(o, &all);
    bj_buf_free(&all);
    bj_buf_free(&line);
}

void bj_request_next(const struct bj_request_job *job,
                     const struct bj_request_need *need, struct bj_arena *arena,
                     struct bj_request *ret)
{
    static const struct {
        const char *name, *directive;
        void (*next)(struct bj_request_out *o);
    } systems[] = {{"slurm", "#SBATCH ", bj_request_slurm},
                   {"pbs", "#PBS ", bj_request_pbs},
                   {"lsf", "#BSUB ", request_lsf}};
    struct bj_request_out o = {
        .job = job, .need = need, .ret = ret, .arena = arena, .directive = ""};
    *ret = (struct bj_request){.line = false, .script = true};
    for (unsigned i = 0; i < sizeof(systems) / sizeof(systems[0]); i++)
        if (bj_slice_eq(job->system, bj_slice_str(systems[i].name))) {
            o.directive = systems[i].directive;
            systems[i].next(&o);
        }
    request_settle(&o);
    for (unsigned i = 0; i < BJ_REQUEST_PARTS; i++) {
        bj_buf_free(&o.option[i]);
        bj_buf_free(&o.replaces[i]);
        bj_buf_free(&o.places[i]);
    }
}
