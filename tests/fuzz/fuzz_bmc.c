/* A simulated BMC that sends any responses in any order: the input has a length
 * byte before each.  Opening and reading the meters ends within the deadlines
 * of their requests. */
#include "core/energy/ipmi.h"
#include "tests/fuzz/fuzz.h"

#include <linux/ipmi.h>
#include <sys/ioctl.h>

enum { REQUESTS_MAX = 20000 };

struct bmc {
    struct bj_slice script;
    uint64_t now_usec;
    long msgid;
    bool requested;
    unsigned sent;
};

static int on_open(void *ctx, const char *path)
{
    (void)ctx;
    (void)path;
    return 3;
}

static int on_receive(struct bmc *b, struct ipmi_recv *to)
{
    if (!b->requested || b->script.n == 0)
        return -EAGAIN;
    size_t n = (uint8_t)b->script.p[0];
    b->script.p++;
    b->script.n--;
    if (n == 255) /* an event, not a response */
        to->recv_type = IPMI_ASYNC_EVENT_RECV_TYPE;
    else
        to->recv_type = IPMI_RESPONSE_RECV_TYPE;
    to->msgid = n == 254 ? b->msgid - 1 : b->msgid;
    if (n > b->script.n)
        n = b->script.n;
    if (n > to->msg.data_len)
        n = to->msg.data_len;
    memcpy(to->msg.data, b->script.p, n);
    to->msg.data_len = (unsigned short)n;
    b->script.p += n;
    b->script.n -= n;
    return n == 200 ? -EMSGSIZE : 0;
}

static int on_ioctl(void *ctx, int fd, unsigned long what, void *arg)
{
    struct bmc *b = ctx;
    MUST(fd == 3);
    if (what != IPMICTL_SEND_COMMAND)
        return on_receive(b, arg);
    const struct ipmi_req *q = arg;
    MUST(q->msgid > b->msgid && ++b->sent < REQUESTS_MAX);
    b->msgid = q->msgid;
    b->requested = true;
    return 0;
}

static int on_poll(void *ctx, int fd, int timeout_msec)
{
    struct bmc *b = ctx;
    MUST(timeout_msec >= 0);
    if (fd >= 0 && b->script.n > 0)
        return 1;
    b->now_usec += 1000ull * (unsigned)timeout_msec;
    return 0;
}

static void on_close(void *ctx, int fd)
{
    (void)ctx;
    MUST(fd == 3);
}

static uint64_t on_now(void *ctx)
{
    struct bmc *b = ctx;
    return b->now_usec;
}

static const struct {
    int (*open)(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err);
    const struct bj_meter_kind *kind;
} meters[] = {
    {bj_dcmi_open, &bj_meter_ipmi_dcmi},
    {bj_nm_open, &bj_meter_ipmi_nm},
    {bj_xcc_open, &bj_meter_ipmi_xcc},
    {bj_sdr_open, &bj_meter_ipmi_sdr},
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct bj_energy_conf conf = {.timeout_usec = 1000000};
    static struct bj_meter_sample s;
    char *mem;
    void *m;
    if (size == 0)
        return 0;
    struct bmc b = {.script = fuzz_exact(data + 1, size - 1, &mem)};
    const struct bj_ipmi_sys sys = {&b,      on_open,  on_ioctl,
                                    on_poll, on_close, on_now};
    const struct bj_meter_env env = {
        .conf = &conf, .devfs = "/dev", .forced = data[0] & 4};
    size_t kind = data[0] & 3;
    struct bj_err err = {0};
    int r = meters[kind].open(&env, &sys, &m, &err);
    MUST(r == 0 || err.code < 0);
    for (int i = 0; r == 0 && i < 4; i++) {
        memset(&s, 0, sizeof(s));
        MUST(meters[kind].kind->read(m, &s, &err) <= 0);
        MUST(s.n <= BJ_ZONES_MAX);
    }
    if (r == 0)
        meters[kind].kind->close(m);
    free(mem);
    return 0;
}
