/* Sensors of a BMC (SDR): records, and which of them are power. */
#include "core/energy/ipmi_sdr.h"

#include "core/energy/meter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- one record -----------------------------------------------------------*/

enum {
    FULL_BYTES = 48, /* bytes before the name */
    UNIT_WATT = 6,
    TYPE_SUPPLY = 0x08,
    TYPE_POWER_UNIT = 0x09,
    TYPE_OTHER_UNITS = 0x0b,
    ENTITY_BOARD = 0x07,
    ENTITY_SUPPLY = 0x0a,
    ENTITY_POWER_UNIT = 0x13,
    NO_ANALOG = 3,
    NAME_MAX = 32,
};

bool bj_sdr_watts(const uint8_t *record, size_t n)
{
    if (n < BJ_SDR_UNITS || record[3] != BJ_SDR_FULL)
        return false;
    /* Percentages, rates, and watts multiplied or divided by another unit
     * are not watts. */
    return record[21] == UNIT_WATT && (record[20] & 0x3f) == 0 &&
           record[20] >> 6 != NO_ANALOG;
}

/* --- names ----------------------------------------------------------------*/

static size_t text_bcd(const uint8_t *p, size_t n, char *out)
{
    static const char digits[] = "0123456789 -....";
    for (size_t i = 0; i < 2 * n; i++)
        out[i] = digits[i % 2 ? p[i / 2] & 15 : p[i / 2] >> 4];
    return 2 * n;
}

static size_t text_packed(const uint8_t *p, size_t n, char *out)
{
    size_t chars = n * 8 / 6;
    for (size_t i = 0; i < chars; i++) {
        size_t bit = 6 * i;
        unsigned v = (unsigned)p[bit / 8] >> (bit % 8);
        if (bit % 8 > 2)
            v |= (unsigned)p[bit / 8 + 1] << (8 - bit % 8);
        out[i] = (char)(' ' + (v & 63));
    }
    return chars;
}

static size_t text_plain(const uint8_t *p, size_t n, char *out)
{
    memcpy(out, p, n);
    return n;
}

/* Write the name to out (NAME_MAX * 2 bytes); returns its length. */
static size_t name_text(const uint8_t *record, size_t n, char *out)
{
    static size_t (*const texts[])(const uint8_t *, size_t, char *) = {
        NULL, text_bcd, text_packed, text_plain};
    unsigned code = record[FULL_BYTES - 1], len = code & 31;
    if (len > n - FULL_BYTES)
        len = (unsigned)(n - FULL_BYTES);
    return code >> 6 ? texts[code >> 6](record + FULL_BYTES, len, out) : 0;
}

/* --- the part that a sensor measures ---------------------------------------*/

static bool is_alnum(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* Copy only the letters and digits. */
static void squeeze(const char *name, char *out)
{
    for (; *name; name++) {
        if (is_alnum(*name))
            *out++ = *name;
    }
    *out = '\0';
}

/* Index of the first word that is in the text, or n. */
static unsigned find_word(const char *text, const char *const *words,
                          unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        if (strstr(text, words[i]))
            return i;
    }
    return n;
}

/* Words in names of sensors of parts, of limits and of recorded values. */
static const char *const part_words[] = {
    "cpu", "mem",    "dimm", "dram", "gpu", "fan",
    "hdd", "disk",   "nvme", "pcie", "soc", "limit",
    "cap", "budget", "peak", "max",  "min", "threshold",
};

/* Vendors' words for the power of the whole machine, the clearest first. */
static const char *const total_words[] = {
    "pwrconsumption", "powerconsumption", "pwconsumption", "totalpower",
    "totalpwr",       "powertotal",       "syspower",      "syspwr",
    "systempower",    "systempwr",        "systemlevel",   "nodepower",
    "nodepwr",        "serverpower",      "platformpower", "powermeter",
    "avgpower",
};
enum {
    PARTS = sizeof(part_words) / sizeof(part_words[0]),
    TOTALS = sizeof(total_words) / sizeof(total_words[0]),
};

static void classify(const uint8_t *record, struct bj_sdr_sensor *s)
{
    char text[BJ_ZONE_NAME];
    unsigned type = record[12], entity = record[8];
    squeeze(s->name, text);
    s->part = BJ_SDR_OTHER;
    if (find_word(text, part_words, PARTS) < PARTS)
        return;
    bool out = strstr(text, "out") != NULL;
    s->rank = find_word(text, total_words, TOTALS);
    if ((s->rank < TOTALS || strcmp(text, "power") == 0) && !out)
        s->part = BJ_SDR_TOTAL;
    else if (type == TYPE_SUPPLY || entity == ENTITY_SUPPLY)
        s->part = out ? BJ_SDR_OUTPUT : BJ_SDR_INPUT;
    else if ((entity == ENTITY_BOARD || entity == ENTITY_POWER_UNIT) &&
             (type == TYPE_POWER_UNIT || type == TYPE_OTHER_UNITS) && !out)
        s->part = BJ_SDR_MAYBE;
}

bool bj_sdr_choose(struct bj_sdr_sensor *s, size_t n,
                   enum bj_sdr_part *ret_part)
{
    size_t of[BJ_SDR_TOTAL + 1] = {0};
    struct bj_sdr_sensor *best = NULL;
    for (size_t i = 0; i < n; i++) {
        of[s[i].part]++;
        if (s[i].part != BJ_SDR_TOTAL)
            continue;
        struct bj_sdr_sensor *worse = &s[i];
        if (!best || s[i].rank < best->rank) {
            worse = best;
            best = &s[i];
        }
        if (worse)
            worse->part = BJ_SDR_OTHER;
    }
    *ret_part = best                    ? BJ_SDR_TOTAL
                : of[BJ_SDR_INPUT] > 0  ? BJ_SDR_INPUT
                : of[BJ_SDR_MAYBE] == 1 ? BJ_SDR_MAYBE
                : of[BJ_SDR_OUTPUT] > 0 ? BJ_SDR_OUTPUT
                                        : BJ_SDR_OTHER;
    return *ret_part != BJ_SDR_OTHER;
}

/* --- numbers --------------------------------------------------------------*/

/* The lowest bits of v as a two's complement number. */
static int sign_extend(unsigned v, unsigned bits)
{
    unsigned sign = 1u << (bits - 1);
    v &= 2 * sign - 1;
    return v & sign ? (int)v - (int)(2 * sign) : (int)v;
}

static double ipmi_sdr_same(double x)
{
    return x;
}
static double ten_to(double x)
{
    return pow(10, x);
}
static double inverse(double x)
{
    return 1 / x;
}
static double square(double x)
{
    return x * x;
}
static double cube(double x)
{
    return x * x * x;
}

/* Indexed by their number in a record. */
static double (*const linear[])(double) = {
    ipmi_sdr_same, log,     log10,  log2, exp,  ten_to,
    exp2,          inverse, square, cube, sqrt, cbrt,
};
enum { LINEAR = sizeof(linear) / sizeof(linear[0]) };

int bj_sdr_decode(const uint8_t *record, size_t n, struct bj_sdr_sensor *ret,
                  struct bj_err *err)
{
    char text[2 * NAME_MAX];
    if (!bj_sdr_watts(record, n) || (record[23] & 0x7f) >= LINEAR)
        return bj_err_set(err, -ENOENT, "not a sensor that measures watts");
    if (n < FULL_BYTES)
        return bj_err_set(err, -EBADMSG, "sensor record of %zu bytes", n);
    *ret = (struct bj_sdr_sensor){
        .owner = record[5],
        .channel = record[6] >> 4,
        .lun = record[6] & 3,
        .number = record[7],
        .format = record[20] >> 6,
        .linearisation = record[23] & 0x7f,
        .m = sign_extend(record[24] | (record[25] & 0xc0u) << 2, 10),
        .b = sign_extend(record[26] | (record[27] & 0xc0u) << 2, 10),
        .b_exp = sign_extend(record[29], 4),
        .r_exp = sign_extend(record[29] >> 4, 4),
    };
    struct bj_slice name = {text, name_text(record, n, text)};
    bj_zone_name(ret->name, name);
    if (!ret->name[0])
        snprintf(ret->name, sizeof(ret->name), "sensor-%u", ret->number);
    classify(record, ret);
    return 0;
}

static int signed_raw(uint8_t format, uint8_t raw)
{
    if (format == 0 || raw < 0x80)
        return raw;
    return format == 1 ? raw - 0xff : raw - 0x100;
}

/* 10^e for -8 to 7. */
static double power_of_ten(int e)
{
    static const double up[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    return e < 0 ? 1 / up[-e] : up[e];
}

int bj_sdr_convert(const struct bj_sdr_sensor *s, uint8_t raw, uint64_t *ret_uw,
                   struct bj_err *err)
{
    double x = signed_raw(s->format, raw);
    double y =
        (s->m * x + s->b * power_of_ten(s->b_exp)) * power_of_ten(s->r_exp);
    double watts = linear[s->linearisation](y);
    /* Written so that NaN fails, too. */
    if (!(watts >= 0 && watts <= (double)BJ_IPMI_WATTS_MAX))
        return bj_err_set(err, -ERANGE, "sensor %s: %g W is not plausible",
                          s->name, watts);
    *ret_uw = (uint64_t)(watts * 1e6 + 0.5);
    return 0;
}

/* --- all records ----------------------------------------------------------*/

/* Reads the sensor data records of a BMC.
 *
 * Source: IPMI v2.0 rev. 1.1, sections 33 (repository), 35.2 to 35.4 (records
 * of a device). */

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

static bool ipmi_sdr_name_taken(const struct bj_sdr_sensor *s, size_t n,
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
    for (unsigned i = 2; ipmi_sdr_name_taken(s, n, s[n].name); i++)
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

/* Read the time of the repository's last change, as above. */
static int sdr_changed(struct bj_ipmi *bmc, uint64_t *ret_changed,
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

/* --- power ----------------------------------------------------------------*/

enum {
    SENSORS = BJ_ZONES_MAX - 1, /* one more zone is for the node */
    GET_READING = 0x2d,
    UNAVAILABLE = 0x20, /* flags of a reading */
    SCANNING = 0x40,
    PATIENCE = 3, /* reads without a response before a power supply counts as
                     switched off */
};

struct sdr {
    struct bj_ipmi *bmc;
    uint64_t changed; /* of the repository; 0: not known */
    enum bj_sdr_part part;
    size_t n;
    struct bj_sdr_sensor s[SENSORS];
    unsigned silent[SENSORS]; /* reads in a row without a value */
};

/* The sum of the node's power. */
struct sum {
    uint64_t uw;
    size_t n;
    int fault; /* why the sum is unknown */
    struct bj_err err;
};

static void ipmi_sdr_put(struct bj_meter_sample *out, const char *name,
                         enum bj_zone_role role, uint64_t uw)
{
    struct bj_zone_sample z;
    bj_zone_init(&z, name, role);
    z.power_uw = uw;
    bj_zone_add(out, &z);
}

static int ipmi_sdr_reading(struct sdr *m, const struct bj_sdr_sensor *s,
                            uint64_t *ret_uw, struct bj_err *err)
{
    const struct bj_ipmi_send request = {
        .what = s->name,
        .netfn = BJ_IPMI_SENSOR,
        .cmd = GET_READING,
        .lun = s->lun,
        .slave = s->owner,
        .channel = s->channel,
        .data = &s->number,
        .n = 1,
    };
    struct bj_ipmi_reply reply;
    int r = bj_ipmi_send(m->bmc, &request, &reply, err);
    if (r < 0)
        return r;
    if (reply.n < 3)
        return bj_err_set(err, -EBADMSG, "sensor %s: %zu bytes", s->name,
                          reply.n);
    if ((reply.b[2] & UNAVAILABLE) || !(reply.b[2] & SCANNING))
        return bj_err_set(err, -ENODATA, "sensor %s: no reading now", s->name);
    return bj_sdr_convert(s, reply.b[1], ret_uw, err);
}

/* If one of two power supplies reports no value, the power of the other one is
 * not that of the node: the sum is unknown. A supply without a value for
 * several reads counts as removed. */
static void add_up(struct sum *sum, int r, uint64_t uw, unsigned silent,
                   const struct bj_err *err)
{
    if (r == -ENODATA && silent > PATIENCE)
        return;
    if (r < 0 && sum->fault == 0) {
        sum->fault = r;
        sum->err = *err;
    }
    if (r == 0) {
        sum->uw += uw;
        sum->n++;
    }
}

/* Would requests to other sensors fail as well? */
static bool hopeless(int r)
{
    return r == -ETIMEDOUT || r == -ECANCELED || r == -ENODEV;
}

static int each_sensor(struct sdr *m, struct bj_meter_sample *out,
                       struct sum *sum, struct bj_err *err)
{
    for (size_t i = 0; i < m->n; i++) {
        const struct bj_sdr_sensor *s = &m->s[i];
        struct bj_err why = {0};
        uint64_t uw = 0;
        int r = ipmi_sdr_reading(m, s, &uw, &why);
        if (hopeless(r))
            return bj_err_copy(err, r, &why);
        if (r != -ENODATA)
            m->silent[i] = 0;
        else if (m->silent[i] <= PATIENCE)
            m->silent[i]++;
        if (s->part == m->part)
            add_up(sum, r, uw, m->silent[i], &why);
        if (r == 0 && s->part != BJ_SDR_TOTAL && s->part != BJ_SDR_MAYBE)
            ipmi_sdr_put(out, s->name, BJ_ZONE_PART, uw);
    }
    return 0;
}

static int read_sensors(struct sdr *m, struct bj_meter_sample *out,
                        struct bj_err *err)
{
    struct sum sum = {0};
    int r = each_sensor(m, out, &sum, err);
    if (r < 0)
        return r;
    if (sum.fault < 0)
        return bj_err_copy(err, sum.fault, &sum.err);
    if (sum.n == 0)
        return bj_err_set(err, -ENODATA,
                          "no power sensor of the node has a reading");
    r = bj_ipmi_plausible((sum.uw + 500000) / 1000000, err);
    if (r < 0)
        return bj_err_wrap(err, r, "sensors of the node");
    if (m->part == BJ_SDR_OUTPUT) /* without the losses of the supplies */
        ipmi_sdr_put(out, "outputs", BJ_ZONE_PLATFORM, sum.uw);
    else
        ipmi_sdr_put(out, "node", BJ_ZONE_NODE, sum.uw);
    return 0;
}

/* -ENODEV: the sensor records have changed. */
static int check_records(struct sdr *m, struct bj_err *err)
{
    uint64_t changed;
    struct bj_err why = {0};
    if (m->changed == 0)
        return 0;
    int r = sdr_changed(m->bmc, &changed, &why);
    if (hopeless(r))
        return bj_err_copy(err, r, &why);
    if (r == 0 && changed != m->changed)
        return bj_err_set(err, -ENODEV, "the BMC's sensor records changed");
    return 0;
}

static int sdr_read(void *p, struct bj_meter_sample *out, struct bj_err *err)
{
    struct sdr *m = p;
    int r = check_records(m, err);
    return r < 0 ? r : read_sensors(m, out, err);
}

static void sdr_close(void *p)
{
    struct sdr *m = p;
    bj_ipmi_close(m->bmc);
    free(m);
}

/* Find the sensors and check that they have values. */
static int ipmi_sdr_find(struct sdr *m, struct bj_err *err)
{
    struct bj_meter_sample first = {0};
    int r = bj_sdr_scan(m->bmc, m->s, SENSORS, &m->n, &m->changed, err);
    if (r < 0)
        return r;
    if (!bj_sdr_choose(m->s, m->n, &m->part))
        return bj_err_set(err, -ENODEV,
                          "no sensor reports the power of the node");
    /* A silent sensor may have been silent for a long time. */
    for (size_t i = 0; i < m->n; i++)
        m->silent[i] = PATIENCE;
    r = read_sensors(m, &first, err);
    return r == -ENODATA ? -ENODEV : r;
}

int bj_sdr_open(const struct bj_meter_env *env, const struct bj_ipmi_sys *sys,
                void **ret, struct bj_err *err)
{
    struct sdr *m = calloc(1, sizeof(*m));
    if (!m)
        return bj_err_set(err, -ENOMEM, "sensors");
    int r = bj_ipmi_open(env, sys, &m->bmc, err);
    if (r == 0)
        r = ipmi_sdr_find(m, err);
    if (r < 0) {
        sdr_close(m);
        return r;
    }
    *ret = m;
    return 0;
}

static int sdr_open(const struct bj_meter_env *env, void **ret,
                    struct bj_err *err)
{
    return bj_sdr_open(env, &bj_ipmi_kernel, ret, err);
}

const struct bj_meter_kind bj_meter_ipmi_sdr = {
    .name = "ipmi_sdr",
    .slow = true,
    .present = bj_ipmi_present,
    .open = sdr_open,
    .read = sdr_read,
    .close = sdr_close,
    .reads = "power sensors of the BMC",
    .reports = "watts in the sensor's steps, often 4 to 8 W",
    .automatic = "yes",
};
