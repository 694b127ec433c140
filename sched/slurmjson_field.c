#include "sched/slurmjson_priv.h"

#include <errno.h>

int bj_slurmjson_fields(struct bj_slurmjson *j, const struct bj_json *v,
                        const struct bj_slurmjson_field *f, size_t n,
                        void *record)
{
    int bad = 0;
    for (const struct bj_slurmjson_field *end = f + n; f < end; f++) {
        const struct bj_json *value = bj_json_path(v, f->path);
        int r = value ? f->parse(value, &j->arena, (char *)record + f->at) : 0;
        if (r == -ENOMEM)
            return r;
        if (r < 0)
            bad = -EINVAL;
    }
    return bad;
}

int bj_slurmjson_raw(const struct bj_json *v, struct bj_arena *a, void *to)
{
    (void)a;
    const struct bj_slice s = bj_json_text(v);
    if (s.n > 0)
        *(struct bj_slice *)to = s;
    return 0;
}

int bj_slurmjson_name(struct bj_slurmjson *j, struct bj_slice name)
{
    if (j->named || name.n == 0 || !j->conf.cluster)
        return 0;
    j->named = true;
    return j->conf.cluster(j->conf.ctx, name);
}
