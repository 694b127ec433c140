/* The connection to the master agent, in a thread of its own: opens it again
 * whenever it ends, registers the MIB, answers requests, sends notifications.
 * It never waits for the master while it holds anything that a pass needs. */
#ifndef BJ_SNMP_SESSION_H
#define BJ_SNMP_SESSION_H

#include "snmp-agent/view.h"

struct bj_session_conf {
    char *socket;          /* "/var/agentx/master", "tcp:127.0.0.1:705" */
    uint64_t timeout_usec; /* for each reply of the master */
    uint64_t ping_usec;    /* silence after which it is tested */
};

/* For options: 0, or -EINVAL with a message.  TCP only on this machine, since
 * AgentX knows neither passwords nor encryption. */
int bj_session_check(const char *socket, struct bj_err *err);

struct bj_session;

/* Start the thread.  conf and view must outlive the session. */
int bj_session_start(const struct bj_session_conf *conf,
                     const struct bj_oid *base, struct bj_snmp_view *view,
                     struct bj_session **ret, struct bj_err *err);
/* Close the session and end the thread.  NULL is fine. */
void bj_session_free(struct bj_session *s);

/* Send a notification of these variables (bj_pdu_put_value), from any thread;
 * without a master it waits for one.  Takes the buffer.  False: it is left out,
 * as many wait or there is no memory. */
bool bj_session_notify(struct bj_session *s, struct bj_buf variables);

/* For check-config: open a session and close it again; 0, or -errno with a
 * message. */
int bj_session_try(const struct bj_session_conf *conf, struct bj_err *err);

#endif
