/* A scripted web server for tests of HTTP clients: it receives requests one
 * after the other, sends the responses of a list, and records the requests.  Of
 * HTTP it only recognizes the end of a request, so a response may be arbitrary
 * bytes. */
#ifndef BJ_TESTS_UNIT_LIB_HTTPSTUB_H
#define BJ_TESTS_UNIT_LIB_HTTPSTUB_H

#include "base/buf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* The raw bytes of a response. */
struct bj_stub_response {
    const char *text; /* NULL: close without reading */
    size_t n;         /* its length; 0: text is terminated */
    bool keep;        /* leave the connection open for the next request */
    unsigned wait_ms; /* before the response */
    unsigned drip_ms; /* between its bytes; 0: all at once */
};

struct bj_stub {
    int fd;
    unsigned port;
    char url[64]; /* "http://127.0.0.1:PORT" */
    const struct bj_stub_response *responses;
    size_t n;
    pthread_t thread;
    atomic_bool stop;
    /* Read these only after bj_stub_end. */
    struct bj_buf received; /* all requests received, terminated */
    unsigned accepted;      /* connections */
    size_t served;          /* responses sent or begun */
};

/* Listen on 127.0.0.1, or on a Unix socket with this path, and run the script.
 * An error fails the test. */
void bj_stub_begin(struct bj_stub *s, const char *path,
                   const struct bj_stub_response *responses, size_t n);

/* Stop the server's thread, even if responses are left. */
void bj_stub_end(struct bj_stub *s);

/* Free the recorded requests. */
void bj_stub_free(struct bj_stub *s);

#endif
