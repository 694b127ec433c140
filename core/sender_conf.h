/* Options of the sender of final records.  The option table is core/conf.c. */
#ifndef BJ_CORE_SENDER_CONF_H
#define BJ_CORE_SENDER_CONF_H

#include <stdbool.h>
#include <stdint.h>

struct bj_sender_conf {
    char *url; /* of batchjob_stats_db; "": records are not sent */
    char *ca_file, *cert_file, *key_file, *token_file; /* "": none */
    bool allow_http; /* send the token also without TLS */
    uint64_t interval_usec;
};

#endif
