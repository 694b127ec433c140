/* A web server that plays a script, for tests of what asks one: it takes
 * requests one after the other, gives the answers of a list, and remembers what
 * it was asked.  It knows nothing of HTTP but where a request ends, so that an
 * answer may be as bad as is wanted. */
#ifndef BJ_TESTS_UNIT_LIB_HTTPSTUB_H
#define BJ_TESTS_UNIT_LIB_HTTPSTUB_H

#include "base/buf.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* An answer, as it goes over the line. */
struct bj_stub_answer {
    const char *text; /* NULL: hang up without reading */
    size_t n;         /* its length; 0: text is terminated */
    bool keep;        /* leave the connection open for the next request */
    unsigned wait_ms; /* before it */
    unsigned drip_ms; /* between its bytes; 0: all at once */
};

struct bj_stub {
    int fd;
    unsigned port;
    char url[64]; /* "http://127.0.0.1:PORT" */
    const struct bj_stub_answer *answers;
    size_t n;
    pthread_t thread;
    atomic_bool stop;
    /* To be read after bj_stub_end. */
    struct bj_buf seen; /* the requests as they came, terminated */
    unsigned accepted;  /* connections */
    size_t served;      /* answers given, or begun */
};

/* Listen on 127.0.0.1, or on a socket of that path, and play.  Ends the test
 * when it can't. */
void bj_stub_begin(struct bj_stub *s, const char *path,
                   const struct bj_stub_answer *answers, size_t n);

/* Stop and wait for it; what is left of the script is not played. */
void bj_stub_end(struct bj_stub *s);

/* Free what it has seen. */
void bj_stub_free(struct bj_stub *s);

#endif
