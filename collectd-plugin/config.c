#include "collectd-plugin/config.h"

#include <stdio.h>
#include <sys/select.h>

enum {
    NUMBER_SIZE = 64,
    FILES_SPARED = 256, /* left to collectd, its libraries and other plugins */
};

/* A value as text; a number is formatted into number. */
static struct bj_slice value_text(const oconfig_value_t *v,
                                  char number[NUMBER_SIZE])
{
    /* collectd parses numbers as doubles, which hold whole numbers up to 2^53.
     */
    const double exact = 9007199254740992.0;
    double d = v->type == OCONFIG_TYPE_NUMBER ? v->value.number : 0;
    bool is_integer = d >= -exact && d <= exact && (double)(int64_t)d == d;

    switch (v->type) {
    case OCONFIG_TYPE_BOOLEAN:
        return v->value.boolean ? BJ_SLICE("true") : BJ_SLICE("false");
    case OCONFIG_TYPE_NUMBER:
        snprintf(number, NUMBER_SIZE, is_integer ? "%.0f" : "%.15g", d);
        return bj_slice_str(number);
    default:
        return bj_slice_str(v->value.string);
    }
}

static int set_item(struct bj_conf *conf, const oconfig_item_t *item,
                    struct bj_err *err)
{
    struct bj_optset sets[BJ_CONF_SETS];
    bj_conf_sets(conf, sets);
    struct bj_slice key = bj_slice_str(item->key);
    const struct bj_opt *opt = bj_opt_find(sets, BJ_CONF_SETS, key, NULL);
    int r = 0;

    if (!opt)
        return bj_err_set(err, -EINVAL, "unknown option '%s'", item->key);
    if (item->children_num > 0)
        return bj_err_set(err, -EINVAL, "%s is not a block", item->key);
    if (item->values_num == 0)
        return bj_err_set(err, -EINVAL, "%s needs a value", item->key);
    if (item->values_num > 1 && opt->kind != BJ_OPT_LIST)
        return bj_err_set(err, -EINVAL, "%s takes one value", item->key);
    for (int i = 0; r == 0 && i < item->values_num; i++) {
        char number[NUMBER_SIZE];
        r = bj_opt_set(sets, BJ_CONF_SETS, key,
                       value_text(&item->values[i], number), err);
    }
    return r;
}

int bj_config_block(struct bj_conf *conf, const oconfig_item_t *block,
                    struct bj_err *err)
{
    int r = 0;
    for (int i = 0; r == 0 && i < block->children_num; i++)
        r = set_item(conf, &block->children[i], err);
    return r;
}

void bj_config_bound_files(struct bj_conf *conf, uint64_t soft_limit)
{
    uint64_t half = soft_limit / 2;
    uint64_t most = half > FILES_SPARED ? half - FILES_SPARED : 0;

    if (conf->max_files > most)
        conf->max_files = most;
    conf->fd_base = soft_limit >= FD_SETSIZE + conf->max_files ? FD_SETSIZE : 0;
}
