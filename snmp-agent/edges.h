/* Notifications: what has changed between two passes. */
#ifndef BJ_SNMP_EDGES_H
#define BJ_SNMP_EDGES_H

#include "snmp-agent/view.h"

/* Their numbers below BJ_SNMP_NOTIFICATIONS. */
enum bj_snmp_edge {
    BJ_EDGE_JOB_OOM = 1,
    BJ_EDGE_METER_LOST,
    BJ_EDGE_METER_BACK,
    BJ_EDGE_GPU,
    BJ_EDGE_RECORDS,
    BJ_EDGES
};

/* A notification of the MIB, with its objects. */
struct bj_snmp_notification {
    const char *name, *help;
    struct {
        enum bj_snmp_table_id table;
        const char *name; /* of the column, as in numbers.c */
    } object[2];
    const char *option; /* the choice of snmp.notify that sends it */
};
extern const struct bj_snmp_notification bj_snmp_notifications[BJ_EDGES];
/* All choices of snmp.notify. */
#define BJ_EDGE_CHOICES "job-oom|meter|gpu|records"

struct bj_edges_conf {
    struct bj_strv notify; /* options of notifications */
    uint64_t rate;         /* most in a minute */
    uint64_t records_usec; /* age of records that is notified */
};

/* What compares passes.  Zero-initialise, set the first four. */
struct bj_edges {
    const struct bj_edges_conf *conf;
    struct bj_snmp_view *view;
    /* Send the variables of a notification; takes the buffer.  False: it is
     * left out. */
    bool (*send)(void *ctx, struct bj_buf variables);
    void *ctx;
    uint64_t minute_usec, sent; /* notifications since minute_usec */
};

/* Send the notifications of what has changed from one pass to the next one.
 * now: the boot clock. */
void bj_edges_compare(struct bj_edges *e, const struct bj_snmp_rows *before,
                      const struct bj_snmp_rows *rows, uint64_t now);

#endif
