/* JSON: reading into small trees, one element after the other for documents of
 * any size, and writing.
 *
 * Format: RFC 8259, read by yajl.  Two things that the RFC forbids are
 * accepted, since batch systems write them: strings need not be UTF-8 (clean
 * them with base/text.h before they are shown), and a key may come twice in an
 * object (the last one counts). */
#ifndef BJ_BASE_JSON_H
#define BJ_BASE_JSON_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum bj_json_kind {
    BJ_JSON_NONE, /* the value does not exist */
    BJ_JSON_NULL,
    BJ_JSON_BOOL,
    BJ_JSON_NUMBER,
    BJ_JSON_STRING,
    BJ_JSON_ARRAY,
    BJ_JSON_OBJECT,
};

/* A value in a tree; read-only.  All calls accept NULL for a value that does
 * not exist, so that they can be nested:
 *     bj_json_u64(bj_json_path(doc, "jobs.0.job_id"), &id) */
struct bj_json;

/* Limits; 0 means the default in brackets. */
struct bj_json_limits {
    size_t bytes;   /* of the text; of a stream: of one element [64 M] */
    size_t values;  /* in one tree, keys not counted [2 M] */
    unsigned depth; /* nested arrays and objects; of a stream: in one element,
                       and around it [64, at most 64] */

    /* Of a stream: members of elements to leave out, of any content and size;
     * NULL at the end.  They count neither as bytes nor as values.  Must
     * outlive the stream. */
    const char *const *skip;
};

/* --- a whole text ---------------------------------------------------------*/

/* Parse a text into a tree in the arena with copies of all strings: the text
 * may be freed at once, the tree lives as long as the arena's content.  A tree
 * takes about three times the memory of its text.  name is the document in
 * messages ("NAME: line 3, byte 57: what was expected"); limits and err may be
 * NULL.
 *   -EINVAL  not JSON, empty, or followed by more
 *   -EFBIG   beyond the limits
 *   -ENOMEM
 * On failure *ret is unchanged; a partial tree stays in the arena. */
int bj_json_parse(struct bj_arena *a, struct bj_slice text, const char *name,
                  const struct bj_json_limits *limits,
                  const struct bj_json **ret, struct bj_err *err);

/* --- access ----------------------------------------------------------------*/

enum bj_json_kind bj_json_kind(const struct bj_json *v);

/* "object", "number", ..., "nothing": for messages. */
const char *bj_json_kind_name(const struct bj_json *v);

/* A member of an object; NULL when it does not exist or v is not an object.
 * Takes time in proportion to the members.  The last of several equal keys. */
const struct bj_json *bj_json_get(const struct bj_json *v, const char *key);
const struct bj_json *bj_json_find(const struct bj_json *v,
                                   struct bj_slice key);

/* Element i of an array, or member i of an object, from 0; NULL after the
 * end.  Takes time in proportion to i. */
const struct bj_json *bj_json_at(const struct bj_json *v, size_t i);

/* The value at a path: keys and indices (for arrays) separated by '.', "" is v
 * itself.  For keys with dots the path begins with '/', which then separates:
 * "/Members/0/@odata.id".  NULL: nothing there. */
const struct bj_json *bj_json_path(const struct bj_json *v, const char *path);

/* The elements of an array or members of an object in order; NULL at the end.
 * Equal keys all appear. */
const struct bj_json *bj_json_first(const struct bj_json *v);
const struct bj_json *bj_json_next(const struct bj_json *v);
#define BJ_JSON_EACH(child, parent)                                            \
    for (const struct bj_json *child = bj_json_first(parent); child;           \
         child = bj_json_next(child))

/* The number of elements or members; 0 for anything else. */
size_t bj_json_len(const struct bj_json *v);

/* The key of a member (terminated; may hold NULs), else {NULL, 0}. */
struct bj_slice bj_json_key(const struct bj_json *v);

/* --- values ---------------------------------------------------------------*/

/* A string, or a number as written; {NULL, 0} for all else.  Terminated;
 * strings may contain NUL and bytes that are not UTF-8. */
struct bj_slice bj_json_text(const struct bj_json *v);

/* Numbers are read exactly, from their digits, also from strings with blanks
 * around them ("42", " 42 ") and with fraction and exponent for a whole number
 * (4.2e1). Digits beyond the requested ones are rounded, halves away from zero.
 *   -ENOENT  no value, null or an empty string
 *   -EINVAL  not a number
 *   -ERANGE  does not fit (negative for u64, too)
 * On failure *ret is unchanged. */
int bj_json_u64(const struct bj_json *v, uint64_t *ret);
int bj_json_i64(const struct bj_json *v, int64_t *ret);

/* v * 10^digits (0 to 18): 56.039 with 3 digits is 56039.  Errors as above. */
int bj_json_fixed(const struct bj_json *v, unsigned digits, int64_t *ret);

/* As bj_json_u64; returns otherwise on failure. */
uint64_t bj_json_u64_or(const struct bj_json *v, uint64_t otherwise);

/* Parse a number, times 10^digits, from text that is not JSON: an optional
 * sign, digits with an optional point, an optional exponent, blanks around
 * them.  "+5", ".5" and "5." are accepted; at least one digit is required.
 * Errors as above. */
int bj_decimal_i64(struct bj_slice text, unsigned digits, int64_t *ret);
int bj_decimal_u64(struct bj_slice text, unsigned digits, uint64_t *ret);

/* true, false; also as strings in any case, and 1 and 0.  Errors as above. */
int bj_json_bool(const struct bj_json *v, bool *ret);

/* Whether v exists and is null. */
bool bj_json_is_null(const struct bj_json *v);

/* A number as Slurm writes it since its data parser 0.0.38:
 * {"set":true,"infinite":false,"number":5}; also plain numbers of older
 * versions.
 *   0        *ret is the number
 *   1        infinite; *ret is unchanged
 *   -ENOENT  not set, or no value; else errors as above
 * Source: slurm, src/plugins/data_parser, "*_NO_VAL" types. */
int bj_json_slurm_u64(const struct bj_json *v, uint64_t *ret);

/* --- documents of any size ------------------------------------------------*/

/* What to read from a document: the elements of an array or members of an
 * object at a path (as for bj_json_path), each as its own tree.  If a scalar is
 * at that path, it is passed with its key.  key is empty for elements of arrays
 * and the document itself.  key and v are valid during the call only.  A
 * negative return ends the reading with that code; it must fill in err. */
struct bj_json_target {
    const char *path; /* NULL ends a table of these */
    int (*element)(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err);
};

enum { BJ_JSON_TARGETS = 8 }; /* most targets in one table */

struct bj_json_stream;

/* Begin to read a document that comes in pieces.  targets and ctx must outlive
 * the stream; name is copied (cut at 100 bytes).  Targets must not lie within
 * each other (-EINVAL).  Limits are those of each element.  Memory: the largest
 * element, and about 15 KB.  -ENOMEM. */
int bj_json_stream_new(const struct bj_json_target *targets, void *ctx,
                       const char *name, const struct bj_json_limits *limits,
                       struct bj_json_stream **ret, struct bj_err *err);

/* Feed the next piece.  Elements are passed on as soon as they are complete.
 * Errors as for bj_json_parse, and those of the callback.  After a failure
 * every further call fails the same way. */
int bj_json_stream_feed(struct bj_json_stream *s, struct bj_slice piece,
                        struct bj_err *err);

/* The text has ended: -EINVAL when the document is not complete. */
int bj_json_stream_end(struct bj_json_stream *s, struct bj_err *err);

/* Whether target i of the table was found so far, even empty. */
bool bj_json_stream_found(const struct bj_json_stream *s, size_t i);

/* Free it, at any time; NULL is fine. */
void bj_json_stream_free(struct bj_json_stream *s);

/* --- writing --------------------------------------------------------------*/

/* A document being written after what the buffer holds:
 *
 *     struct bj_json_out o = {.to = &buf};
 *     bj_json_put_object(&o, NULL);
 *     bj_json_put_u64(&o, "format", 1);
 *     bj_json_put_end(&o);
 *     r = bj_json_out_end(&o);
 *
 * Failures are kept until bj_json_out_end(). */
struct bj_json_out {
    struct bj_buf *to;
    /* private */
    char open[100]; /* what closes the object or array at each depth */
    unsigned depth;
    bool more;  /* a comma comes before the next value */
    bool keyed; /* a key waits for its value */
    bool done;  /* the document is complete */
    bool wrong; /* a value was written where it is not allowed */
};

/* Open an object or an array; bj_json_put_end closes the innermost one.  In an
 * object all bj_json_put_* calls need a key (ASCII or clean UTF-8), elsewhere
 * it is NULL.  At most 100 nested. */
void bj_json_put_object(struct bj_json_out *o, const char *key);
void bj_json_put_array(struct bj_json_out *o, const char *key);
void bj_json_put_end(struct bj_json_out *o);

/* Write a key from external text, cleaned like a string.  Pass key NULL with
 * the value that follows it. */
void bj_json_put_key(struct bj_json_out *o, struct bj_slice key);

/* A string, as bj_json_string() writes it. */
void bj_json_put_str(struct bj_json_out *o, const char *key, struct bj_slice s);

/* Numbers; the uint64_t UINT64_MAX, which means "absent" everywhere, becomes
 * null. */
void bj_json_put_u64(struct bj_json_out *o, const char *key, uint64_t v);
void bj_json_put_i64(struct bj_json_out *o, const char *key, int64_t v);
void bj_json_put_bool(struct bj_json_out *o, const char *key, bool v);
void bj_json_put_null(struct bj_json_out *o, const char *key);

/* Returns 0, -ENOMEM, or -EINVAL when the calls did not write one complete
 * document (a missing key, an open object or array, a second value). */
int bj_json_out_end(const struct bj_json_out *o);

/* Append one string with its quotes.  Bytes that are not UTF-8 become U+FFFD;
 * control characters of ASCII are escaped, DEL and those of C1 become '?'. */
void bj_json_string(struct bj_buf *to, struct bj_slice s);

#endif
