/* The log line of each request, and the counters of the endpoints. */
#ifndef BJ_APISERVER_FRAME_REQUEST_LOG_H
#define BJ_APISERVER_FRAME_REQUEST_LOG_H

#include "apiserver/access/peer.h"
#include "apiserver/frame/call.h"

struct bj_api_count;

/* The fields of the log line, set when the response begins; it may outlive the
 * request. */
struct bj_request_log {
    char id[sizeof(((struct bj_call *)0)->request_id)];
    char client[BJ_PEER_BYTES];
    const char *method, *endpoint;
    char user[BJ_USER_BYTES];
    char about[sizeof(((struct bj_call *)0)->about)];
    bool admin;
    unsigned status;
    uint64_t start_usec; /* boot clock; 0: log a duration of 0 */
    struct bj_api_count *count;
};

/* Fill in the fields from a call and its reply. */
void bj_request_log_begin(struct bj_request_log *l, const struct bj_call *c,
                          struct bj_api_count *count, uint64_t start_usec);

/* Count and log the response; bytes: its size. */
void bj_request_log_end(const struct bj_request_log *l, uint64_t bytes);

#endif
