/* Options of the energy part.  The option table is core/conf.c. */
#ifndef BJ_CORE_ENERGY_CONF_H
#define BJ_CORE_ENERGY_CONF_H

#include "base/opt.h"

#include <stdbool.h>

struct bj_energy_conf {
    struct bj_strv meters; /* kinds; empty: all that exist, except those that
                              must be configured (redfish, command) */
    uint64_t period_usec;  /* of the fast meters and the ledger */
    uint64_t slow_usec;    /* of the slow meters */
    uint64_t timeout_usec; /* for one command to a slow meter */
    char *policy;          /* "hybrid", "usage", "reservation" */
    uint64_t idle_watts;   /* of the node without jobs; 0: learn */
    char *state_file;      /* "": none */
    char *ipmi_device;     /* "": /dev/ipmi0, /dev/ipmi/0, /dev/ipmidev/0 */
    bool ipmi_inactive;    /* power that the BMC marks as not active counts */
    char *command;     /* program and arguments, split at blanks; no shell */
    char *redfish_url; /* "https://bmc" ; "": none */
    char *redfish_user, *redfish_password_file;
    char *redfish_ca_file;          /* "": the system's */
    bool redfish_insecure;          /* certificate not verified */
    struct bj_strv redfish_chassis; /* ids of the chassis of this node; empty:
                                       all */
    char *spool_dir;                /* final records; "": none */
    uint64_t spool_bytes;           /* limit of the spool */
};

/* A copy for a thread that may outlive the options; -ENOMEM. */
int bj_energy_conf_copy(struct bj_energy_conf *to,
                        const struct bj_energy_conf *from);
void bj_energy_conf_free(struct bj_energy_conf *c);

#endif
