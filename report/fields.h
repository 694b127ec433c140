/* The parts of a report as fields: one table for writing, reading and
 * describing its JSON. */
#ifndef BJ_REPORT_FIELDS_H
#define BJ_REPORT_FIELDS_H

#include "report/report.h"

struct bj_report_field {
    const char *name;
    enum bj_value_kind kind; /* of an int64_t, or BJ_AS_TEXT of a slice */
    size_t off;
};

/* Tables end with name NULL. */
extern const struct bj_report_field bj_verdict_fields[], bj_figure_fields[],
    bj_finding_fields[], bj_warning_fields[], bj_advice_fields[],
    bj_node_fields[], bj_gpu_fields[], bj_array_fields[], bj_spread_fields[];

/* Figures count seconds, joules and grams in millionths, bytes in bytes: the
 * kind of the numbers of a figure of that unit. */
enum bj_value_kind bj_figure_kind(struct bj_slice unit);

#endif
