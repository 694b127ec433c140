/* Minimum amounts of data for advice, its margins (docs/reports.md), and a
 * maximum. */
#ifndef BJ_REPORT_MODEL_LIMITS_H
#define BJ_REPORT_MODEL_LIMITS_H

enum {
    BJ_REPORT_LEAST_SEC = 300,      /* run time */
    BJ_REPORT_LEAST_TIME_SEC = 900, /* run time for advice on the limit */
    BJ_REPORT_LEAST_TASKS = 5,      /* completed tasks of an array */
    /* margins of the next request, percent, unless the site sets others */
    BJ_REPORT_MEMORY_MARGIN = 20,
    BJ_REPORT_TIME_MARGIN = 50,
    /* of the expected samples in Prometheus, ppm */
    BJ_REPORT_LEAST_COVERAGE = 900000,
    /* maximum number of tasks of an array that are read */
    BJ_REPORT_ARRAY_MAX = 5000
};

#endif
