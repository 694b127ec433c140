#include "core/energy/ipmi_sdr.h"
#include "core/energy/zone.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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

static double same(double x)
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
    same, log,     log10,  log2, exp,  ten_to,
    exp2, inverse, square, cube, sqrt, cbrt,
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
