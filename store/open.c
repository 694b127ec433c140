#include "store/db.h"

#include <stddef.h>

/* The last engine accepts all other URLs, as paths. */
static const struct bj_engine *const engines[] = {
    &bj_engine_postgres,
    &bj_engine_sqlite,
};

int bj_db_open(const struct bj_db_options *opt, struct bj_db **ret,
               struct bj_err *err)
{
    for (size_t i = 0; i < sizeof(engines) / sizeof(engines[0]); i++)
        if (engines[i]->is_for(opt->url))
            return engines[i]->open(opt, ret, err);
    return bj_err_set(err, -EINVAL, "%s: no engine for it", opt->url);
}

static const struct bj_engine *engine_of(const char *url)
{
    size_t i = 0;
    while (!engines[i]->is_for(url))
        i++;
    return engines[i];
}

bool bj_db_is_file(const char *url)
{
    return engine_of(url)->dialect == BJ_DIALECT_SQLITE;
}

const char *bj_db_shown(const char *url)
{
    return bj_db_is_file(url) ? url : engine_of(url)->name;
}
