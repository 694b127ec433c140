/* Errors of the gate in Prometheus' format. */
#ifndef BJ_APISERVER_GATE_GATE_ERROR_H
#define BJ_APISERVER_GATE_GATE_ERROR_H

#include "apiserver/frame/call.h"

/* Rewrite the response to a refused call in that format. */
void bj_gate_refused(struct bj_call *c);

/* Refuse a call with an errorType of Prometheus.  Returns status. */
int bj_gate_refuse(struct bj_call *c, unsigned status, const char *type,
                   const char *fmt, ...) __attribute__((format(printf, 4, 5)));

#endif
