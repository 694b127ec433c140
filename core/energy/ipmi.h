/* Requests to the machine's own BMC through the IPMI device of the kernel.
 *
 * A handle is an open device, for one thread.  Each request has its own id, so
 * that a late response to a request that timed out is never used for the next
 * one.
 *
 * Source: linux/ipmi.h, kernel driver-api/ipmi.rst; IPMI v2.0 rev. 1.1,
 * section 5.2 (completion codes), 20.1 (Get Device ID). */
#ifndef BJ_CORE_ENERGY_IPMI_H
#define BJ_CORE_ENERGY_IPMI_H

#include "base/err.h"
#include "core/energy/meter.h"

#include <stddef.h>
#include <stdint.h>

enum {
    BJ_IPMI_MAX = 272,  /* maximum size of a message */
    BJ_IPMI_BMC = 0x20, /* address of the BMC itself */
    BJ_IPMI_APP = 0x06, /* network functions */
    BJ_IPMI_SENSOR = 0x04,
    BJ_IPMI_STORAGE = 0x0a,
};

/* Completion codes that a meter treats specially. */
enum {
    BJ_IPMI_NOT_ACTIVE = 0x80, /* DCMI: no power limit is active */
    BJ_IPMI_NAK = 0x83,        /* no device at that address of the bus */
    BJ_IPMI_BUSY = 0xc0,
    BJ_IPMI_UNKNOWN = 0xc1,
    BJ_IPMI_CANCELLED = 0xc5, /* the reservation is no longer valid */
    BJ_IPMI_TOO_LONG = 0xc8,
    BJ_IPMI_TOO_MANY = 0xca, /* cannot return so many bytes at a time */
    BJ_IPMI_UNSPECIFIED = 0xff,
};

/* The system calls, which tests replace to simulate a BMC.  All return -errno
 * on failure. */
struct bj_ipmi_sys {
    void *ctx;
    int (*open)(void *ctx, const char *path); /* for reading and writing */
    int (*ioctl)(void *ctx, int fd, unsigned long what, void *arg);
    /* 1: fd is readable; 0: not within that time, or a signal.  fd -1 only
     * waits. */
    int (*poll)(void *ctx, int fd, int timeout_msec);
    void (*close)(void *ctx, int fd);
    uint64_t (*now_usec)(void *ctx); /* CLOCK_BOOTTIME */
};

/* The system calls of the kernel. */
extern const struct bj_ipmi_sys bj_ipmi_kernel;

/* Whether the device file exists, even if there is no BMC.  Function present of
 * all meters that use IPMI. */
bool bj_ipmi_present(const struct bj_meter_env *env);

struct bj_ipmi;

/* Open the device (env->conf->ipmi_device, else the usual names below
 * env->devfs).  env->stop and env->conf must live as long as the handle; sys is
 * copied.  -ENODEV: no device.  -EACCES, with a message that shows what to
 * change. */
int bj_ipmi_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                 struct bj_ipmi **ret, struct bj_err *err);

/* NULL is fine. */
void bj_ipmi_close(struct bj_ipmi *bmc);

/* A request to the BMC, or to another device on its bus (IPMB). */
struct bj_ipmi_send {
    const char *what; /* for messages */
    uint8_t netfn, cmd, lun;
    uint8_t slave;   /* address on the bus; 0 or BJ_IPMI_BMC: the BMC */
    uint8_t channel; /* of the bus */
    const uint8_t *data;
    size_t n;
};

/* The response from the kernel; the completion code is its first byte. */
struct bj_ipmi_reply {
    size_t n;
    uint8_t b[BJ_IPMI_MAX];
};

/* Send a request and wait for the response, env->conf->timeout_usec at most.
 * The request is repeated within that time if the BMC reports that it is busy.
 * Returns 0 for completion code 0, else a fault of meter.h; reply->n is above 0
 * if there was a response with another completion code.
 *   -ENODEV     the device has gone, or the BMC does not know the command or
 *               has no such bus
 *   -ETIMEDOUT  no response, or only "busy" or "timeout"
 *   -EACCES     the BMC requires a higher privilege
 *   -EBADMSG    the BMC rejects the length; an empty response
 *   -ESTALE     the reservation is no longer valid
 *   -EIO        any other completion code
 *   -ECANCELED  env->stop */
int bj_ipmi_send(struct bj_ipmi *bmc, const struct bj_ipmi_send *request,
                 struct bj_ipmi_reply *reply, struct bj_err *err);

/* Convert the result r of a meter's first request to the result of opening the
 * meter: -ENODEV if the BMC refused the request with any completion code, else
 * r. */
int bj_ipmi_missing(int r, const struct bj_ipmi_reply *reply);

/* Identity of the BMC. */
struct bj_ipmi_id {
    uint32_t manufacturer; /* IANA enterprise number */
    bool repository;       /* it stores sensor data records of all sensors */
    bool device_records;   /* it stores records of its own sensors */
};
int bj_ipmi_identify(struct bj_ipmi *bmc, struct bj_ipmi_id *ret,
                     struct bj_err *err);

enum { BJ_IPMI_WATTS_MAX = 30000 };

/* -ERANGE, with a message, for values that are no power of a node: 0 W, 65535 W
 * (unknown), more than BJ_IPMI_WATTS_MAX. */
int bj_ipmi_plausible(uint64_t watts, struct bj_err *err);

/* A number in a message, low byte first. */
static inline uint32_t bj_ipmi_le(const uint8_t *p, unsigned bytes)
{
    uint32_t v = 0;
    for (unsigned i = bytes; i > 0; i--)
        v = v << 8 | p[i - 1];
    return v;
}

/* --- the meters with other system calls, for tests ------------------------*/

int bj_dcmi_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                 void **ret, struct bj_err *err);
int bj_nm_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
               void **ret, struct bj_err *err);
int bj_xcc_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err);
int bj_sdr_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err);

/* --- their decoders, of responses with completion code 0 ------------------*/

/* Get Power Reading of DCMI: the watts.  -EBADMSG, -ERANGE; -ENODATA when the
 * measurement is not active, unless inactive allows that. */
int bj_dcmi_decode(const struct bj_ipmi_reply *reply, bool inactive,
                   uint64_t *ret_watts, struct bj_err *err);

/* Get Node Manager Statistics: the watts.  -EBADMSG, -ERANGE. */
int bj_nm_decode(const struct bj_ipmi_reply *reply, uint64_t *ret_watts,
                 struct bj_err *err);

/* Lenovo's energy reading: the counter or the power; the other one is
 * absent. */
int bj_xcc_decode(const struct bj_ipmi_reply *reply, uint64_t *ret_uj,
                  uint64_t *ret_uw, struct bj_err *err);

#endif
