/* Shared by the readers of replies.  Private to the room. */
#ifndef BJ_CARBON_REPLY_H
#define BJ_CARBON_REPLY_H

#include "base/json.h"
#include "carbon/factor.h"

/* A provider's value for a period, of the caller's zone. */
struct bj_carbon_point {
    uint64_t start_sec;   /* since 1970 */
    uint64_t fetched_sec; /* 0 until it is stored */
    uint32_t len_sec;     /* of the period */
    uint32_t mg_per_kwh;
    uint8_t kind; /* enum bj_factor_kind */
    bool estimated;
};

enum { BJ_CARBON_REPLY_POINTS = 512 };

/* The values of a reply; beyond the room they are cut off. */
struct bj_carbon_reply {
    struct bj_carbon_point v[BJ_CARBON_REPLY_POINTS];
    size_t n;
    size_t unknown; /* rows without a valid value or time, also null */
};

/* The zone and the time of a request. */
struct bj_carbon_target {
    const char *origin; /* "https://host" and an optional path */
    const char *zone;   /* "": the provider has only one */
    uint64_t now_sec;   /* wall clock */
};

/* Reads one row of a reply; 0 when it was added or counted as unknown, else
 * -EINVAL with a message, which rejects the whole reply. */
typedef int bj_carbon_row_fn(const struct bj_json *row, const char *zone,
                             struct bj_carbon_reply *ret, struct bj_err *err);

/* Parse text as JSON and pass its tree to read; *ret is emptied before. */
int bj_carbon_reply_parse(struct bj_slice text, const char *zone,
                          bj_carbon_row_fn *read, struct bj_carbon_reply *ret,
                          struct bj_err *err);

/* Call read for each element of an array; it must be an array. */
int bj_carbon_reply_rows(const struct bj_json *array, const char *what,
                         const char *zone, bj_carbon_row_fn *read,
                         struct bj_carbon_reply *ret, struct bj_err *err);

/* Add a point that starts at a stamp ("2026-11-20T15:00:00+01:00"; without a
 * zone it is UTC).  With a bad stamp or mg 0 count it as unknown. */
void bj_carbon_reply_add(struct bj_carbon_reply *ret,
                         const struct bj_json *start,
                         struct bj_carbon_point point);

/* Set the error that a member of the reply is not as expected; -EINVAL. */
int bj_carbon_reply_bad(const char *what, struct bj_slice got,
                        const char *expected, struct bj_err *err);

/* Append origin and path; then parameters, NAME=VALUE, the value
 * percent-encoded. Neither origin nor path has a '?'. */
void bj_carbon_url(struct bj_buf *out, const char *origin, const char *path);
void bj_carbon_param(struct bj_buf *out, const char *name, const char *value);

/* The token in the reply to a login, terminated, in tok (cap bytes). -EINVAL
 * when it is missing or does not fit a header, -ENOMEM. */
int bj_carbon_login_parse(struct bj_slice text, char *tok, size_t cap,
                          struct bj_err *err);

#endif
