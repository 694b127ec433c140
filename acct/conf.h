/* Options of batchjob_acct. */
#ifndef BJ_ACCT_CONF_H
#define BJ_ACCT_CONF_H

#include "acct/api.h"
#include "acct/store.h"
#include "base/program.h"

#include <stdbool.h>

/* The columns of a table unless --format names others, separated by ", ". */
#define BJ_ACCT_FORMAT                                                         \
    "JobID, JobName, User, Account, Partition, State, Start, Elapsed, NCPUS, " \
    "CPUEff, MemEff, TimeEff, Energy"

/* The store that is read where neither a server nor store.path is set. */
#define BJ_ACCT_STORE "/var/lib/batchjob/stats.db"

struct bj_acct_conf {
    struct bj_program program;
    char *path;
    bool any_filesystem;
    struct bj_acct_api_conf api;
    struct bj_acct_filter filter;
    char *since, *until;
    struct bj_strv format;
    char *output, *colour;
    bool header, utc, ascii;
    char *as, *by, *month, *file, *paper;
    const char *default_since;
    bool report; /* the first word */
};

/* All option tables, with conf as their base, and their headings in --help and
 * the manual. */
enum { BJ_ACCT_SETS = 4 };
void bj_acct_conf_sets(struct bj_acct_conf *conf,
                       struct bj_optset sets[BJ_ACCT_SETS]);
extern const char *const bj_acct_headings[BJ_ACCT_SETS];

#endif
