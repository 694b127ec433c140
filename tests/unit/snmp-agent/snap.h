/* Snapshots for tests of batchjob_snmp. */
#ifndef BJ_TESTS_UNIT_SNMP_AGENT_SNAP_H
#define BJ_TESTS_UNIT_SNMP_AGENT_SNAP_H

#include "base/clock.h"
#include "core/find/ident.h"
#include "snmp-agent/view.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A snapshot whose lists the test fills; all values are unknown.  The reference
 * of the test ends with snap_gone. */
static inline struct bj_snap *snap_new(size_t jobs)
{
    struct bj_snap *s = calloc(1, sizeof(*s));
    assert_non_null(s);
    atomic_init(&s->refs, 1);
    s->boot_usec = bj_clock_boot_usec();
    bj_node_clear(&s->node);
    bj_self_clear(&s->self);
    s->jobs.v = bj_arena_alloc(&s->arena, jobs * sizeof(struct bj_job));
    s->jobs.n = jobs;
    for (size_t i = 0; i < jobs; i++)
        bj_job_clear((struct bj_job *)s->jobs.v + i);
    return s;
}

static inline struct bj_job *snap_job(struct bj_snap *s, size_t i)
{
    return (struct bj_job *)s->jobs.v + i;
}

/* Give job i an identity; node may be NULL. */
static inline void snap_name(struct bj_snap *s, size_t i, const char *jobid,
                             const char *node, const char *user)
{
    static const struct bj_conf conf = {.label_user = true,
                                        .label_account = true};
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    f[BJ_ID_JOBID] = bj_slice_str(jobid);
    f[BJ_ID_NODE] = bj_slice_str(node);
    f[BJ_ID_USER] = bj_slice_str(user);
    snap_job(s, i)->ident = bj_ident_new(f, &conf);
    assert_non_null(snap_job(s, i)->ident);
}

/* The rows of a snapshot, which they own alone then. */
static inline struct bj_snmp_rows *snap_rows(struct bj_snap *s, size_t max)
{
    static const struct bj_conf conf = {.label_user = true,
                                        .label_account = true};
    struct bj_snmp_rows *rows = bj_snmp_rows_new(s, &conf, max);
    assert_non_null(rows);
    bj_snap_unref(s);
    return rows;
}

static inline struct bj_oid oid_of(const char *text)
{
    struct bj_oid oid;
    assert_int_equal(bj_oid_parse(text, BJ_OID_MAX, &oid, NULL), 0);
    return oid;
}

#endif
