#include "statsdb/job/job_json.h"

#include "base/stamp.h"
#include "statsdb/job/job_value.h"

#include <errno.h>

static int number(enum bj_value_kind kind, const struct bj_json *v,
                  int64_t *ret)
{
    bool yes;
    int r;
    switch (kind) {
    case BJ_AS_TIME:
        return bj_stamp_sec(bj_json_text(v), BJ_STAMP_BARE_UTC, ret);
    case BJ_AS_TIME_MS:
    case BJ_AS_LINK_END:
        r = bj_json_i64(v, ret);
        *ret /= 1000;
        return r;
    case BJ_AS_BOOL:
        r = bj_json_bool(v, &yes);
        *ret = r == 0 && yes;
        return r;
    default:
        return bj_json_fixed(v, bj_value_digits(kind), ret);
    }
}

int bj_job_value_json(enum bj_value_kind kind, const struct bj_json *v,
                      struct bj_job_value *ret)
{
    *ret = (struct bj_job_value){.known = v && !bj_json_is_null(v)};
    if (kind == BJ_AS_LINK_END && bj_slice_eq(bj_json_text(v), BJ_SLICE("now")))
        ret->known = false;
    if (!ret->known)
        return 0;
    if (bj_job_is_text(kind)) {
        ret->text = bj_json_text(v);
        return 0;
    }
    return number(kind, v, &ret->number) < 0 ? -EBADMSG : 0;
}
