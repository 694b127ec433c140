/* The fields of the parts of a report: one table to write, read and describe
 * its JSON. */
#ifndef BJ_REPORT_MODEL_FIELDS_H
#define BJ_REPORT_MODEL_FIELDS_H

#include "report/model/report.h"

struct bj_report_field {
    const char *name;
    enum bj_value_kind kind; /* kind of an int64_t; BJ_AS_TEXT: a slice */
    size_t off;
};

/* The tables of fields, which end with name NULL. */
extern const struct bj_report_field bj_verdict_fields[], bj_figure_fields[],
    bj_finding_fields[], bj_warning_fields[], bj_advice_fields[],
    bj_next_fields[], bj_node_fields[], bj_gpu_fields[], bj_array_fields[],
    bj_spread_fields[];

/* The kind of the numbers of a figure with that unit: seconds, joules, grams
 * and money are millionths, bytes are bytes. */
enum bj_value_kind bj_figure_kind(struct bj_slice unit);

#endif
