#include "collectd-plugin/dataset.h"

#include "core/view/types.h"

#include <collectd/core/daemon/plugin.h>
#include <math.h>
#include <stdio.h>

struct ensure {
    struct bj_dataset_count count;
    struct bj_err *err;
};

static int ensure_one(void *ctx, const char *name, enum bj_kind kind)
{
    struct ensure *e = ctx;
    int type = kind == BJ_COUNTER ? DS_TYPE_DERIVE : DS_TYPE_GAUGE;
    const data_set_t *known = plugin_get_ds(name);

    if (known && (known->ds_num != 1 || known->ds[0].type != type))
        return bj_err_set(e->err, -EINVAL,
                          "the site's TypesDB defines type %s differently from "
                          "value:%s:0:U; use the types.db of this version",
                          name, DS_TYPE_TO_STRING(type));
    if (known) {
        e->count.known++;
        return 0;
    }
    data_source_t source = {"value", type, 0, NAN};
    data_set_t set = {.ds_num = 1, .ds = &source};
    snprintf(set.type, sizeof(set.type), "%s", name);
    if (plugin_register_data_set(&set) != 0)
        return bj_err_set(e->err, -ENOMEM, "type %s not registered", name);
    e->count.registered++;
    return 0;
}

int bj_dataset_ensure(struct bj_dataset_count *ret, struct bj_err *err)
{
    struct ensure e = {.err = err};
    int r = bj_types_walk(ensure_one, &e);
    if (r < 0)
        return err && err->code ? r : bj_err_set(err, r, "types of values");
    *ret = e.count;
    return 0;
}
