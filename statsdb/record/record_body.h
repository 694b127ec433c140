/* Stores the records of one request of a node, one JSON object per line, and
 * writes the response, which lists the refused records. */
#ifndef BJ_STATSDB_RECORD_RECORD_BODY_H
#define BJ_STATSDB_RECORD_RECORD_BODY_H

#include "base/buf.h"
#include "base/err.h"
#include "statsdb/record/record.h"

enum { BJ_RECORD_LINES = 2000 }; /* most records of a request */

/* The client that sent the request. */
struct bj_record_client {
    /* names in its certificate, from bj_tls_names(); empty: none */
    struct bj_slice names;
    /* host of its token; "*": any host; empty: no token */
    struct bj_slice host;
};

/* May this client write records of this host?  The host must be a DNS name or
 * the common name in the certificate, either whole or only the part before the
 * first dot, or the host of the token.  Case is ignored. */
bool bj_record_client_may(const struct bj_record_client *c,
                          struct bj_slice host);

/* The names of the configured clusters.  Records of these clusters are
 * accepted, and of clusters in the store, since sacct may report several.  If
 * only one cluster is configured, records without a cluster belong to it. */
struct bj_record_clusters {
    size_t n;
    struct bj_slice (*name)(const void *ctx, size_t i);
    const void *ctx;
};

struct bj_record_verdict {
    unsigned stored, malformed, denied;
};

/* Store the records of a body, in an open transaction, and append the response,
 * a JSON object:
 *     {"stored":2,"refused":[{"record":2,"status":400,"error":"..."}]}
 * record counts from 1; status 400: a record that can never be stored; 403: one
 * that this client may not write, or of an unknown cluster.
 *   -E2BIG  more than BJ_RECORD_LINES lines; nothing is stored
 *   others  the store has failed: roll back */
int bj_record_body(struct bj_records *r, const struct bj_record_clusters *known,
                   const struct bj_record_client *client, struct bj_slice body,
                   struct bj_record_verdict *ret, struct bj_buf *reply,
                   struct bj_err *err);

#endif
