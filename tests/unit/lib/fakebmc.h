/* A BMC behind an IPMI device that is not there: it answers what rules say, in
 * a time of its own that passes only while somebody waits. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEBMC_H
#define BJ_TESTS_UNIT_LIB_FAKEBMC_H

#include "core/energy/ipmi.h"

#include <stdatomic.h>

enum { FAKE_RULES = 32, FAKE_QUEUE = 64, FAKE_RECORDS = 300, FAKE_RECORD = 64 };

/* What to do with a question.  Rules are looked through in their order; the
 * first that fits is followed.  Bytes are given as "00 DC 4C". */
struct fake_rule {
    int netfn, cmd;     /* 0: any */
    int slave;          /* 0: any, also the BMC */
    const char *data;   /* how the question's data begins; NULL: any */
    const char *answer; /* NULL: none ever comes */
    unsigned times;     /* how often it fits; 0: always */
    unsigned delay_msec;
    int send_fault;    /* sending fails with that errno (positive) */
    int receive_fault; /* so does fetching the answer, once */
    bool stale;        /* first comes the same answer to an earlier question,
                          with 99 as its third byte */
    bool event;        /* first come an event and somebody's command */
    bool cut;          /* the kernel says EMSGSIZE */
};

struct fake_message {
    uint64_t ready_usec;
    int type, fault;
    long msgid;
    bool cut;
    uint8_t b[BJ_IPMI_MAX];
    size_t n;
};

struct fake_bmc {
    struct bj_ipmi_sys sys; /* hand this over */
    struct bj_energy_conf conf;
    struct bj_meter_env env; /* and this */
    struct bj_err err;

    struct fake_rule rule[FAKE_RULES];
    size_t rules;
    unsigned used[FAKE_RULES];
    const char *no_answer; /* to what no rule fits; "C1" */

    /* Sensor data records, as Get SDR returns them. */
    uint8_t record[FAKE_RECORDS][FAKE_RECORD];
    size_t records;
    bool device_records;   /* of the device, not of a repository */
    bool no_reserve;       /* reservations are unknown, 0 always holds */
    bool endless;          /* the last record is followed by the first */
    unsigned chunk;        /* bytes that Get SDR returns at a time; 0: any */
    uint8_t chunk_code;    /* the complaint about more */
    unsigned cancel_after; /* reservations hold for so many questions; 0: any */
    unsigned reservation, reserved_uses;
    uint32_t changed; /* time stamp of the repository */

    int open_fault; /* errno of open */
    const char *open_path;
    bool gone; /* every system call fails with ENODEV */
    atomic_bool stop;
    uint64_t stop_usec; /* when stop is set; 0: never */

    uint64_t now_usec;
    unsigned asked, opened, closed, paths;
    long last_msgid;
    bool msgid_again; /* an id was used a second time */
    struct fake_message queue[FAKE_QUEUE];
    size_t queued;
};

/* A BMC that identifies itself and knows nothing else; time limit 2 s. */
void fake_bmc_init(struct fake_bmc *f);
void fake_bmc_rule(struct fake_bmc *f, struct fake_rule rule);

/* A rule without conditions. */
void fake_bmc_says(struct fake_bmc *f, int netfn, int cmd, const char *answer);
void fake_bmc_no_rules(struct fake_bmc *f);

/* Hex text into bytes; how many. */
size_t fake_hex(const char *text, uint8_t *b, size_t cap);

/* The bytes in a file with what a BMC has really said, "rcvd: 02 00 DC ...",
 * without the command at the front. */
struct bj_ipmi_reply fake_recorded(const char *path);

/* A full sensor record like those of real BMCs. */
struct fake_sensor {
    const char *name;
    uint8_t number, type, entity, owner, lun;
    uint8_t units1, unit, modifier, linear; /* unit: 6 are watts */
    int m, b, rexp, bexp;
};
void fake_bmc_sensor(struct fake_bmc *f, struct fake_sensor s);

#endif
