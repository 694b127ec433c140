/* The HTTP server over real sockets and a clock of the test's own. */
#ifndef BJ_TESTS_UNIT_LIB_WEBRIG_H
#define BJ_TESTS_UNIT_LIB_WEBRIG_H

#include "base/httpd.h"

#define SEC ((uint64_t)1000000)
#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

enum { BIG = 16 << 20, START_SEC = 1000 };

/* A server, its clock, and what its handlers have seen. */
struct web_rig {
    struct bj_httpd *h;
    uint64_t now;
    unsigned short port;
    unsigned calls;
    char accept[64];
    struct bj_buf answer;
    const struct bj_http_request *waiting; /* for its answer */
};

/* /hello, /big (BIG bytes), /always (hello at any limit), /later (see waiting),
 * /failed, /head and what is below /echo. */
extern const struct bj_http_route web_routes[];

void web_start(struct web_rig *g, struct bj_http_limits limits);
void web_stop(struct web_rig *g);

/* Serve until nothing is left to do at once. */
void web_pump(struct web_rig *g);

/* Connect, send a text and serve; the client's end. */
int web_dial(struct web_rig *g, const char *text);

/* What there is to read without waiting, as text; NULL at the end. */
const char *web_take(struct web_rig *g, int fd);

bool web_is_open(struct web_rig *g, int fd);

/* The status of an answer; 0: it is none. */
unsigned web_status(const char *answer);

/* Ask on a connection of its own; the answer stays until the next. */
const char *web_ask(struct web_rig *g, const char *text);

#endif
