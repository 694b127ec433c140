/* A Redfish service on 127.0.0.1, in a thread: documents, sessions and faults
 * as a test wants them. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEREDFISH_H
#define BJ_TESTS_UNIT_LIB_FAKEREDFISH_H

#include <pthread.h>
#include <stdbool.h>

enum { REDFISH_DOCS = 24 };

struct redfish_doc {
    const char *path;
    const char *body;
};

/* Change it only while nobody asks. */
struct fake_redfish {
    struct redfish_doc doc[REDFISH_DOCS]; /* up to path NULL */
    bool open;                            /* no credentials are wanted */
    unsigned get_status;                  /* of all documents; 0: their own */
    unsigned login_status;                /* 0: 201 with a token */
    bool no_token, no_location;
    bool absolute;     /* Location is a whole URL */
    const char *junk;  /* sent in place of any answer, as it is */
    bool hang;         /* no answer at all */
    bool hang_goodbye; /* none to DELETE */
    /* what was seen */
    unsigned logins, logouts, basic, gets;
    char last_body[256];
    /* of the server */
    char token[32], url[64];
    int fd;
    pthread_t thread;
};

/* user "monitor", password "pass\"word" */
void fake_redfish_start(struct fake_redfish *s);
void fake_redfish_stop(struct fake_redfish *s);

/* Forget all sessions, as a BMC does when it is reset. */
void fake_redfish_expire(struct fake_redfish *s);

/* Set a document; body NULL: it is gone. */
void fake_redfish_put(struct fake_redfish *s, const char *path,
                      const char *body);

#endif
