/* The rows of all tables of one snapshot, sorted as SNMP sorts them. */
#ifndef BJ_SNMP_ROWS_H
#define BJ_SNMP_ROWS_H

#include "snmp-agent/table.h"

struct bj_snmp_row {
    const uint32_t *index; /* n sub-identifiers: each key as its length and
                              bytes; {0} of scalars */
    unsigned n;
    const char *record;       /* of the metric tables that the table shows */
    const struct bj_job *job; /* whose row it is; NULL: of the node */
};

/* Immutable; each holder of a reference may read it from any thread. */
struct bj_snmp_rows {
    atomic_uint refs;
    struct bj_snap *snap;
    bool users, accounts;    /* are shown (label.user, label.account) */
    uint64_t refused;        /* rows left out */
    struct bj_slice *job_id; /* of each job of the snapshot, as in its index */
    struct bj_snmp_row *v[BJ_SNMP_TABLES];
    size_t n[BJ_SNMP_TABLES];
    struct bj_arena arena;
};

/* Sort the rows of a snapshot, which is referenced; at most max rows in each
 * table.  NULL: no memory. */
struct bj_snmp_rows *bj_snmp_rows_new(struct bj_snap *snap,
                                      const struct bj_conf *conf, size_t max);
struct bj_snmp_rows *bj_snmp_rows_ref(struct bj_snmp_rows *rows);
void bj_snmp_rows_unref(struct bj_snmp_rows *rows); /* NULL is fine */

/* Order of two indexes. */
int bj_snmp_index_compare(const uint32_t *a, size_t na, const uint32_t *b,
                          size_t nb);

/* The first of n sorted rows that is not before an index. */
size_t bj_snmp_find(const struct bj_snmp_row *v, size_t n,
                    const uint32_t *index, size_t nindex);

/* The value of a metric or text column in a row; false: it is unknown. */
bool bj_snmp_rows_value(const struct bj_snmp_rows *rows,
                        const struct bj_snmp_column *c,
                        const struct bj_snmp_row *row, struct bj_value *ret);

#endif
