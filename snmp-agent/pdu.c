#include "snmp-agent/pdu.h"

#include "base/slice.h"

enum {
    VERSION = 1,
    NON_DEFAULT_CONTEXT = 0x08,
    NETWORK_BYTE_ORDER = 0x10,
    INTERNET = 4,          /* sub-identifiers of 1.3.6.1 */
    BULK_BYTES = 1 << 16,  /* a GetBulk ends behind this much */
    ANSWER_BYTES = 1 << 22 /* a longer response is an error */
};

/* Errors of a Response: RFC 2741 section 7.1, RFC 3416. */
enum {
    NO_ERROR = 0,
    GEN_ERR = 5,
    COMMIT_FAILED = 14,
    UNDO_FAILED = 15,
    NOT_WRITABLE = 17,
    NOT_OPEN = 257,
    UNSUPPORTED_CONTEXT = 262,
    PROCESSING_ERROR = 268
};

static const uint32_t internet[INTERNET] = {1, 3, 6, 1};

/* --- object identifiers ---------------------------------------------------*/

int bj_oid_compare(const struct bj_oid *a, const struct bj_oid *b)
{
    unsigned n = a->n < b->n ? a->n : b->n;
    for (unsigned i = 0; i < n; i++)
        if (a->id[i] != b->id[i])
            return a->id[i] < b->id[i] ? -1 : 1;
    return a->n == b->n ? 0 : a->n < b->n ? -1 : 1;
}

bool bj_oid_add(struct bj_oid *oid, const uint32_t *id, size_t n)
{
    if (n > BJ_OID_MAX - oid->n)
        return false;
    memcpy(oid->id + oid->n, id, n * sizeof(*id));
    oid->n += (unsigned)n;
    return true;
}

int bj_oid_parse(const char *text, unsigned max, struct bj_oid *ret,
                 struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(text), word;
    uint64_t v;
    ret->n = 0;
    if (rest.n > 0 && rest.p[0] == '.')
        rest = (struct bj_slice){rest.p + 1, rest.n - 1};
    bool good = rest.n > 0 && rest.p[rest.n - 1] != '.';
    while (good && bj_slice_field(&rest, '.', &word)) {
        good = ret->n < max && bj_slice_u64(word, &v) == 0 && v <= UINT32_MAX &&
               (ret->n > 0 || v <= 2);
        if (good)
            ret->id[ret->n++] = (uint32_t)v;
    }
    if (good && ret->n > 1)
        return 0;
    return bj_err_set(err, -EINVAL,
                      "'%.80s' is not an object identifier of 2 to %u numbers, "
                      "such as 1.3.6.1.4.1.8072",
                      text, max);
}

/* --- writing ---------------------------------------------------------------*/

static void pdu_put_u16(struct bj_buf *out, uint16_t v)
{
    const unsigned char b[2] = {(unsigned char)(v >> 8), (unsigned char)v};
    bj_buf_put(out, b, sizeof(b));
}

void bj_pdu_put_u32(struct bj_buf *out, uint32_t v)
{
    pdu_put_u16(out, (uint16_t)(v >> 16));
    pdu_put_u16(out, (uint16_t)v);
}

void bj_pdu_put_text(struct bj_buf *out, struct bj_slice text)
{
    static const char zeros[4];
    if (text.n > BJ_PDU_TEXT_MAX) {
        text.n = BJ_PDU_TEXT_MAX;
        while (text.n > 0 && ((unsigned char)text.p[text.n] & 0xc0) == 0x80)
            text.n--;
    }
    bj_pdu_put_u32(out, (uint32_t)text.n);
    bj_buf_slice(out, text);
    bj_buf_put(out, zeros, (4 - text.n % 4) % 4);
}

static void put_name(struct bj_buf *out, const struct bj_oid *oid, bool include)
{
    unsigned skip = 0;
    if (oid->n > INTERNET && oid->id[INTERNET] > 0 &&
        oid->id[INTERNET] <= UINT8_MAX &&
        memcmp(oid->id, internet, sizeof(internet)) == 0)
        skip = INTERNET + 1;
    const unsigned char head[4] = {(unsigned char)(oid->n - skip),
                                   skip ? (unsigned char)oid->id[INTERNET] : 0,
                                   include, 0};
    bj_buf_put(out, head, sizeof(head));
    for (unsigned i = skip; i < oid->n; i++)
        bj_pdu_put_u32(out, oid->id[i]);
}

void bj_pdu_put_oid(struct bj_buf *out, const struct bj_oid *oid)
{
    put_name(out, oid, false);
}

void bj_pdu_put_value(struct bj_buf *out, const struct bj_oid *name,
                      const struct bj_value *v)
{
    pdu_put_u16(out, (uint16_t)v->type);
    pdu_put_u16(out, 0);
    bj_pdu_put_oid(out, name);
    switch (v->type) {
    case BJ_VALUE_INTEGER:
    case BJ_VALUE_GAUGE32:
        bj_pdu_put_u32(out, v->number > UINT32_MAX ? UINT32_MAX
                                                   : (uint32_t)v->number);
        break;
    case BJ_VALUE_COUNTER64:
        bj_pdu_put_u32(out, (uint32_t)(v->number >> 32));
        bj_pdu_put_u32(out, (uint32_t)v->number);
        break;
    case BJ_VALUE_TEXT:
        bj_pdu_put_text(out, v->text);
        break;
    case BJ_VALUE_OID:
        bj_pdu_put_oid(out, v->oid);
        break;
    case BJ_VALUE_NO_OBJECT:
    case BJ_VALUE_NO_INSTANCE:
    case BJ_VALUE_END_OF_MIB:
        break;
    }
}

size_t bj_pdu_begin(struct bj_buf *out, enum bj_pdu_type type, uint32_t session,
                    uint32_t transaction, uint32_t packet)
{
    const unsigned char head[4] = {VERSION, (unsigned char)type,
                                   NETWORK_BYTE_ORDER, 0};
    size_t at = out->len;
    bj_buf_put(out, head, sizeof(head));
    bj_pdu_put_u32(out, session);
    bj_pdu_put_u32(out, transaction);
    bj_pdu_put_u32(out, packet);
    bj_pdu_put_u32(out, 0);
    return at;
}

/* Replace the bytes at an offset by a number. */
static void put_at(struct bj_buf *out, size_t at, uint32_t v)
{
    for (int i = 0; i < 4; i++)
        out->p[at + (size_t)i] = (char)(v >> (24 - 8 * i));
}

void bj_pdu_end(struct bj_buf *out, size_t at)
{
    if (!out->failed)
        put_at(out, at + BJ_PDU_HEADER - 4,
               (uint32_t)(out->len - at - BJ_PDU_HEADER));
}

/* --- reading ---------------------------------------------------------------*/

/* The rest of a payload.  Reading past the end sets bad and gives zeros. */
struct reader {
    const unsigned char *p, *end;
    bool network; /* byte order */
    bool bad;
};

static const unsigned char *take(struct reader *r, size_t n)
{
    static const unsigned char zeros[8];
    if (r->bad || (size_t)(r->end - r->p) < n) {
        r->bad = true;
        return zeros;
    }
    r->p += n;
    return r->p - n;
}

static uint32_t pdu_u32(const unsigned char *b, bool network)
{
    const unsigned at = network ? 0 : 3;
    return (uint32_t)b[at] << 24 | (uint32_t)b[at ^ 1] << 16 |
           (uint32_t)b[at ^ 2] << 8 | b[at ^ 3];
}

static uint32_t take_u32(struct reader *r)
{
    return pdu_u32(take(r, 4), r->network);
}

static uint16_t take_u16(struct reader *r)
{
    const unsigned char *b = take(r, 2);
    return (uint16_t)(r->network ? b[0] << 8 | b[1] : b[1] << 8 | b[0]);
}

/* Returns the field include. */
static bool take_oid(struct reader *r, struct bj_oid *ret)
{
    const unsigned char *head = take(r, 4);
    const unsigned n = head[0], prefix = head[1];
    const bool include = head[2];
    const unsigned skip = prefix ? INTERNET + 1 : 0;
    ret->n = 0;
    if (n + skip > BJ_OID_MAX) {
        r->bad = true;
        return false;
    }
    if (prefix) {
        memcpy(ret->id, internet, sizeof(internet));
        ret->id[INTERNET] = prefix;
        ret->n = skip;
    }
    for (unsigned i = 0; i < n; i++)
        ret->id[ret->n++] = take_u32(r);
    return include;
}

int bj_pdu_read(const unsigned char head[BJ_PDU_HEADER], struct bj_pdu *ret,
                struct bj_err *err)
{
    const bool network = head[2] & NETWORK_BYTE_ORDER;
    if (head[0] != VERSION)
        return bj_err_set(err, -EPROTO, "a PDU of AgentX version %u, not 1",
                          head[0]);
    *ret = (struct bj_pdu){.type = head[1],
                           .flags = head[2],
                           .session = pdu_u32(head + 4, network),
                           .transaction = pdu_u32(head + 8, network),
                           .packet = pdu_u32(head + 12, network),
                           .length = pdu_u32(head + 16, network)};
    if (ret->length % 4 != 0 || ret->length > BJ_PDU_MAX)
        return bj_err_set(err, -EPROTO,
                          "a PDU with a payload of %u bytes; a multiple of 4 "
                          "up to %d was expected",
                          ret->length, BJ_PDU_MAX);
    return 0;
}

static struct reader reader_of(const struct bj_pdu *pdu,
                               const unsigned char *payload)
{
    return (struct reader){.p = payload,
                           .end = payload + pdu->length,
                           .network = pdu->flags & NETWORK_BYTE_ORDER};
}

int bj_pdu_response(const struct bj_pdu *pdu, const unsigned char *payload,
                    uint16_t *ret_error)
{
    struct reader r = reader_of(pdu, payload);
    take_u32(&r); /* sysUpTime */
    *ret_error = take_u16(&r);
    take_u16(&r);
    return r.bad ? -EPROTO : 0;
}

/* --- responses -------------------------------------------------------------*/

static size_t answer_begin(const struct bj_pdu *pdu, unsigned error,
                           unsigned index, struct bj_buf *out)
{
    size_t at = bj_pdu_begin(out, BJ_PDU_RESPONSE, pdu->session,
                             pdu->transaction, pdu->packet);
    bj_pdu_put_u32(out, 0);
    pdu_put_u16(out, (uint16_t)error);
    pdu_put_u16(out, (uint16_t)index);
    return at;
}

static void refuse(const struct bj_pdu *pdu, unsigned error, unsigned index,
                   struct bj_buf *out)
{
    bj_pdu_end(out, answer_begin(pdu, error, index, out));
}

/* Append the object behind *name, before *end (no sub-identifiers: no end), and
 * set *name to it.  False: there is none, and the value says so. */
static bool pdu_put_next(const struct bj_objects *o, struct bj_oid *name,
                         bool include, const struct bj_oid *end,
                         struct bj_buf *out)
{
    static const struct bj_value none = {.type = BJ_VALUE_END_OF_MIB};
    struct bj_oid found = *name;
    struct bj_value v = {0};
    bool any = o->next(o->ctx, &found, include, &v) &&
               (end->n == 0 || bj_oid_compare(&found, end) < 0);
    if (any)
        *name = found;
    bj_pdu_put_value(out, name, any ? &v : &none);
    return any;
}

static void answer_ranges(const struct bj_pdu *pdu, struct reader *r,
                          const struct bj_objects *o, struct bj_buf *out)
{
    struct bj_oid name, end;
    size_t at = answer_begin(pdu, NO_ERROR, 0, out);
    while (r->p < r->end && !r->bad) {
        bool include = take_oid(r, &name);
        take_oid(r, &end);
        if (r->bad)
            break;
        if (out->len - at > ANSWER_BYTES) {
            out->len = at;
            refuse(pdu, GEN_ERR, 0, out);
            return;
        }
        if (pdu->type == BJ_PDU_GET) {
            const struct bj_value v = o->get(o->ctx, &name);
            bj_pdu_put_value(out, &name, &v);
        } else {
            pdu_put_next(o, &name, include, &end, out);
        }
    }
    bj_pdu_end(out, at);
}

/* A column of a GetBulk. */
struct repeater {
    struct bj_oid name, end;
    bool include;
};

/* The repeaters of a GetBulk in turn, until all have ended. */
static void put_repeated(struct repeater *v, size_t n, unsigned repetitions,
                         const struct bj_objects *o, struct bj_buf *out)
{
    const size_t full = out->len + BULK_BYTES;
    bool any = n > 0;
    for (unsigned k = 0; k < repetitions && any && out->len < full; k++) {
        any = false;
        for (size_t i = 0; i < n; i++) {
            any |= pdu_put_next(o, &v[i].name, v[i].include, &v[i].end, out);
            v[i].include = false;
        }
    }
}

/* The payload is short, so at most 128 repeaters are taken; the master repeats
 * the request for others. */
static void answer_bulk(const struct bj_pdu *pdu, struct reader *r,
                        const struct bj_objects *o, struct bj_buf *out)
{
    enum { REPEATERS = 128 };
    static _Thread_local struct repeater v[REPEATERS];
    unsigned single = take_u16(r), repetitions = take_u16(r);
    size_t n = 0;
    size_t at = answer_begin(pdu, NO_ERROR, 0, out);
    while (r->p < r->end && !r->bad && n < REPEATERS) {
        v[n].include = take_oid(r, &v[n].name);
        take_oid(r, &v[n].end);
        if (r->bad)
            break;
        if (single > 0) {
            single--;
            pdu_put_next(o, &v[n].name, v[n].include, &v[n].end, out);
        } else {
            n++;
        }
    }
    if (!r->bad)
        put_repeated(v, n, repetitions, o, out);
    bj_pdu_end(out, at);
}

int bj_pdu_answer(const struct bj_pdu *pdu, const unsigned char *payload,
                  uint32_t session, const struct bj_objects *objects,
                  struct bj_buf *out, struct bj_err *err)
{
    struct reader r = reader_of(pdu, payload);
    const size_t before = out->len;
    if (pdu->type == BJ_PDU_CLEANUP_SET)
        return 0;
    if (pdu->session != session) {
        refuse(pdu, NOT_OPEN, 0, out);
    } else if (pdu->flags & NON_DEFAULT_CONTEXT) {
        refuse(pdu, UNSUPPORTED_CONTEXT, 0, out);
    } else if (pdu->type == BJ_PDU_GET || pdu->type == BJ_PDU_GET_NEXT) {
        answer_ranges(pdu, &r, objects, out);
    } else if (pdu->type == BJ_PDU_GET_BULK) {
        answer_bulk(pdu, &r, objects, out);
    } else if (pdu->type == BJ_PDU_TEST_SET) {
        refuse(pdu, NOT_WRITABLE, 1, out);
    } else if (pdu->type == BJ_PDU_COMMIT_SET) {
        refuse(pdu, COMMIT_FAILED, 1, out);
    } else if (pdu->type == BJ_PDU_UNDO_SET) {
        refuse(pdu, UNDO_FAILED, 1, out);
    } else {
        refuse(pdu, PROCESSING_ERROR, 0, out);
    }
    if (!r.bad)
        return 0;
    out->len = before;
    return bj_err_set(err, -EPROTO, "a malformed PDU of type %u", pdu->type);
}
