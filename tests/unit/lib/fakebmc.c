#include "tests/unit/lib/fakebmc.h"

#include <linux/ipmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define FATAL(what)                                                            \
    do {                                                                       \
        fprintf(stderr, "fake BMC: %s\n", what);                               \
        abort();                                                               \
    } while (0)

size_t fake_hex(const char *text, uint8_t *b, size_t cap)
{
    size_t n = 0;
    while (*text) {
        unsigned v;
        int used;
        if (*text == ' ' || *text == '\n') {
            text++;
            continue;
        }
        char two[3] = {text[0], text[1], 0};
        char *end;
        v = (unsigned)strtoul(two, &end, 16);
        used = (int)(end - two);
        if (used != 2 || n == cap)
            FATAL(text);
        b[n++] = (uint8_t)v;
        text += 2;
    }
    return n;
}

struct bj_ipmi_reply fake_read_recording(const char *path)
{
    struct bj_ipmi_reply r = {0};
    char line[1024] = "";
    FILE *f = fopen(path, "r");
    if (!f || !fgets(line, sizeof(line), f) || strncmp(line, "rcvd: ", 6) != 0)
        FATAL(path);
    fclose(f);
    r.n = fake_hex(line + 9, r.b, sizeof(r.b));
    return r;
}

/* --- sensor data records --------------------------------------------------*/

void fake_bmc_sensor(struct fake_bmc *f, struct fake_sensor s)
{
    uint8_t *r = f->record[f->records++];
    size_t len = strlen(s.name);
    memset(r, 0, FAKE_RECORD);
    r[0] = (uint8_t)f->records;
    r[1] = (uint8_t)(f->records >> 8);
    r[2] = 0x51;
    r[3] = 0x01;
    r[4] = (uint8_t)(43 + len);
    r[5] = s.owner ? s.owner : 0x20;
    r[6] = s.lun;
    r[7] = s.number;
    r[8] = s.entity;
    r[9] = 1;
    r[12] = s.type;
    r[13] = 1;
    r[20] = s.units1;
    r[21] = s.unit;
    r[22] = s.modifier;
    r[23] = s.linear;
    r[24] = (uint8_t)s.m;
    r[25] = (uint8_t)((s.m >> 8 & 3) << 6);
    r[26] = (uint8_t)s.b;
    r[27] = (uint8_t)((s.b >> 8 & 3) << 6);
    r[29] = (uint8_t)((s.rexp & 15) << 4 | (s.bexp & 15));
    r[47] = (uint8_t)(0xc0 | len);
    memcpy(r + 48, s.name, len);
}

static size_t fail_with(uint8_t *out, uint8_t code)
{
    out[0] = code;
    return 1;
}

static size_t get_sdr(struct fake_bmc *f, const uint8_t *data, uint8_t *out)
{
    unsigned reservation = bj_ipmi_le(data, 2), id = bj_ipmi_le(data + 2, 2);
    unsigned offset = data[4], count = data[5];
    if (offset > 0 && f->cancel_after && ++f->reserved_uses > f->cancel_after) {
        f->reserved_uses = 0;
        f->reservation++;
    }
    if (offset > 0 && reservation != f->reservation)
        return fail_with(out, BJ_IPMI_CANCELLED);
    if (f->chunk && count > f->chunk)
        return fail_with(out, f->chunk_code);
    size_t i = id == 0 ? 0 : id - 1;
    if (i >= f->records)
        return fail_with(out, 0xcb);
    unsigned size = 5u + f->record[i][4];
    if (offset + count > size)
        return fail_with(out, 0xc9);
    unsigned next = i + 1 < f->records ? (unsigned)i + 2
                    : f->endless       ? 1
                                       : 0xffff;
    out[0] = 0;
    out[1] = (uint8_t)next;
    out[2] = (uint8_t)(next >> 8);
    memcpy(out + 3, f->record[i] + offset, count);
    return 3 + count;
}

static size_t repository(struct fake_bmc *f, const struct ipmi_msg *q,
                         uint8_t *out)
{
    memset(out, 0, 16);
    switch (q->cmd) {
    case 0x20:
        out[1] = 0x51;
        out[2] = (uint8_t)f->records;
        out[3] = (uint8_t)(f->records >> 8);
        memcpy(out + 6, &f->changed, 4);
        out[14] = 0x02;
        return 15;
    case 0x22:
        if (f->no_reserve)
            return fail_with(out, BJ_IPMI_UNKNOWN);
        f->reservation++;
        f->reserved_uses = 0;
        out[1] = (uint8_t)f->reservation;
        out[2] = (uint8_t)(f->reservation >> 8);
        return 3;
    case 0x21:
    case 0x23:
        if (f->device_records == (q->cmd == 0x21))
            return get_sdr(f, q->data, out);
    }
    return fail_with(out, BJ_IPMI_UNKNOWN);
}

/* --- responses ------------------------------------------------------------*/

static struct fake_message *push(struct fake_bmc *f, int type, long msgid)
{
    if (f->queued == FAKE_QUEUE)
        FATAL("queue is full");
    struct fake_message *m = &f->queue[f->queued++];
    *m = (struct fake_message){.type = type, .msgid = msgid};
    m->ready_usec = f->now_usec;
    return m;
}

static bool fits(const struct fake_bmc *f, size_t i, const struct ipmi_req *q)
{
    const struct fake_rule *r = &f->rule[i];
    const struct ipmi_ipmb_addr *to = (const void *)q->addr;
    uint8_t want[32];
    int slave = to->addr_type == IPMI_IPMB_ADDR_TYPE ? to->slave_addr : 0x20;
    if ((r->times && f->used[i] >= r->times) ||
        (r->netfn && r->netfn != q->msg.netfn) ||
        (r->cmd && r->cmd != q->msg.cmd) || (r->slave && r->slave != slave))
        return false;
    if (!r->data)
        return true;
    size_t n = fake_hex(r->data, want, sizeof(want));
    return n <= q->msg.data_len && memcmp(want, q->msg.data, n) == 0;
}

static void follow(struct fake_bmc *f, const struct fake_rule *r, long msgid)
{
    struct fake_message *m;
    if (r->event) {
        m = push(f, IPMI_ASYNC_EVENT_RECV_TYPE, msgid);
        m->n = fake_hex("00 01 02 03", m->b, sizeof(m->b));
        m = push(f, IPMI_CMD_RECV_TYPE, msgid);
        m->n = fake_hex("2C 02", m->b, sizeof(m->b));
    }
    if (r->stale) {
        m = push(f, IPMI_RESPONSE_RECV_TYPE, msgid - 1);
        m->n = fake_hex(r->response, m->b, sizeof(m->b));
        m->b[2] = 99;
    }
    if (!r->response && !r->receive_fault)
        return;
    m = push(f, IPMI_RESPONSE_RECV_TYPE, msgid);
    m->ready_usec += 1000ull * r->delay_msec;
    m->fault = r->receive_fault;
    m->truncated = r->truncated;
    if (r->response)
        m->n = fake_hex(r->response, m->b, sizeof(m->b));
}

static int send_command(struct fake_bmc *f, const struct ipmi_req *q)
{
    f->msgid_repeated |= q->msgid == f->last_msgid;
    f->last_msgid = q->msgid;
    f->commands++;
    for (size_t i = 0; i < f->rules; i++) {
        if (!fits(f, i, q))
            continue;
        f->used[i]++;
        if (f->rule[i].send_fault)
            return -f->rule[i].send_fault;
        follow(f, &f->rule[i], q->msgid);
        return 0;
    }
    struct fake_message *m = push(f, IPMI_RESPONSE_RECV_TYPE, q->msgid);
    m->ready_usec += 2000;
    int keeps = f->device_records ? BJ_IPMI_SENSOR : BJ_IPMI_STORAGE;
    if (q->msg.netfn == keeps && q->msg.cmd >= 0x20 && q->msg.cmd <= 0x23)
        m->n = repository(f, &q->msg, m->b);
    else
        m->n = fake_hex(f->default_response, m->b, sizeof(m->b));
    return 0;
}

static int response(struct fake_bmc *f, struct ipmi_recv *to)
{
    for (size_t i = 0; i < f->queued; i++) {
        struct fake_message m = f->queue[i];
        if (m.ready_usec > f->now_usec)
            continue;
        f->queued--;
        memmove(&f->queue[i], &f->queue[i + 1],
                (f->queued - i) * sizeof(f->queue[0]));
        if (m.fault)
            return -m.fault;
        if (to->msg.data_len < m.n)
            FATAL("answer does not fit");
        to->recv_type = m.type;
        to->msgid = m.msgid;
        to->msg.data_len = (unsigned short)m.n;
        memcpy(to->msg.data, m.b, m.n);
        return m.truncated ? -EMSGSIZE : 0;
    }
    return -EAGAIN;
}

/* --- the system calls -----------------------------------------------------*/

static int fake_open(void *ctx, const char *path)
{
    struct fake_bmc *f = ctx;
    f->open_calls++;
    if (f->open_path && strcmp(path, f->open_path) != 0)
        return -ENOENT;
    if (f->open_fault)
        return -f->open_fault;
    f->opened++;
    return 77;
}

static int fake_ioctl(void *ctx, int fd, unsigned long what, void *arg)
{
    struct fake_bmc *f = ctx;
    if (fd != 77)
        FATAL("not our descriptor");
    if (f->device_gone)
        return -ENODEV;
    if (what == IPMICTL_SEND_COMMAND)
        return send_command(f, arg);
    if (what == IPMICTL_RECEIVE_MSG_TRUNC)
        return response(f, arg);
    FATAL("what ioctl?");
}

static void pass_time(struct fake_bmc *f, uint64_t to_usec)
{
    f->now_usec = to_usec;
    if (f->stop_usec && to_usec >= f->stop_usec)
        atomic_store(&f->stop, true);
}

static int fake_poll(void *ctx, int fd, int timeout_msec)
{
    struct fake_bmc *f = ctx;
    if (f->device_gone)
        return -ENODEV;
    if (timeout_msec < 0)
        FATAL("waits for ever");
    uint64_t end = f->now_usec + 1000ull * (unsigned)timeout_msec;
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; fd >= 0 && i < f->queued; i++) {
        if (f->queue[i].ready_usec < first)
            first = f->queue[i].ready_usec;
    }
    if (first > end) {
        pass_time(f, end);
        return 0;
    }
    pass_time(f, first > f->now_usec ? first : f->now_usec);
    return 1;
}

static void fake_close(void *ctx, int fd)
{
    struct fake_bmc *f = ctx;
    if (fd != 77)
        FATAL("not our descriptor");
    f->closed++;
}

static uint64_t fake_now(void *ctx)
{
    struct fake_bmc *f = ctx;
    return f->now_usec;
}

void fake_bmc_clear_rules(struct fake_bmc *f)
{
    f->rules = 0;
    memset(f->used, 0, sizeof(f->used));
}

void fake_bmc_rule(struct fake_bmc *f, struct fake_rule rule)
{
    if (f->rules == FAKE_RULES)
        FATAL("too many rules");
    f->rule[f->rules++] = rule;
}

void fake_bmc_respond(struct fake_bmc *f, int netfn, int cmd, const char *text)
{
    fake_bmc_rule(
        f, (struct fake_rule){.netfn = netfn, .cmd = cmd, .response = text});
}

void fake_bmc_init(struct fake_bmc *f)
{
    memset(f, 0, sizeof(*f));
    f->sys = (struct bj_ipmi_sys){f,         fake_open,  fake_ioctl,
                                  fake_poll, fake_close, fake_now};
    f->conf.timeout_usec = 2000000;
    f->env = (struct bj_meter_env){&f->conf, "/proc", "/sys",
                                   "/dev",   false,   &f->stop};
    f->default_response = "C1";
    f->now_usec = 1000000;
    f->chunk_code = BJ_IPMI_TOO_MANY;
}
