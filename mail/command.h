/* "batchjob_stats_db mail ...". */
#ifndef BJ_MAIL_COMMAND_H
#define BJ_MAIL_COMMAND_H

#include "base/err.h"
#include "statsdb/conf/conf.h"

/* Run the command; word: its arguments, NULL at the end.  The daemon may run
 * meanwhile. */
int bj_mail_command(const struct bj_statsdb_conf *conf, char *const *word,
                    struct bj_err *err);

/* The usage of the command, for --help. */
extern const char bj_mail_command_help[];

#endif
