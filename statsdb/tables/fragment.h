/* SQL fragments that turn numbers or several columns into the displayed text.
 * Views and readers use them. */
#ifndef BJ_STATSDB_TABLES_FRAGMENT_H
#define BJ_STATSDB_TABLES_FRAGMENT_H

/* The text of a dictionary for its number. */
#define BJ_SQL_NAME(table, id)                                                 \
    "(SELECT name FROM \"" table "\" WHERE id = " id ")"
#define BJ_SQL_WORD(table, id)                                                 \
    "(SELECT text FROM \"" table "\" WHERE id = " id ")"

/* The name of an enum bj_source (statsdb/tables/best.h). */
#define BJ_SQL_SOURCE(number)                                                  \
    "CASE " number " WHEN 1 THEN 'nodes' WHEN 2 THEN 'prometheus' WHEN 3"      \
    " THEN 'scheduler' END"

/* States of a GPU after an error, as final records name them (docs/gpu.md,
 * "Health"); their numbers in the store.  From drain_later on the hardware
 * failed. */
#define BJ_GPU_FAULTS(X)                                                       \
    X(1, "application")                                                        \
    X(2, "degraded")                                                           \
    X(3, "drain_later")                                                        \
    X(4, "drain_now")                                                          \
    X(5, "reset")                                                              \
    X(6, "lost")
enum { BJ_GPU_FAULT_HARDWARE = 3 };

/* What is in doubt about GPUs of a job, as final records name it
 * ("gpu_conflicts"); bits in the store. */
#define BJ_GPU_DOUBTS(X)                                                       \
    X(1, "denied")                                                             \
    X(2, "stray")                                                              \
    X(4, "double")                                                             \
    X(8, "unresolved")

/* The name of an enum bj_factor_from (carbon/factor.h). */
#define BJ_SQL_BASIS(number)                                                   \
    "CASE " number " WHEN 0 THEN 'live' WHEN 1 THEN 'stated' WHEN 2 THEN"      \
    " 'profile' WHEN 3 THEN 'year' WHEN 4 THEN 'constant' END"

/* The submit time of job j; unknown: 0.  A later run of a job of PBS has a key
 * that is higher by its number (statsdb/import/pbs_run.h). */
#define BJ_SQL_SUBMIT                                                          \
    "CASE WHEN j.restarts > 0 AND j.submit > j.restarts AND (SELECT system"    \
    " FROM cluster WHERE id = j.cluster) = 'pbs' THEN j.submit - j.restarts"   \
    " ELSE j.submit END"

/* The key of job j in cluster c. */
#define BJ_SQL_KEY "c.name || ':' || j.jobid || ':' || j.submit"

/* The name of step s: its slot (statsdb/tables/row.h), or other. */
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
 * to the time of a resize (statsdb/tables/record_number.h; 2000 is 946684800).
 */
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

/* Had job j the id of record r at the time of the record?  Clocks differ. */
#define BJ_SQL_RECORD_RUN(r, j)                                                \
    j ".cluster = " r ".cluster AND " j ".jobid = " r ".jobid AND " j          \
      ".start <= " r ".\"end\" + 120 AND (" j ".\"end\" IS NULL OR " j         \
      ".\"end\" >= " r ".\"end\" - 600)"

/* Is host a the host h of a record?  The names are equal, or one of them is the
 * part of the other before the first dot. */
#define BJ_SQL_SAME_HOST                                                       \
    "(a.id = h.id OR a.name = CASE WHEN instr(h.name, '.') > 0 THEN"           \
    " substr(h.name, 1, instr(h.name, '.') - 1) END OR substr(a.name, 1,"      \
    " length(h.name) + 1) = h.name || '.')"

/* Did job j run on the host of record r, as far as accounting lists its hosts,
 * also those that a resized job had before?  A host that accounting does not
 * know, as it runs several slurmd, may name one of them.  Of longer lists only
 * the first 10000 hosts are stored (statsdb/tables/dict.c). */
#define BJ_SQL_RECORD_HOST(r, j)                                               \
    "(" j ".hosts IS NULL OR EXISTS (SELECT 1 FROM hosts_host WHERE host = " r \
    ".host AND hosts = " j ".hosts) OR NOT EXISTS (SELECT 1 FROM hosts_host"   \
    " WHERE hosts = " j ".hosts) OR " j ".nodes >= 10000"                      \
    " OR EXISTS (SELECT 1 FROM record_any_host)"                               \
    " OR EXISTS (SELECT 1 FROM host AS h, host AS a, hosts_host AS o WHERE"    \
    " h.id = " r ".host AND a.id = o.host AND o.hosts = " j                    \
    ".hosts AND " BJ_SQL_SAME_HOST                                             \
    ") OR EXISTS (SELECT 1 FROM job_size AS z, host AS h, host AS a,"          \
    " hosts_host AS o WHERE z.job = " j ".id AND o.hosts = z.hosts AND a.id"   \
    " = o.host AND h.id = " r ".host AND " BJ_SQL_SAME_HOST ") OR (" r         \
    ".slurm_node != '' AND NOT EXISTS (SELECT 1"                               \
    " FROM hosts_host WHERE host = " r ".host) AND EXISTS (SELECT 1 FROM"      \
    " host AS a, hosts_host AS o WHERE a.name = " r ".slurm_node AND o.host"   \
    " = a.id AND o.hosts = " j ".hosts)))"

/* Does record n belong to job j? */
#define BJ_SQL_RECORD_OF(n, j)                                                 \
    BJ_SQL_RECORD_WITHIN(n ".id", BJ_SQL_RECORDS_FIRST(j),                     \
                         BJ_SQL_RECORDS_END(j))                                \
    " AND " n ".cluster = " j ".cluster AND " n ".jobid = " j ".jobid AND " j  \
    ".id = (SELECT job FROM node_record_job WHERE record = " n ".id)"

/* A number as text in a sentence, in the format of base/amount.h.  print:
 * bj_printf, which rounds as C does; views have SQLite's printf, which other
 * programs know: it rounds 11.25 to 11.3. */
#define BJ_SQL_NUMBER(print, v)                                                \
    "coalesce(CASE WHEN abs(" v ") < 100 THEN " print "('%.3g', " v ")"        \
    " ELSE printf('%,d', round(" v ")) END, '?')"

#define BJ_SQL_PUT(print, text, name, v)                                       \
    "replace(" text ", '{" name "}', " BJ_SQL_NUMBER(print, v) ")"

/* Joules as energy with its unit, in the format of BJ_AMOUNT_JOULES. */
#define BJ_SQL_ENERGY(print, v)                                                \
    "CASE WHEN " v " < 3598200 THEN " BJ_SQL_NUMBER(                           \
        print,                                                                 \
        "(" v                                                                  \
        " / 3600.0)") " || ' Wh' ELSE " BJ_SQL_NUMBER(print,                   \
                                                      "(" v                    \
                                                      " / 3600000.0)") " || "  \
                                                                       "' "    \
                                                                       "kWh' " \
                                                                       "END"

/* The text and the advice of finding f by rule r, with the numbers filled in:
 * {minutes}, {gib} and {energy} are the value in another unit, {names} is
 * " (n1)", or nothing. */
#define BJ_SQL_FILLED(print, text)                                             \
    "replace(replace(" BJ_SQL_PUT(                                             \
        print,                                                                 \
        BJ_SQL_PUT(print,                                                      \
                   BJ_SQL_PUT(print,                                           \
                              BJ_SQL_PUT(print, text, "value", "f.value"),     \
                              "threshold", "f.threshold"),                     \
                   "minutes", "(f.value / 60)"),                               \
        "gib",                                                                 \
        "(f.value / 1073741824)") ", '{energy}', " BJ_SQL_ENERGY(print,        \
                                                                 "f.value") "), '{names}', coalesce(' (' || f.names || ')', ''))"
#define BJ_SQL_FINDING BJ_SQL_FILLED("bj_printf", "r.text")
#define BJ_SQL_ADVICE "nullif(" BJ_SQL_FILLED("bj_printf", "r.advice") ", '')"

/* The end of a period; NULL if it is open, which is stored as the largest
 * number. */
#define BJ_SQL_UNLESS_OPEN(end) "nullif(" end ", 9223372036854775807)"

#endif
