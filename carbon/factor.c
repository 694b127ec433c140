#include "carbon/factor.h"

#include <errno.h>

static const char *const kinds[BJ_FACTOR_KINDS] = {
    [BJ_FACTOR_LIFECYCLE] = "average_lifecycle",
    [BJ_FACTOR_DIRECT] = "average_direct",
    [BJ_FACTOR_MARGINAL] = "marginal",
};

const char *bj_factor_kind_name(enum bj_factor_kind kind)
{
    return kinds[kind];
}

int bj_factor_kind_parse(struct bj_slice s, enum bj_factor_kind *ret)
{
    for (unsigned i = 0; i < BJ_FACTOR_KINDS; i++)
        if (bj_slice_eq(s, bj_slice_str(kinds[i]))) {
            *ret = (enum bj_factor_kind)i;
            return 0;
        }
    return -EINVAL;
}

int bj_factor_check(int64_t mg, uint32_t *ret)
{
    if (mg < 1 || mg > BJ_FACTOR_MG_MAX)
        return -ERANGE;
    *ret = (uint32_t)mg;
    return 0;
}

int bj_factor_grams(struct bj_slice text, uint32_t *ret)
{
    int64_t mg;
    int r = bj_decimal_i64(text, 3, &mg);
    return r < 0 ? r : bj_factor_check(mg, ret);
}

int bj_factor_json(const struct bj_json *v, uint32_t *ret)
{
    int64_t mg;
    int r = bj_json_fixed(v, 3, &mg);
    return r < 0 ? r : bj_factor_check(mg, ret);
}

int bj_factor_json_pounds(const struct bj_json *v, uint32_t *ret)
{
    int64_t micro;
    int r = bj_json_fixed(v, 6, &micro);
    if (r < 0)
        return r;
    if (micro < 0 || micro > 20000000000) /* 20000 lb: no overflow below */
        return -ERANGE;
    return bj_factor_check((micro * 45359237 + 50000000000) / 100000000000,
                           ret);
}
