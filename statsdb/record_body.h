/* The records of one request of a node: one line of JSON each.  Which of them
 * are stored, and the answer that names the others. */
#ifndef BJ_STATSDB_RECORD_BODY_H
#define BJ_STATSDB_RECORD_BODY_H

#include "base/buf.h"
#include "base/err.h"
#include "statsdb/record.h"

enum { BJ_RECORD_LINES = 2000 }; /* most records of a request */

/* Who sent it. */
struct bj_record_client {
    struct bj_slice names; /* in its certificate, as from bj_tls_names(); empty:
                              none */
    struct bj_slice host;  /* of its token, "*": any; empty: no token */
};

/* May this client write records of this host?  The name of the host must be a
 * DNS name or the common name of its certificate, whole or as the part before
 * the first dot, or the host of its token, in any case of letters. */
bool bj_record_client_may(const struct bj_record_client *c,
                          struct bj_slice host);

/* The configured clusters, by name.  Their records are taken, and those of
 * clusters that the store has: sacct may report several.  A record without a
 * cluster is of the first where there is only one. */
struct bj_record_clusters {
    size_t n;
    struct bj_slice (*name)(const void *ctx, size_t i);
    const void *ctx;
};

struct bj_record_verdict {
    unsigned stored, malformed, denied;
};

/* Store the records of a body, in an open transaction, and append the answer,
 * a JSON object:
 *     {"stored":2,"refused":[{"record":2,"status":400,"error":"record 2:
 * ..."}]} record counts from 1; status 400 is a record that can never be
 * stored, 403 one that this client may not write, or of an unknown cluster.
 *   -E2BIG  more than BJ_RECORD_LINES lines; nothing is stored
 *   others  the store has failed: roll back */
int bj_record_body(struct bj_records *r, const struct bj_record_clusters *known,
                   const struct bj_record_client *client, struct bj_slice body,
                   struct bj_record_verdict *ret, struct bj_buf *answer,
                   struct bj_err *err);

#endif
