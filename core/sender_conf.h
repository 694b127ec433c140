/* Options of the sender of final records.  The option table is core/conf.c. */
#ifndef BJ_CORE_SENDER_CONF_H
#define BJ_CORE_SENDER_CONF_H

#include <stdint.h>

struct bj_sender_conf {
    char *url; /* of batchjob_stats_db; "": records are not sent */
    char *ca_file, *cert_file, *key_file, *token_file; /* "": none */
    uint64_t interval_usec;
};

#endif
