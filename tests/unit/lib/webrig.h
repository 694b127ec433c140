/* The HTTP server with real sockets and a simulated clock. */
#ifndef BJ_TESTS_UNIT_LIB_WEBRIG_H
#define BJ_TESTS_UNIT_LIB_WEBRIG_H

#include "base/httpd.h"

#define SEC ((uint64_t)1000000)
#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

enum { BIG = 16 << 20, START_SEC = 1000 };

/* A server, its clock, and data that its handlers recorded. */
struct web_rig {
    struct bj_httpd *h;
    uint64_t now;
    unsigned short port;
    unsigned calls;
    char accept[64];
    struct bj_buf response;
    const struct bj_http_request *pending_request; /* waits for its response */
};

/* /hello, /big (BIG bytes), /always (hello, exempt from limits), /later (see
 * pending_request), /failed, /head and all paths below /echo. */
extern const struct bj_http_route web_routes[];

void web_start(struct web_rig *g, struct bj_http_limits limits);
void web_stop(struct web_rig *g);

/* Run the server until it is idle. */
void web_pump(struct web_rig *g);

/* Connect, send a text and run the server; returns the client's socket. */
int web_connect(struct web_rig *g, const char *text);
/* From this address of the loopback interface. */
int web_connect_from(struct web_rig *g, const char *from, const char *text);

/* Read all data received so far, as text; NULL: none, and the connection is
 * closed. */
const char *web_receive(struct web_rig *g, int fd);

bool web_is_open(struct web_rig *g, int fd);

/* The HTTP status of a response; 0: it is not a valid response. */
unsigned web_status(const char *response);

/* Send a request on a new connection; the response is valid until the next
 * call. */
const char *web_request(struct web_rig *g, const char *text);

/* The same for n bytes, which may contain NUL. */
const char *web_send(struct web_rig *g, const char *text, size_t n);

#endif
