#include "apiserver/frame/texts.h"

#include "apiserver/frame/state.h"
#include "base/local.h"
#include "statsdb/tables/site_zone.h"

#include <stdlib.h>

struct bj_texts {
    unsigned refs; /* atomic */
    uint64_t version;
    struct bj_locals locals;
    struct bj_tz *tz;
    struct bj_levels levels[BJ_LEVELS_COUNT];
};

static _Thread_local const struct bj_levels *used;

struct bj_texts *bj_texts_ref(struct bj_texts *t)
{
    if (t)
        __atomic_add_fetch(&t->refs, 1, __ATOMIC_RELAXED);
    return t;
}

void bj_texts_unref(struct bj_texts *t)
{
    if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) > 0)
        return;
    bj_locals_free(&t->locals);
    bj_tz_free(t->tz);
    free(t);
}

void bj_texts_use(const struct bj_texts *t)
{
    bj_locals_use(t ? &t->locals : NULL);
    bj_tz_use(t ? t->tz : NULL);
    used = t ? t->levels : NULL;
}

const struct bj_levels *bj_texts_levels(enum bj_level_of of)
{
    return used ? &used[of] : NULL;
}

int bj_texts_read(struct bj_api_worker *a, struct bj_reader *r,
                  struct bj_err *err)
{
    if (a->texts && a->texts->version == bj_reader_version(r))
        return 0;
    struct bj_texts *t = calloc(1, sizeof(*t));
    if (!t)
        return bj_err_set(err, -ENOMEM, "texts");
    t->refs = 1;
    t->version = bj_reader_version(r);
    int code = bj_catalogue_locals(bj_reader_db(r), &t->locals, err);
    if (code == 0)
        code = bj_catalogue_levels(bj_reader_db(r), t->levels, err);
    if (code == 0)
        code = bj_site_zone_read(bj_reader_db(r), &t->tz, err);
    if (code < 0) {
        bj_texts_unref(t);
        return code;
    }
    bj_texts_unref(a->texts);
    a->texts = t;
    return 0;
}
