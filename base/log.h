/* The log of the programs (the core never logs by itself). */
#ifndef BJ_BASE_LOG_H
#define BJ_BASE_LOG_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum bj_log_level { BJ_LOG_ERROR, BJ_LOG_WARN, BJ_LOG_INFO, BJ_LOG_DEBUG };
enum bj_log_format { BJ_LOG_LOGFMT, BJ_LOG_JSON };

/* Set the level and the format of the log on standard error. */
void bj_log_setup(enum bj_log_level level, enum bj_log_format format);

/* Whether lines of this level are written. */
bool bj_log_wants(enum bj_log_level level);

/* One line: time, level, msg and the text of err when it is not NULL.  msg is
 * escaped as the format needs; safe from any thread. */
void bj_log(enum bj_log_level level, const struct bj_err *err, const char *fmt,
            ...) __attribute__((format(printf, 3, 4)));

/* A value in addition to the message: a text, or a number where text is NULL.
 */
struct bj_log_field {
    const char *key, *text;
    uint64_t number;
};

/* One line about an event, with values for programs; the last field has key
 * NULL. */
void bj_log_event(enum bj_log_level level, const char *msg,
                  const struct bj_log_field *fields);

/* "error", "warn", "info", "debug" (also "warning"); -EINVAL otherwise. */
int bj_log_level_parse(const char *s, enum bj_log_level *ret);
/* "logfmt", "json"; -EINVAL otherwise. */
int bj_log_format_parse(const char *s, enum bj_log_format *ret);

#endif
