/* SQL fragments that turn numbers or several columns into the displayed text.
 * Views and readers use them. */
#ifndef BJ_STATSDB_FRAGMENT_H
#define BJ_STATSDB_FRAGMENT_H

/* The text of a dictionary for its number. */
#define BJ_SQL_NAME(table, id)                                                 \
    "(SELECT name FROM \"" table "\" WHERE id = " id ")"
#define BJ_SQL_WORD(table, id)                                                 \
    "(SELECT text FROM \"" table "\" WHERE id = " id ")"

/* The name of an enum bj_source (statsdb/best.h). */
#define BJ_SQL_SOURCE(number)                                                  \
    "CASE " number " WHEN 1 THEN 'nodes' WHEN 2 THEN 'prometheus' WHEN 3"      \
    " THEN 'scheduler' END"

/* The name of an enum bj_factor_from (carbon/factor.h). */
#define BJ_SQL_BASIS(number)                                                   \
    "CASE " number " WHEN 0 THEN 'live' WHEN 1 THEN 'stated' WHEN 2 THEN"      \
    " 'profile' WHEN 3 THEN 'year' WHEN 4 THEN 'constant' END"

/* For job j and its row m of job_more, which may be missing. */
#define BJ_SQL_DISPLAY_ID(m)                                                   \
    "coalesce(" m ".display_id, j.array_job_id || '_' || j.array_task, " m     \
    ".het_job_id || '+' || " m ".het_offset, j.jobid)"

/* The key of job j in cluster c. */
#define BJ_SQL_KEY "c.name || ':' || j.jobid || ':' || j.submit"

/* The name of step s: its slot (statsdb/row.h), or other. */
#define BJ_SQL_STEP                                                            \
    "CASE s.slot WHEN 1 THEN 'batch' WHEN 2 THEN 'extern' WHEN 3 THEN"         \
    " 'interactive' ELSE coalesce(s.other, CAST(s.slot - 16 AS TEXT)) END"

/* Does the job have an interactive step? */
#define BJ_SQL_INTERACTIVE(job)                                                \
    "EXISTS (SELECT 1 FROM step WHERE job = " job " AND slot = 3)"

/* Range of the numbers of the final records of job j: FIRST is included, END is
 * not.  A record may have started up to a day (the largest difference of
 * clocks) before the job's submit time or after its end.  There is no lower
 * limit unless the job started after its submit time, because Slurm sets both
 * to the time of a resize (statsdb/record_number.h; 2000 is 946684800). */
#define BJ_SQL_RECORDS_FIRST(j)                                                \
    "CASE WHEN " j ".start > " j ".submit THEN (" j                            \
    ".submit - 946684800 - 86400) << 32 ELSE 0 END"
#define BJ_SQL_RECORDS_END(j)                                                  \
    "CASE WHEN " j ".\"end\" < 3094000000 THEN (" j                            \
    ".\"end\" - 946684800 + 86400) << 32 ELSE 9223372036854775807 END"

/* Does a record have no start, or a number in this range?  With this condition
 * PostgreSQL reads only the partitions of these months.  In SQLite all numbers
 * are below 2^32. */
#define BJ_SQL_RECORD_WITHIN(number, first, end)                               \
    "(" number " < 4294967296 OR " number " >= " first " AND " number          \
    " < " end ")"

/* CPU time of record n: a node on which nothing of the job ran used none; where
 * no memory was measured either, 0 is unknown. */
#define BJ_SQL_RECORD_CPU                                                      \
    "CASE WHEN n.cpu_usec > 0 OR n.memory_held_peak_bytes > 0 OR"              \
    " n.memory_charged_peak_bytes > 0 THEN n.cpu_usec END"

/* Does record n belong to job j? */
#define BJ_SQL_RECORD_OF(n, j)                                                 \
    BJ_SQL_RECORD_WITHIN(n ".id", BJ_SQL_RECORDS_FIRST(j),                     \
                         BJ_SQL_RECORDS_END(j))                                \
    " AND " n ".cluster = " j ".cluster AND " n ".jobid = " j ".jobid AND " j  \
    ".id = (SELECT job FROM node_record_job WHERE record = " n ".id)"

/* A number as text in a sentence: rounded to three digits; from 100 on, to an
 * integer. */
#define BJ_SQL_NUMBER(v)                                                       \
    "coalesce(CASE WHEN abs(" v ") < 100 THEN printf('%.3g', " v ")"           \
    " ELSE printf('%.0f', " v ") END, '?')"

#define BJ_SQL_PUT(text, name, v)                                              \
    "replace(" text ", '{" name "}', " BJ_SQL_NUMBER(v) ")"

/* The text and the advice of finding f by rule r, with the numbers filled in.
 */
#define BJ_SQL_FILLED(text)                                                    \
    BJ_SQL_PUT(BJ_SQL_PUT(text, "value", "f.value"), "threshold", "f.threshold")
#define BJ_SQL_FINDING BJ_SQL_FILLED("r.text")
#define BJ_SQL_ADVICE "nullif(" BJ_SQL_FILLED("r.advice") ", '')"

/* The end of a period; NULL if it is open, which is stored as the largest
 * number. */
#define BJ_SQL_UNLESS_OPEN(end) "nullif(" end ", 9223372036854775807)"

#endif
