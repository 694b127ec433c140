/* Messages to systemd. Source: sd_notify(3), "Notes": one datagram to the
 * socket in NOTIFY_SOCKET. */
#ifndef BJ_BASE_NOTIFY_H
#define BJ_BASE_NOTIFY_H

#include "base/err.h"

#include <stdint.h>

/* Send state ("READY=1"). 0, also without NOTIFY_SOCKET, or -errno. */
int bj_notify(const char *state, struct bj_err *err);

/* Half of the watchdog's interval, from WATCHDOG_USEC if WATCHDOG_PID is unset
 * or this process. 0: no watchdog. */
uint64_t bj_notify_interval(void);

#endif
