/* What managers see: the newest rows and the state of the program, which the
 * thread of passes sets and the thread of AgentX reads. */
#ifndef BJ_SNMP_VIEW_H
#define BJ_SNMP_VIEW_H

#include "snmp-agent/rows.h"

struct bj_snmp_view;

/* Make a view without rows.  Rows older than stale_usec are not shown.  base
 * is copied.  bj_snmp_columns must have succeeded. */
int bj_snmp_view_new(const struct bj_oid *base, uint64_t stale_usec,
                     struct bj_snmp_view **ret, struct bj_err *err);
void bj_snmp_view_free(struct bj_snmp_view *v); /* NULL is fine */

/* A pass has succeeded: show these rows, whose reference the view takes.  NULL:
 * it has failed, and the rows before stay. */
void bj_snmp_view_set(struct bj_snmp_view *v, struct bj_snmp_rows *rows);

/* A notification was left out. */
void bj_snmp_view_unsent(struct bj_snmp_view *v);

/* The objects for the requests of one PDU: call bj_snmp_view_end after it.
 * For one thread at a time. */
struct bj_objects bj_snmp_view_begin(struct bj_snmp_view *v);
void bj_snmp_view_end(struct bj_snmp_view *v);

/* The root of the MIB. */
void bj_snmp_view_base(const struct bj_snmp_view *v, struct bj_oid *ret);

/* The name of a value: root, column and row. */
void bj_snmp_view_name(const struct bj_snmp_view *v,
                       const struct bj_snmp_column *c,
                       const struct bj_snmp_row *row, struct bj_oid *ret);

#endif
