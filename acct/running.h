/* The time of running jobs until now: the store has that of the last import. */
#ifndef BJ_ACCT_RUNNING_H
#define BJ_ACCT_RUNNING_H

#include "acct/source.h"
#include "statsdb/job/rows.h"

struct bj_acct_running;

/* column and from must outlive *ret.  If a column is elapsed_seconds, or an
 * amount times that, *ret reads more columns than are shown, and when the
 * accounting of each cluster was last imported.  0 or an error of the source.
 */
int bj_acct_running_new(const struct bj_acct_source *from,
                        const struct bj_column *const *column, unsigned columns,
                        struct bj_acct_running **ret, struct bj_err *err);
void bj_acct_running_free(struct bj_acct_running *r); /* NULL is fine */

/* The columns to read; returns their number. */
unsigned bj_acct_running_columns(const struct bj_acct_running *r,
                                 const struct bj_column *const **ret);

/* Make the row that is shown at now_sec from a row of these columns.  The time
 * of a job in state running counts until then, without the time for which it
 * was suspended; where that is unknown, the time since the import is added.
 * It stays as imported if its cluster was not imported for ten minutes, as the
 * job may have ended since.  *ret is valid as long as row. */
int bj_acct_running_row(struct bj_acct_running *r,
                        const struct bj_acct_row *row, int64_t now_sec,
                        struct bj_acct_row *ret, struct bj_err *err);

#endif
