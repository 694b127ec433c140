/* What the readers of answers share.  Private to the room. */
#ifndef BJ_CARBON_REPLY_H
#define BJ_CARBON_REPLY_H

#include "base/json.h"
#include "carbon/provider.h"

/* Reads one row of an answer; 0 when it was added or counted as unknown, else
 * -EINVAL with a message: the whole answer is then refused. */
typedef int bj_carbon_row_fn(const struct bj_json *row, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err);

/* Parse text as JSON and hand its tree to read; *ret is emptied before. */
int bj_carbon_reply_parse(struct bj_slice text, const char *zone,
                          bj_carbon_row_fn *read, struct bj_carbon_reply *ret,
                          struct bj_err *err);

/* Call read for each element of an array, which must be one. */
int bj_carbon_reply_rows(const struct bj_json *array, const char *what,
                         const char *zone, bj_carbon_row_fn *read,
                         struct bj_carbon_reply *ret, struct bj_err *err);

/* Add a point that starts at a stamp ("2026-11-20T15:00:00+01:00"; without a
 * zone it is UTC); when the stamp is none or mg 0, count it as unknown. */
void bj_carbon_reply_add(struct bj_carbon_reply *ret,
                         const struct bj_json *start,
                         struct bj_carbon_point point);

/* Say that a member of the answer is not as expected; -EINVAL. */
int bj_carbon_reply_odd(const char *what, struct bj_slice got,
                        const char *expected, struct bj_err *err);

/* Append origin and path; behind them parameters, NAME=VALUE, the value
 * percent-encoded.  Neither origin nor path has a '?'. */
void bj_carbon_url(struct bj_buf *out, const char *origin, const char *path);
void bj_carbon_param(struct bj_buf *out, const char *name, const char *value);

/* Builders and readers, one pair for each provider. */
void bj_carbon_rte_url(const struct bj_carbon_ask *ask, struct bj_buf *out);
int bj_carbon_rte_parse(struct bj_slice text, const char *zone,
                        struct bj_carbon_reply *ret, struct bj_err *err);
void bj_carbon_emaps_url(const struct bj_carbon_ask *ask, struct bj_buf *out);
int bj_carbon_emaps_parse(struct bj_slice text, const char *zone,
                          struct bj_carbon_reply *ret, struct bj_err *err);
void bj_carbon_neso_url(const struct bj_carbon_ask *ask, struct bj_buf *out);
int bj_carbon_neso_parse(struct bj_slice text, const char *zone,
                         struct bj_carbon_reply *ret, struct bj_err *err);
void bj_carbon_watttime_url(const struct bj_carbon_ask *ask,
                            struct bj_buf *out);
int bj_carbon_watttime_parse(struct bj_slice text, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err);

#endif
