#include "statsdb/schema_sql.h"

#include <stddef.h>

/* When accounting changes a run's time, Prometheus is asked again. */
const char *const bj_schema_3[] = {
    /* The time that it was asked about. */
    "ALTER TABLE job_prom ADD COLUMN start INT",
    "ALTER TABLE job_prom ADD COLUMN \"end\" INT",
    "UPDATE job_prom SET (start, \"end\") = (SELECT start, \"end\" FROM job"
    " WHERE id = job_prom.job)",
    /* What waits does so under its end. */
    "CREATE TRIGGER job_end_changed AFTER UPDATE OF \"end\" ON job WHEN"
    " old.\"end\" IS NOT new.\"end\" BEGIN DELETE FROM prom_todo WHERE"
    " cluster = old.cluster AND \"end\" = old.\"end\" AND job = old.id; END",
    NULL};

const char *const bj_schema_3_views[] = {NULL};
