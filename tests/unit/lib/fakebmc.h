/* A simulated BMC behind a simulated IPMI device.  It responds as its rules
 * define; its clock advances only while the caller waits. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEBMC_H
#define BJ_TESTS_UNIT_LIB_FAKEBMC_H

#include "core/energy/ipmi.h"

#include <stdatomic.h>

enum { FAKE_RULES = 32, FAKE_QUEUE = 64, FAKE_RECORDS = 300, FAKE_RECORD = 64 };

/* How to respond to a command.  The first rule that matches applies.  Bytes are
 * written as "00 DC 4C". */
struct fake_rule {
    int netfn, cmd;       /* 0: any */
    int slave;            /* 0: any, including the BMC */
    const char *data;     /* the first bytes of the command's data; NULL: any */
    const char *response; /* NULL: no response */
    unsigned times;       /* how often the rule applies; 0: always */
    unsigned delay_msec;
    int send_fault;    /* sending fails with this errno (positive) */
    int receive_fault; /* receiving the response fails, once */
    bool stale;        /* first send the same response with the id of an earlier
                          command and 99 as its third byte */
    bool event;     /* first send an event and a command from another sender */
    bool truncated; /* the kernel returns EMSGSIZE */
};

struct fake_message {
    uint64_t ready_usec;
    int type, fault;
    long msgid;
    bool truncated;
    uint8_t b[BJ_IPMI_MAX];
    size_t n;
};

struct fake_bmc {
    struct bj_ipmi_sys sys; /* system calls for the code under test */
    struct bj_energy_conf conf;
    struct bj_meter_env env; /* its environment */
    struct bj_err err;

    struct fake_rule rule[FAKE_RULES];
    size_t rules;
    unsigned used[FAKE_RULES];
    const char *default_response; /* response if no rule matches; "C1" */

    /* Sensor data records, as Get SDR returns them. */
    uint8_t record[FAKE_RECORDS][FAKE_RECORD];
    size_t records;
    bool device_records;   /* kept by the device, not by a repository */
    bool no_reserve;       /* no reservations; 0 is always valid */
    bool endless;          /* the last record is followed by the first */
    unsigned chunk;        /* the most bytes per Get SDR; 0: any number */
    uint8_t chunk_code;    /* the error code for more bytes */
    unsigned cancel_after; /* commands per reservation; 0: any number */
    unsigned reservation, reserved_uses;
    uint32_t changed; /* time stamp of the repository */

    int open_fault; /* errno of open */
    const char *open_path;
    bool device_gone; /* every call fails with ENODEV */
    atomic_bool stop;
    uint64_t stop_usec; /* time at which stop is set; 0: never */

    uint64_t now_usec;
    unsigned commands, opened, closed, open_calls;
    long last_msgid;
    bool msgid_repeated; /* a message id was used twice */
    struct fake_message queue[FAKE_QUEUE];
    size_t queued;
};

/* A BMC without rules and sensors; the timeout is 2 s. */
void fake_bmc_init(struct fake_bmc *f);
void fake_bmc_rule(struct fake_bmc *f, struct fake_rule rule);

/* Add a rule for a command, with any data. */
void fake_bmc_respond(struct fake_bmc *f, int netfn, int cmd,
                      const char *response);
void fake_bmc_clear_rules(struct fake_bmc *f);

/* Convert hexadecimal text to bytes; returns their number. */
size_t fake_hex(const char *text, uint8_t *b, size_t cap);

/* The bytes of a file with a recorded response of a real BMC, "rcvd: 02 00 DC
 * ...", without the leading command code. */
struct bj_ipmi_reply fake_read_recording(const char *path);

/* A full sensor record like those of real BMCs. */
struct fake_sensor {
    const char *name;
    uint8_t number, type, entity, owner, lun;
    uint8_t units1, unit, modifier, linear; /* unit 6: watts */
    int m, b, rexp, bexp;
};
void fake_bmc_sensor(struct fake_bmc *f, struct fake_sensor s);

#endif
