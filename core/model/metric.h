/* Metrics: one row each. A row defines the Prometheus name, HELP and TYPE, the
 * collectd type, and the entries in types.db and docs/metrics.md. */
#ifndef BJ_CORE_MODEL_METRIC_H
#define BJ_CORE_MODEL_METRIC_H

#include "base/buf.h"
#include "core/model/record.h"

#include <stdbool.h>

enum bj_kind { BJ_GAUGE, BJ_COUNTER };

/* Unit of the field. Prometheus requires base units (seconds, bytes): the value
 * is converted exactly on output. collectd gets the whole number in the field.
 */
enum bj_unit {
    BJ_NUMBER,
    BJ_MICRO, /* a number with decimals */
    BJ_USEC,
    BJ_SEC,
    BJ_BYTES,
    BJ_UJ,
    BJ_UW,
    BJ_UG_PER_KWH,
    BJ_PPM,
    BJ_UCELSIUS,
    BJ_HERTZ,
    BJ_BYTES_PER_SEC
};

struct bj_unit_name {
    const char *prom;     /* "_seconds", "" */
    const char *collectd; /* "_usec", "" */
    unsigned digits;      /* decimal places from the field to the base unit */
};
extern const struct bj_unit_name bj_units[];

/* One metric of a table. */
struct bj_metric {
    const char *name; /* "cpu_user": without prefix, table, unit or _total; "":
                         the name of the table suffices */
    enum bj_kind kind;
    enum bj_unit unit;
    size_t off; /* of its uint64_t in the table's record */
    bool live;  /* a level: left out after the end of the job */
    const char *help;
};

/* The owner of a table's records. */
enum bj_owner { BJ_OF_SNAP, BJ_OF_JOB };

/* A table: records of one type, their keys and metrics. */
struct bj_metric_table {
    const char *name; /* "job_core": part of every metric's name */
    enum bj_owner owner;
    bool list;   /* false: the record is at off in the owner; */
    size_t off;  /* true: a bj_list is at off */
    size_t size; /* of one record */
    const char *label[BJ_SUB_KEYS]; /* Prometheus labels of bj_sub.key; NULL:
                                       none */
    /* Info metric: its label names, else NULL.  The values are in the identity
     * of the job, else in the record, a bj_info. */
    const char *const *info;
    const struct bj_metric *rows;
    size_t nrows;
    size_t rows_off; /* offset in a record that row offsets are relative to */
    bool bare;       /* name without "batchjob_" (process_...) */
};

/* All tables, in the order of the page: bj_metric_tables[bj_metric_ntables]. */
extern const struct bj_metric_table bj_metric_tables[];
extern const size_t bj_metric_ntables;

/* "batchjob_job_cpu_user_seconds_total". */
void bj_metric_prom_name(const struct bj_metric_table *t,
                         const struct bj_metric *m, struct bj_buf *out);

/* collectd's type, "job_cpu_user_usec". */
void bj_metric_collectd_type(const struct bj_metric_table *t,
                             const struct bj_metric *m, struct bj_buf *out);

/* Labels of batchjob_job_info in addition to those of every sample of a job, in
 * the order of bj_ident.info; labels of batchjob_build_info. NULL-terminated.
 */
extern const char *const bj_job_info_keys[];
extern const char *const bj_build_info_keys[];

#endif
