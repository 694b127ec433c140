/* Options of batchjob_snmp. */
#ifndef BJ_SNMP_CONF_H
#define BJ_SNMP_CONF_H

#include "base/program.h"
#include "core/conf.h"
#include "snmp-agent/edges.h"
#include "snmp-agent/session.h"

struct bj_snmp_conf {
    struct bj_conf core;
    struct bj_session_conf session;
    struct bj_edges_conf edges;
    char *base_oid;
    uint64_t interval_usec; /* between passes */
    uint64_t max_rows;      /* of a table */
    struct bj_program program;
};

/* Fill a zeroed conf from presets, file and command line, and check it; as
 * bj_exporter_conf_load of the exporter. */
int bj_snmp_conf_load(struct bj_snmp_conf *conf, int argc, char **argv,
                      struct bj_err *err);
void bj_snmp_conf_free(struct bj_snmp_conf *conf);

/* All option tables, with conf as their base. */
enum { BJ_SNMP_SETS = 2 + BJ_CONF_SETS };
void bj_snmp_conf_sets(struct bj_snmp_conf *conf,
                       struct bj_optset sets[BJ_SNMP_SETS]);

/* Append the text of --help, or of --help=all. */
void bj_snmp_conf_help(bool all, struct bj_buf *out);

#endif
