/* A simulated Redfish service on 127.0.0.1, in a thread, with the documents,
 * sessions and faults that a test sets. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEREDFISH_H
#define BJ_TESTS_UNIT_LIB_FAKEREDFISH_H

#include <pthread.h>
#include <stdbool.h>

enum { REDFISH_DOCS = 24 };

struct redfish_doc {
    const char *path;
    const char *body;
};

/* Change it only while no request is in progress. */
struct fake_redfish {
    struct redfish_doc doc[REDFISH_DOCS]; /* up to path NULL */
    bool open;                            /* no credentials required */
    unsigned get_status;                  /* status of all documents; 0: 200 */
    unsigned login_status;                /* 0: 201 with a token */
    bool no_token, no_location;
    bool absolute;    /* Location is a whole URL */
    const char *junk; /* sent instead of any response */
    bool hang;        /* no response at all */
    bool hang_logout; /* no response to DELETE */
    /* requests received */
    unsigned logins, logouts, basic, gets;
    char last_body[256];
    /* state of the server */
    char token[32], url[64];
    int fd;
    pthread_t thread;
};

/* user "monitor", password "pass\"word" */
void fake_redfish_start(struct fake_redfish *s);
void fake_redfish_stop(struct fake_redfish *s);

/* Forget all sessions, as a BMC does when it is reset. */
void fake_redfish_expire(struct fake_redfish *s);

/* Set a document; body NULL removes it. */
void fake_redfish_put(struct fake_redfish *s, const char *path,
                      const char *body);

#endif
