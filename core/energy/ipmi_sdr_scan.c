/* Reads the sensor data records of a BMC.
 *
 * Source: IPMI v2.0 rev. 1.1, sections 33 (repository), 35.2 to 35.4 (records
 * of a device). */
#include "core/energy/ipmi_sdr.h"

#include <stdio.h>
#include <string.h>

enum {
    INFO = 0x20, /* commands; the last one differs */
    RESERVE = 0x22,
    GET_SDR = 0x23,
    GET_DEVICE_SDR = 0x21,
    HEADER = 5,
    CHUNK = 16, /* bytes at a time; not all BMCs can do more */
    CHUNK_MIN = 4,
    TRIES = 6, /* attempts to read a record while reservations are cancelled */
    RECORDS = 4096,
    LAST = 0xffff,
};

struct scan {
    struct bj_ipmi *bmc;
    bool device;       /* records of the BMC's own sensors only */
    unsigned reserved; /* the reservation */
    unsigned chunk;
    struct bj_err *err;
};

/* A record, and the number of bytes read so far. */
struct record {
    unsigned id, next;
    size_t n;
    uint8_t b[BJ_SDR_MAX];
};

static int send_command(struct scan *c, uint8_t cmd, const uint8_t *data,
                        size_t n, struct bj_ipmi_reply *reply)
{
    const struct bj_ipmi_send q = {
        .what = c->device ? "device SDR" : "SDR repository",
        .netfn = c->device ? BJ_IPMI_SENSOR : BJ_IPMI_STORAGE,
        .cmd = cmd,
        .data = data,
        .n = n,
    };
    return bj_ipmi_send(c->bmc, &q, reply, c->err);
}

/* BMCs without reservations expect 0 instead. */
static int reserve(struct scan *c)
{
    struct bj_ipmi_reply reply;
    int r = send_command(c, RESERVE, NULL, 0, &reply);
    c->reserved = 0;
    if (r < 0)
        return reply.n > 0 && reply.b[0] == BJ_IPMI_UNKNOWN ? 0 : r;
    if (reply.n < 3)
        return bj_err_set(c->err, -EBADMSG, "SDR reservation: %zu bytes",
                          reply.n);
    c->reserved = bj_ipmi_le(reply.b + 1, 2);
    return 0;
}

static bool wants_less(const struct bj_ipmi_reply *reply)
{
    uint8_t code = reply->n > 0 ? reply->b[0] : 0;
    return code == BJ_IPMI_TOO_MANY || code == BJ_IPMI_TOO_LONG ||
           code == BJ_IPMI_UNSPECIFIED;
}

/* Read count more bytes of the record.  Returns 0 also if the BMC can only send
 * fewer bytes: then none were added. */
static int read_piece(struct scan *c, struct record *rec, unsigned count)
{
    const uint8_t data[] = {
        (uint8_t)c->reserved, (uint8_t)(c->reserved >> 8),
        (uint8_t)rec->id,     (uint8_t)(rec->id >> 8),
        (uint8_t)rec->n,      (uint8_t)count,
    };
    struct bj_ipmi_reply reply;
    int r = send_command(c, c->device ? GET_DEVICE_SDR : GET_SDR, data,
                         sizeof(data), &reply);
    if (r < 0 && wants_less(&reply) && count > CHUNK_MIN) {
        c->chunk = count / 2 < CHUNK_MIN ? CHUNK_MIN : count / 2;
        return 0;
    }
    if (r < 0)
        return r;
    if (reply.n < 3 + count)
        return bj_err_set(c->err, -EBADMSG, "SDR %u: %zu bytes instead of %u",
                          rec->id, reply.n, 3 + count);
    rec->next = bj_ipmi_le(reply.b + 1, 2);
    memcpy(rec->b + rec->n, reply.b + 3, count);
    rec->n += count;
    return 0;
}

/* Read until the record has up to n bytes. */
static int read_until(struct scan *c, struct record *rec, size_t n)
{
    while (rec->n < n) {
        size_t left = n - rec->n;
        int r =
            read_piece(c, rec, (unsigned)(left < c->chunk ? left : c->chunk));
        if (r < 0)
            return r;
    }
    return 0;
}

/* Read the header, then the bytes up to the units, and the rest if the unit is
 * watts. */
static int read_once(struct scan *c, struct record *rec)
{
    rec->n = 0;
    int r = read_until(c, rec, HEADER);
    if (r < 0 || rec->b[3] != BJ_SDR_FULL)
        return r;
    size_t size = HEADER + (size_t)rec->b[4];
    if (size > sizeof(rec->b))
        size = sizeof(rec->b);
    r = read_until(c, rec, size < BJ_SDR_UNITS ? size : BJ_SDR_UNITS);
    if (r < 0 || !bj_sdr_watts(rec->b, rec->n))
        return r;
    return read_until(c, rec, size);
}

/* A change of the repository cancels reservations; the record may then be
 * another one, so its reading starts again. */
static int read_record(struct scan *c, struct record *rec)
{
    for (int i = 0; i < TRIES; i++) {
        int r = read_once(c, rec);
        if (r == -ESTALE)
            r = reserve(c);
        else
            return r;
        if (r < 0)
            return r;
    }
    return bj_err_set(c->err, -EIO, "SDR %u: the BMC cancels every reservation",
                      rec->id);
}

static bool name_taken(const struct bj_sdr_sensor *s, size_t n,
                       const char *name)
{
    bool taken = strcmp(name, "node") == 0 || strcmp(name, "outputs") == 0;
    for (size_t i = 0; i < n; i++)
        taken |= strcmp(s[i].name, name) == 0;
    return taken;
}

/* Names in records need not be unique; those of zones must be. */
static void unique_name(struct bj_sdr_sensor *s, size_t n)
{
    char base[BJ_ZONE_NAME - 12];
    snprintf(base, sizeof(base), "%.*s", (int)sizeof(base) - 1, s[n].name);
    for (unsigned i = 2; name_taken(s, n, s[n].name); i++)
        snprintf(s[n].name, sizeof(s[n].name), "%s-%u", base, i);
}

static int scan_all(struct scan *c, struct bj_sdr_sensor *s, size_t max,
                    size_t *n)
{
    struct record rec = {0};
    for (int i = 0; i < RECORDS; i++) {
        int r = read_record(c, &rec);
        if (r < 0)
            return r;
        r = bj_sdr_decode(rec.b, rec.n, &s[*n], NULL);
        if (r == 0)
            unique_name(s, (*n)++);
        if (rec.next == LAST || *n == max)
            return 0;
        rec.id = rec.next;
    }
    return bj_err_set(c->err, -EBADMSG,
                      "SDR: the list of records does not end");
}

static int last_change(struct scan *c, uint64_t *ret)
{
    struct bj_ipmi_reply reply;
    int r = send_command(c, INFO, NULL, 0, &reply);
    if (r < 0)
        return r;
    if (reply.n < 14)
        return bj_err_set(c->err, -EBADMSG, "SDR repository: %zu bytes",
                          reply.n);
    /* The times of the last addition and of the last removal. */
    *ret = (uint64_t)bj_ipmi_le(reply.b + 6, 4) << 32 |
           bj_ipmi_le(reply.b + 10, 4);
    return 0;
}

int bj_sdr_changed(struct bj_ipmi *bmc, uint64_t *ret_changed,
                   struct bj_err *err)
{
    struct scan c = {.bmc = bmc, .err = err};
    return last_change(&c, ret_changed);
}

int bj_sdr_scan(struct bj_ipmi *bmc, struct bj_sdr_sensor *s, size_t max,
                size_t *ret_n, uint64_t *ret_changed, struct bj_err *err)
{
    struct scan c = {.bmc = bmc, .chunk = CHUNK, .err = err};
    struct bj_ipmi_id id;
    uint64_t changed = 0;
    size_t n = 0;
    int r = bj_ipmi_identify(bmc, &id, err);
    if (r < 0)
        return r;
    if (!id.repository && !id.device_records)
        return bj_err_set(err, -ENODEV, "the BMC has no sensor records");
    c.device = !id.repository;
    if (!c.device)
        r = last_change(&c, &changed);
    if (r == 0)
        r = reserve(&c);
    if (r == 0)
        r = scan_all(&c, s, max, &n);
    if (r < 0)
        return r;
    *ret_n = n;
    *ret_changed = changed;
    return 0;
}
