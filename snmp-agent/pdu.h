/* PDUs of AgentX (RFC 2741): names and values to bytes and back, and the
 * responses to requests.  No sockets, no state. */
#ifndef BJ_SNMP_PDU_H
#define BJ_SNMP_PDU_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    BJ_OID_MAX = 128,     /* sub-identifiers, RFC 2741 section 5.1 */
    BJ_PDU_HEADER = 20,   /* bytes */
    BJ_PDU_MAX = 1 << 20, /* bytes of a payload that are accepted */
    BJ_PDU_TEXT_MAX = 255 /* bytes of SnmpAdminString */
};

/* An object identifier. */
struct bj_oid {
    unsigned n;
    uint32_t id[BJ_OID_MAX];
};

/* Lexicographic order: negative, 0 or positive. */
int bj_oid_compare(const struct bj_oid *a, const struct bj_oid *b);
/* Append n sub-identifiers; false, and nothing is done: more than BJ_OID_MAX.
 */
bool bj_oid_add(struct bj_oid *oid, const uint32_t *id, size_t n);
/* "1.3.6.1" or ".1.3.6.1" with two to max numbers below 2^32, the first of them
 * 0 to 2; -EINVAL with a message. */
int bj_oid_parse(const char *text, unsigned max, struct bj_oid *ret,
                 struct bj_err *err);

enum bj_pdu_type {
    BJ_PDU_OPEN = 1,
    BJ_PDU_CLOSE,
    BJ_PDU_REGISTER,
    BJ_PDU_UNREGISTER,
    BJ_PDU_GET,
    BJ_PDU_GET_NEXT,
    BJ_PDU_GET_BULK,
    BJ_PDU_TEST_SET,
    BJ_PDU_COMMIT_SET,
    BJ_PDU_UNDO_SET,
    BJ_PDU_CLEANUP_SET,
    BJ_PDU_NOTIFY,
    BJ_PDU_PING,
    BJ_PDU_RESPONSE = 18
};

/* Types of values. */
enum bj_value_type {
    BJ_VALUE_INTEGER = 2,
    BJ_VALUE_TEXT = 4,
    BJ_VALUE_OID = 6,
    BJ_VALUE_GAUGE32 = 66,
    BJ_VALUE_COUNTER64 = 70,
    BJ_VALUE_NO_OBJECT = 128,
    BJ_VALUE_NO_INSTANCE,
    BJ_VALUE_END_OF_MIB
};
struct bj_value {
    enum bj_value_type type;
    uint64_t number;      /* INTEGER, GAUGE32, COUNTER64 */
    struct bj_slice text; /* TEXT: at most BJ_PDU_TEXT_MAX bytes of it are sent,
                             whole characters of UTF-8 */
    const struct bj_oid *oid; /* OID */
};

struct bj_pdu {
    uint8_t type, flags;
    uint32_t session, transaction, packet;
    uint32_t length; /* of the payload */
};

/* Parse a header.  -EPROTO with a message: another version, a length that is no
 * multiple of four or above BJ_PDU_MAX. */
int bj_pdu_read(const unsigned char head[BJ_PDU_HEADER], struct bj_pdu *ret,
                struct bj_err *err);

/* Begin a PDU in out; its payload follows, and bj_pdu_end sets the length.
 * Returns what bj_pdu_end needs. */
size_t bj_pdu_begin(struct bj_buf *out, enum bj_pdu_type type, uint32_t session,
                    uint32_t transaction, uint32_t packet);
void bj_pdu_end(struct bj_buf *out, size_t at);

void bj_pdu_put_u32(struct bj_buf *out, uint32_t v);
void bj_pdu_put_text(struct bj_buf *out, struct bj_slice text);
void bj_pdu_put_oid(struct bj_buf *out, const struct bj_oid *oid);
void bj_pdu_put_value(struct bj_buf *out, const struct bj_oid *name,
                      const struct bj_value *v);

/* The error of a Response; -EPROTO: it is too short. */
int bj_pdu_response(const struct bj_pdu *pdu, const unsigned char *payload,
                    uint16_t *ret_error);

/* The objects that requests read. */
struct bj_objects {
    void *ctx;
    /* The value of name: also NO_OBJECT or NO_INSTANCE. */
    struct bj_value (*get)(void *ctx, const struct bj_oid *name);
    /* The first object behind *name, or *name itself with include; sets *name.
     * False: none. */
    bool (*next)(void *ctx, struct bj_oid *name, bool include,
                 struct bj_value *ret);
};

/* Append the Response to a request of the master to out: Get, GetNext, GetBulk
 * read objects, sets are refused, CleanupSet has no response.  0, or -EPROTO
 * with a message: the payload is malformed, and the connection should end.
 * session is that of this agent. */
int bj_pdu_answer(const struct bj_pdu *pdu, const unsigned char *payload,
                  uint32_t session, const struct bj_objects *objects,
                  struct bj_buf *out, struct bj_err *err);

#endif
