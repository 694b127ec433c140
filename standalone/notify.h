/* Telling systemd how we are.  Source: sd_notify(3), "Notes": one datagram to
 * the socket named by NOTIFY_SOCKET. */
#ifndef BJ_STANDALONE_NOTIFY_H
#define BJ_STANDALONE_NOTIFY_H

#include "base/err.h"

#include <stdint.h>

/* Send state ("READY=1").  0, also when nobody asked for it, or -errno. */
int bj_notify(const char *state, struct bj_err *err);

/* The pace at which the watchdog wants to hear from us, halved: WATCHDOG_USEC,
 * when WATCHDOG_PID is unset or ours.  0: there is no watchdog. */
uint64_t bj_notify_pace(void);

#endif
