/* The tables of the MIB and their columns: which part of a snapshot each shows.
 * docs/gen_mib.c writes the MIB from them. */
#ifndef BJ_SNMP_TABLE_H
#define BJ_SNMP_TABLE_H

#include "core/core.h"
#include "core/model/metric.h"
#include "snmp-agent/pdu.h"

/* Default root of the MIB: a part of net-snmp's playpen, 1.3.6.1.4.1.8072.9999.
 * 9999 (NET-SNMP-MIB), where a site may try what has no number of its own. */
#define BJ_SNMP_BASE "1.3.6.1.4.1.8072.9999.9999.9010"
/* The longest root, so that all names end within BJ_OID_MAX. */
enum { BJ_SNMP_BASE_MAX = 10 };

/* Children of the root. */
enum {
    BJ_SNMP_NOTIFICATIONS = 0,
    BJ_SNMP_NODE = 1,
    BJ_SNMP_CONFORMANCE = 2,
    BJ_SNMP_JOBS = 3,
    BJ_SNMP_OWNERS = 4
};

/* Tables, in the order of their object identifiers. */
enum bj_snmp_table_id {
    BJ_SNMP_SCALARS, /* objects without rows, as a table with one row */
    BJ_SNMP_NODE_ENERGY,
    BJ_SNMP_NODE_CPU,
    BJ_SNMP_METER,
    BJ_SNMP_ZONE,
    BJ_SNMP_METER_ERRORS,
    BJ_SNMP_GPU,
    BJ_SNMP_GPU_SOURCE,
    BJ_SNMP_COLLECTOR,
    BJ_SNMP_GPU_THROTTLE,
    BJ_SNMP_GPU_CONFLICTS,
    BJ_SNMP_JOB,
    BJ_SNMP_JOB_GPU,
    BJ_SNMP_JOB_ENERGY,
    BJ_SNMP_OWNER,
    BJ_SNMP_TABLES
};

enum { BJ_SNMP_KEYS = 3 }; /* most index columns of a table */

struct bj_snmp_table {
    const char *name;       /* "bjJob": its columns begin with it */
    const char *rows, *is;  /* "jobs"; "A job on this node" */
    uint32_t group, number; /* its object is BASE.group.number */
    /* Names of the metric tables that it shows; all have the same records. */
    const char *metric[3];
    enum bj_owner owner; /* of these metric tables */
    bool list;
    size_t off;    /* of the list in its owner */
    size_t size;   /* of a record */
    unsigned keys; /* index columns that are labels of the record; a table of
                      jobs has the id of the job before them */
    unsigned key_max[BJ_SNMP_KEYS]; /* bytes of all index columns */
};
extern const struct bj_snmp_table bj_snmp_tables[BJ_SNMP_TABLES];

/* Where the value of a column is. */
enum bj_snmp_source {
    BJ_SNMP_INDEX,    /* an index column, which is not read */
    BJ_SNMP_METRIC,   /* a metric */
    BJ_SNMP_TRUTH,    /* a metric of 1 or 0 as TruthValue */
    BJ_SNMP_JOB_ID,   /* texts: the index of jobs, */
    BJ_SNMP_KEY,      /* a label of the record, */
    BJ_SNMP_IDENTITY, /* a field of the identity of the job, */
    BJ_SNMP_MODEL,    /* the model of a GPU, */
    BJ_SNMP_ADDRESS,  /* its PCI address */
    BJ_SNMP_ENERGY,   /* a scalar: energy of the node, */
    BJ_SNMP_VERSION,  /* scalars of the program: its version, */
    BJ_SNMP_CLUSTER,  /* the cluster, */
    BJ_SNMP_AGE,      /* age of the snapshot in milliseconds, */
    BJ_SNMP_PASSED,   /* success of the last pass, */
    BJ_SNMP_REFUSED,  /* rows left out, */
    BJ_SNMP_UNSENT,   /* notifications left out, */
    BJ_SNMP_FAULT     /* text of a notification, which is not read */
};

/* A line of the list of numbers (snmp-agent/numbers.c). */
struct bj_snmp_number {
    enum bj_snmp_table_id table;
    uint32_t number;
    unsigned revision; /* of the MIB that brought it, from 1 */
    enum bj_snmp_source source;
    unsigned at;      /* which key, or enum bj_ident_field */
    const char *name; /* metrics: of Prometheus; others: of the column, behind
                         that of its table */
    const char *help; /* others: the description */
    /* A metric that has gone: its syntax, with units; its column stays in the
     * MIB as obsolete. */
    const char *gone;
};
extern const struct bj_snmp_number bj_snmp_numbers[];
extern const size_t bj_snmp_nnumbers;

enum { BJ_SNMP_PATH = 4 };

/* A column as the program reads it. */
struct bj_snmp_column {
    const struct bj_snmp_number *number;
    const struct bj_snmp_table *table;
    const struct bj_metric_table *metrics; /* NULL: no metric */
    const struct bj_metric *metric;
    size_t off;                  /* of the metric in a record */
    enum bj_value_type type;     /* of its values */
    uint32_t path[BJ_SNMP_PATH]; /* below the root */
    unsigned npath;
};

/* Check a list of numbers: -EINVAL with a message for a metric without number,
 * a number that is missing, used twice or out of order, an unknown metric. */
int bj_snmp_numbers_check(const struct bj_snmp_number *numbers, size_t n,
                          struct bj_err *err);

/* All columns in the order of their object identifiers.  The first call checks
 * the list of numbers and makes them, before other threads start. */
int bj_snmp_columns(const struct bj_snmp_column **ret, size_t *ret_n,
                    struct bj_err *err);

/* The column of a metric, or of a table with this name; NULL: none. */
const struct bj_snmp_column *bj_snmp_column(enum bj_snmp_table_id table,
                                            const char *name);

#endif
