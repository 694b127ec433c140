#include "core/energy/ipmi.h"

#include "base/clock.h"

#include <fcntl.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    SLICE_MSEC = 100, /* longest wait between checks of stop */
    BUSY_MSEC = 50,   /* between two requests to a busy BMC */
};

struct bj_ipmi {
    struct bj_ipmi_sys sys;
    const atomic_bool *stop;
    uint64_t timeout_usec;
    int fd;
    long msgid;
};

/* --- the kernel -----------------------------------------------------------*/

static int kernel_open(void *ctx, const char *path)
{
    (void)ctx;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static int kernel_ioctl(void *ctx, int fd, unsigned long what, void *arg)
{
    (void)ctx;
    return ioctl(fd, what, arg) < 0 ? -errno : 0;
}

static int kernel_poll(void *ctx, int fd, int timeout_msec)
{
    (void)ctx;
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int r = poll(&p, 1, timeout_msec);
    if (r < 0)
        return errno == EINTR ? 0 : -errno;
    if (r > 0 && !(p.revents & POLLIN))
        return -ENODEV;
    return r;
}

static void kernel_close(void *ctx, int fd)
{
    (void)ctx;
    close(fd);
}

static uint64_t kernel_now(void *ctx)
{
    (void)ctx;
    return bj_clock_boot_usec();
}

const struct bj_ipmi_sys bj_ipmi_kernel = {
    .open = kernel_open,
    .ioctl = kernel_ioctl,
    .poll = kernel_poll,
    .close = kernel_close,
    .now_usec = kernel_now,
};

/* --- opening --------------------------------------------------------------*/

static const char *const device_names[] = {"ipmi0", "ipmi/0", "ipmidev/0"};
enum { NAMES = sizeof(device_names) / sizeof(device_names[0]) };

static bool is_given(const struct bj_energy_conf *conf)
{
    return conf->ipmi_device && conf->ipmi_device[0];
}

bool bj_ipmi_present(const struct bj_meter_env *env)
{
    char path[256];
    if (is_given(env->conf))
        return access(env->conf->ipmi_device, F_OK) == 0;
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "%s/%s", env->devfs, device_names[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

/* Whether the error means that the device file has no BMC. */
static bool no_device(int code)
{
    return code == -ENOENT || code == -ENOTDIR || code == -ENODEV ||
           code == -ENXIO || code == -ESHUTDOWN || code == -ENOTTY;
}

static int try_open(struct bj_ipmi *bmc, const char *path, struct bj_err *err)
{
    int fd = bmc->sys.open(bmc->sys.ctx, path);
    if (fd >= 0) {
        bmc->fd = fd;
        return 0;
    }
    if (no_device(fd))
        return bj_err_set(err, -ENODEV, "no IPMI device %s", path);
    if (fd == -EACCES || fd == -EPERM)
        return bj_err_set(err, -EACCES,
                          "open %s: needs CAP_DAC_OVERRIDE, or a udev rule "
                          "that lets our group read and write it",
                          path);
    return bj_err_set(err, fd, "open %s", path);
}

static int find_device(struct bj_ipmi *bmc, const struct bj_meter_env *env,
                       struct bj_err *err)
{
    char path[256];
    if (is_given(env->conf))
        return try_open(bmc, env->conf->ipmi_device, err);
    for (size_t i = 0; i < NAMES; i++) {
        snprintf(path, sizeof(path), "%s/%s", env->devfs, device_names[i]);
        int r = try_open(bmc, path, err);
        if (r != -ENODEV)
            return r;
    }
    return bj_err_set(err, -ENODEV, "no IPMI device in %s", env->devfs);
}

int bj_ipmi_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                 struct bj_ipmi **ret, struct bj_err *err)
{
    struct bj_ipmi *bmc = calloc(1, sizeof(*bmc));
    if (!bmc)
        return bj_err_set(err, -ENOMEM, "IPMI");
    *bmc = (struct bj_ipmi){
        .sys = *sys,
        .stop = env->stop,
        .timeout_usec = env->conf->timeout_usec,
    };
    int r = find_device(bmc, env, err);
    if (r < 0) {
        free(bmc);
        return r;
    }
    *ret = bmc;
    return 0;
}

void bj_ipmi_close(struct bj_ipmi *bmc)
{
    if (!bmc)
        return;
    bmc->sys.close(bmc->sys.ctx, bmc->fd);
    free(bmc);
}

/* --- requests -------------------------------------------------------------*/

/* A request in progress. */
struct transfer {
    const struct bj_ipmi_send *request;
    struct bj_ipmi_reply *reply;
    uint64_t deadline_usec;
    struct bj_err *err;
};

static int device_fault(const struct transfer *t, int code, const char *doing)
{
    if (no_device(code))
        return bj_err_set(t->err, -ENODEV, "%s: the device has gone",
                          t->request->what);
    return bj_err_set(t->err, code, "%s: %s", t->request->what, doing);
}

static int send_request(struct bj_ipmi *bmc, const struct transfer *t)
{
    struct ipmi_system_interface_addr direct = {
        .addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
        .channel = IPMI_BMC_CHANNEL,
        .lun = t->request->lun,
    };
    struct ipmi_ipmb_addr bridged = {
        .addr_type = IPMI_IPMB_ADDR_TYPE,
        .channel = t->request->channel,
        .slave_addr = t->request->slave,
        .lun = t->request->lun,
    };
    bool behind = t->request->slave != 0 && t->request->slave != BJ_IPMI_BMC;
    uint8_t data[BJ_IPMI_MAX];
    if (t->request->n > sizeof(data))
        return bj_err_set(t->err, -EINVAL, "%s: too long", t->request->what);
    if (t->request->n > 0)
        memcpy(data, t->request->data, t->request->n);
    struct ipmi_req req = {
        .addr = (unsigned char *)(behind ? (void *)&bridged : (void *)&direct),
        .addr_len = behind ? sizeof(bridged) : sizeof(direct),
        .msgid = ++bmc->msgid,
        .msg = {.netfn = t->request->netfn,
                .cmd = t->request->cmd,
                .data_len = (unsigned short)t->request->n,
                .data = data},
    };
    int r;
    do
        r = bmc->sys.ioctl(bmc->sys.ctx, bmc->fd, IPMICTL_SEND_COMMAND, &req);
    while (r == -EINTR);
    if (r == -EINVAL && behind)
        return bj_err_set(t->err, -ENODEV, "%s: the BMC has no bus %u",
                          t->request->what, t->request->channel);
    return r < 0 ? device_fault(t, r, "send") : 0;
}

/* 1: the response is in *t->reply; 0: no message, or one for another
 * request. */
static int receive(struct bj_ipmi *bmc, const struct transfer *t)
{
    struct ipmi_addr from;
    uint8_t data[BJ_IPMI_MAX];
    struct ipmi_recv recv = {
        .addr = (unsigned char *)&from,
        .addr_len = sizeof(from),
        .msg = {.data = data, .data_len = sizeof(data)},
    };
    int r =
        bmc->sys.ioctl(bmc->sys.ctx, bmc->fd, IPMICTL_RECEIVE_MSG_TRUNC, &recv);
    if (r == -EAGAIN || r == -EINTR)
        return 0;
    /* Of a response that is too long, the kernel returns the beginning. */
    if (r < 0 && r != -EMSGSIZE)
        return device_fault(t, r, "receive");
    if (recv.recv_type != IPMI_RESPONSE_RECV_TYPE || recv.msgid != bmc->msgid)
        return 0;
    size_t n = recv.msg.data_len;
    t->reply->n = n < sizeof(data) ? n : sizeof(data);
    memcpy(t->reply->b, data, t->reply->n);
    return 1;
}

static bool stopping(const struct bj_ipmi *bmc)
{
    return bmc->stop && atomic_load(bmc->stop);
}

/* Wait until fd is readable, or for that time if fd is -1, at most until the
 * deadline. */
static int wait_some(struct bj_ipmi *bmc, const struct transfer *t, int fd,
                     unsigned msec)
{
    uint64_t now = bmc->sys.now_usec(bmc->sys.ctx);
    if (stopping(bmc))
        return bj_err_set(t->err, -ECANCELED, "%s: stopped", t->request->what);
    if (now >= t->deadline_usec)
        return bj_err_set(t->err, -ETIMEDOUT, "%s: %s", t->request->what,
                          fd < 0 ? "the BMC is busy" : "no answer");
    uint64_t left = (t->deadline_usec - now + 999) / 1000;
    int r = bmc->sys.poll(bmc->sys.ctx, fd, (int)(left < msec ? left : msec));
    return r < 0 ? device_fault(t, r, "poll") : r;
}

static int exchange(struct bj_ipmi *bmc, const struct transfer *t)
{
    int r = send_request(bmc, t);
    while (r == 0) {
        r = wait_some(bmc, t, bmc->fd, SLICE_MSEC);
        if (r > 0)
            r = receive(bmc, t);
    }
    return r < 0 ? r : 0;
}

static const struct {
    uint8_t code;
    int fault;
    const char *text;
} completions[] = {
    {0x82, -EIO, "the bus is busy"},
    {BJ_IPMI_NAK, -EIO, "no device at that address of the bus"},
    {BJ_IPMI_UNKNOWN, -ENODEV, "the BMC does not know this command"},
    {0xc2, -ENODEV, "the BMC does not know this command at this LUN"},
    {0xc3, -ETIMEDOUT, "timeout within the BMC"},
    {BJ_IPMI_CANCELLED, -ESTALE, "the reservation was cancelled"},
    {0xc6, -EBADMSG, "the BMC finds the question too long"},
    {0xc7, -EBADMSG, "the BMC finds the question's length wrong"},
    {BJ_IPMI_TOO_LONG, -EBADMSG, "the BMC finds a length out of range"},
    {0xc9, -EIO, "the BMC finds a parameter out of range"},
    {BJ_IPMI_TOO_MANY, -EIO, "the BMC cannot return so many bytes"},
    {0xcb, -ENODEV, "there is no such sensor or record"},
    {0xcc, -EIO, "the BMC finds a field invalid"},
    {0xce, -EIO, "the BMC could give no answer"},
    {0xd0, -EIO, "the records are being updated"},
    {0xd1, -EIO, "the BMC's firmware is being updated"},
    {0xd2, -EIO, "the BMC is starting"},
    {0xd3, -EIO, "the destination is not available"},
    {0xd4, -EACCES, "the BMC wants a higher privilege"},
    {0xd5, -EIO, "not in this state of the BMC"},
    {0xd6, -EIO, "disabled in the BMC"},
    {BJ_IPMI_UNSPECIFIED, -EIO, "unspecified error of the BMC"},
};

static int completion(const struct transfer *t)
{
    uint8_t code = t->reply->b[0];
    if (t->reply->n == 0)
        return bj_err_set(t->err, -EBADMSG, "%s: empty answer",
                          t->request->what);
    if (code == 0)
        return 0;
    for (size_t i = 0; i < sizeof(completions) / sizeof(completions[0]); i++) {
        if (completions[i].code == code)
            return bj_err_say(t->err, completions[i].fault, "%s: %s (0x%02X)",
                              t->request->what, completions[i].text, code);
    }
    return bj_err_set(t->err, -EIO, "%s: completion code 0x%02X",
                      t->request->what, code);
}

int bj_ipmi_send(struct bj_ipmi *bmc, const struct bj_ipmi_send *request,
                 struct bj_ipmi_reply *reply, struct bj_err *err)
{
    uint64_t deadline = bmc->sys.now_usec(bmc->sys.ctx) + bmc->timeout_usec;
    struct transfer t = {request, reply, deadline, err};
    reply->n = 0;
    for (;;) {
        int r = exchange(bmc, &t);
        if (r < 0) {
            reply->n = 0;
            return r;
        }
        if (reply->n == 0 || reply->b[0] != BJ_IPMI_BUSY)
            return completion(&t);
        r = wait_some(bmc, &t, -1, BUSY_MSEC);
        if (r == 0)
            r = wait_some(bmc, &t, -1, 0); /* is there time to repeat it? */
        if (r < 0)
            return r;
    }
}

int bj_ipmi_missing(int r, const struct bj_ipmi_reply *reply)
{
    bool refused = reply->n > 0 && reply->b[0] != 0;
    return refused && (r == -EIO || r == -EBADMSG) ? -ENODEV : r;
}

/* --- shared by the meters -------------------------------------------------*/

int bj_ipmi_identify(struct bj_ipmi *bmc, struct bj_ipmi_id *ret,
                     struct bj_err *err)
{
    const struct bj_ipmi_send request = {
        .what = "Get Device ID", .netfn = BJ_IPMI_APP, .cmd = 0x01};
    struct bj_ipmi_reply reply;
    int r = bj_ipmi_send(bmc, &request, &reply, err);
    if (r < 0)
        return r;
    if (reply.n < 12)
        return bj_err_set(err, -EBADMSG, "%s: %zu bytes", request.what,
                          reply.n);
    *ret = (struct bj_ipmi_id){
        .device_records = reply.b[2] & 0x80,
        .repository = reply.b[6] & 0x02,
        .manufacturer = bj_ipmi_le(reply.b + 7, 3) & 0xfffff,
    };
    return 0;
}

int bj_ipmi_plausible(uint64_t watts, struct bj_err *err)
{
    if (watts > 0 && watts <= BJ_IPMI_WATTS_MAX)
        return 0;
    return bj_err_set(err, -ERANGE, "%llu W is not plausible",
                      (unsigned long long)watts);
}
