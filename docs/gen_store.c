/* The options of the programs with a store, for the manual pages. */
#include "docs/gen.h"

#include "acct/conf.h"
#include "apiserver/conf/conf.h"
#include "statsdb/conf/conf.h"

int bj_gen_server_options(struct bj_buf *out)
{
    struct bj_api_conf conf;
    struct bj_optset sets[BJ_API_SETS];
    bj_api_conf_sets(&conf, sets);
    bj_gen_options(out, sets, BJ_API_SETS, BJ_GEN_COMMAND_LINE);
    return 0;
}

static int put_place(struct bj_buf *out, enum bj_statsdb_place place,
                     enum bj_gen_style style)
{
    size_t n;
    const struct bj_optset *sets = bj_statsdb_conf_sets(place, &n);
    bj_gen_options(out, sets, n, style);
    return 0;
}

int bj_gen_db_options(struct bj_buf *out)
{
    return put_place(out, BJ_STATSDB_OPTIONS, BJ_GEN_COMMAND_LINE);
}

int bj_gen_db_command_line(struct bj_buf *out)
{
    return put_place(out, BJ_STATSDB_COMMAND_LINE, BJ_GEN_COMMAND_LINE);
}

int bj_gen_db_cluster(struct bj_buf *out)
{
    return put_place(out, BJ_STATSDB_CLUSTER, BJ_GEN_YAML);
}

int bj_gen_db_target(struct bj_buf *out)
{
    return put_place(out, BJ_STATSDB_TARGET, BJ_GEN_YAML);
}

int bj_gen_acct_options(struct bj_buf *out)
{
    struct bj_acct_conf conf;
    struct bj_optset sets[BJ_ACCT_SETS];
    bj_acct_conf_sets(&conf, sets);
    for (size_t i = 0; i < BJ_ACCT_SETS; i++)
        bj_gen_options_below(out, bj_acct_headings[i], &sets[i]);
    return 0;
}
