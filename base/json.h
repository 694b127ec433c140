/* JSON: reading into small trees, one element after the other for documents of
 * any size, and writing.
 *
 * Format: RFC 8259, by yajl.  Two things are taken that the RFC forbids, since
 * batch systems write them: strings need not be UTF-8 (clean them with
 * base/text.h before they are shown), and a key may come twice in an object
 * (the last one counts). */
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
    BJ_JSON_NONE, /* there is no such value */
    BJ_JSON_NULL,
    BJ_JSON_BOOL,
    BJ_JSON_NUMBER,
    BJ_JSON_STRING,
    BJ_JSON_ARRAY,
    BJ_JSON_OBJECT,
};

/* A value in a tree; read-only.  All calls take NULL for "no such value", so
 * that they can be put into each other:
 *     bj_json_u64(bj_json_path(doc, "jobs.0.job_id"), &id) */
struct bj_json;

/* Limits; 0 stands for the value in brackets. */
struct bj_json_limits {
    size_t bytes;   /* of the text; of a stream: of one element [64 M] */
    size_t values;  /* in one tree, keys not counted [2 M] */
    unsigned depth; /* arrays and objects in each other, of a stream: of one
                       element, and around it [64, at most 64] */

    /* Of a stream: members of elements that are left out, whatever and however
     * much is in them; NULL at the end.  They count neither as bytes nor as
     * values.  Must outlive the stream. */
    const char *const *skip;
};

/* --- a whole text ---------------------------------------------------------*/

/* Parse a text into a tree in the arena, copies of all strings included: the
 * text may go at once, the tree lives as long as the arena's content.  A tree
 * takes about three times the memory of its text.  name stands for the
 * document in messages ("NAME: line 3, byte 57: what was expected"); limits
 * and err may be NULL.
 *   -EINVAL  no JSON, nothing at all, or something behind it
 *   -EFBIG   more than the limits allow
 *   -ENOMEM
 * *ret is untouched on failure; what was made of the tree is left in the
 * arena. */
int bj_json_parse(struct bj_arena *a, struct bj_slice text, const char *name,
                  const struct bj_json_limits *limits,
                  const struct bj_json **ret, struct bj_err *err);

/* --- looking around -------------------------------------------------------*/

enum bj_json_kind bj_json_kind(const struct bj_json *v);

/* "object", "number", ..., "nothing": for messages. */
const char *bj_json_kind_name(const struct bj_json *v);

/* A member of an object; NULL when there is none or v is no object.  Takes time
 * in proportion to the members.  The last of several equal keys. */
const struct bj_json *bj_json_get(const struct bj_json *v, const char *key);
const struct bj_json *bj_json_find(const struct bj_json *v,
                                   struct bj_slice key);

/* Element i of an array, or member i of an object, from 0; NULL behind the
 * end.  Takes time in proportion to i. */
const struct bj_json *bj_json_at(const struct bj_json *v, size_t i);

/* What a path leads to: keys and indices (for arrays) separated by '.', "" is v
 * itself.  For keys with dots in them the path begins with '/', which then is
 * what separates: "/Members/0/@odata.id".  NULL when it leads nowhere. */
const struct bj_json *bj_json_path(const struct bj_json *v, const char *path);

/* The elements of an array or members of an object in their order; NULL at the
 * end.  Equal keys all show. */
const struct bj_json *bj_json_first(const struct bj_json *v);
const struct bj_json *bj_json_next(const struct bj_json *v);
#define BJ_JSON_EACH(child, parent)                                            \
    for (const struct bj_json *child = bj_json_first(parent); child;           \
         child = bj_json_next(child))

/* How many elements or members; 0 for anything else. */
size_t bj_json_len(const struct bj_json *v);

/* The key of a member (terminated; may hold NULs), else {NULL, 0}. */
struct bj_slice bj_json_key(const struct bj_json *v);

/* --- values ---------------------------------------------------------------*/

/* A string, or a number as it was written; {NULL, 0} for all else.  Terminated;
 * strings may hold NULs and bytes that are not UTF-8. */
struct bj_slice bj_json_text(const struct bj_json *v);

/* Numbers are read exactly, from their digits, and are taken as they come: also
 * as strings with blanks around them ("42", " 42 "), with fraction and exponent
 * where a whole number is wanted (4.2e1).  What is behind the wanted digits is
 * rounded, halves away from zero.
 *   -ENOENT  no such value, null or an empty string
 *   -EINVAL  not a number
 *   -ERANGE  does not fit (a minus for u64, too)
 * *ret is untouched on failure. */
int bj_json_u64(const struct bj_json *v, uint64_t *ret);
int bj_json_i64(const struct bj_json *v, int64_t *ret);

/* v * 10^digits (0 to 18): 56.039 with 3 digits is 56039.  Errors as above. */
int bj_json_fixed(const struct bj_json *v, unsigned digits, int64_t *ret);

/* The same as bj_json_u64, with otherwise for every failure. */
uint64_t bj_json_u64_or(const struct bj_json *v, uint64_t otherwise);

/* The same from text that is no JSON: an optional sign, digits with an optional
 * point, an optional exponent; at least one digit; blanks around it.  For the
 * first two also "+5", ".5" and "5.".  Errors as above. */
int bj_decimal_i64(struct bj_slice text, unsigned digits, int64_t *ret);
int bj_decimal_u64(struct bj_slice text, unsigned digits, uint64_t *ret);

/* true, false; also as strings in any case, and 1 and 0.  Errors as above. */
int bj_json_bool(const struct bj_json *v, bool *ret);

/* A value that is there and is null. */
bool bj_json_is_null(const struct bj_json *v);

/* A number as Slurm writes it since its data parser 0.0.38:
 * {"set":true,"infinite":false,"number":5}; older versions' plain numbers, too.
 *   0        *ret is the number
 *   1        infinite; *ret is untouched
 *   -ENOENT  not set, or no such value; else errors as above
 * Source: slurm, src/plugins/data_parser, "*_NO_VAL" types. */
int bj_json_slurm_u64(const struct bj_json *v, uint64_t *ret);

/* --- documents of any size ------------------------------------------------*/

/* What is wanted of a document: the elements of an array or members of an
 * object at a path (as for bj_json_path), each as a tree of its own.  What is a
 * scalar at that path is handed over itself, with its key.  key is empty for
 * elements of arrays and the document itself.  key and v are valid during the
 * call only.  A negative return ends the reading with that code; err is then
 * to be filled in. */
struct bj_json_target {
    const char *path; /* NULL ends a table of these */
    int (*element)(void *ctx, struct bj_slice key, const struct bj_json *v,
                   struct bj_err *err);
};

enum { BJ_JSON_TARGETS = 8 }; /* at most, in one table */

struct bj_json_stream;

/* Begin to read a document that comes in pieces.  targets and ctx must outlive
 * the stream; name is copied (cut at 100 bytes).  Targets must not lie within
 * each other (-EINVAL).  Limits are those of each element.  Memory: the
 * largest element, and some 15 KB.  -ENOMEM. */
int bj_json_stream_new(const struct bj_json_target *targets, void *ctx,
                       const char *name, const struct bj_json_limits *limits,
                       struct bj_json_stream **ret, struct bj_err *err);

/* The next piece.  Elements are handed over as soon as they are complete.
 * Errors as for bj_json_parse, and those of the callback.  After a failure
 * every further call fails the same way. */
int bj_json_stream_feed(struct bj_json_stream *s, struct bj_slice piece,
                        struct bj_err *err);

/* The text is over: -EINVAL when the document is not complete. */
int bj_json_stream_end(struct bj_json_stream *s, struct bj_err *err);

/* Whether target i of the table was met so far, be it empty. */
bool bj_json_stream_met(const struct bj_json_stream *s, size_t i);

/* Free it, at any time; NULL is fine. */
void bj_json_stream_free(struct bj_json_stream *s);

/* --- writing --------------------------------------------------------------*/

/* A document being written behind what the buffer holds:
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
    bool wrong; /* something was put where it is not allowed */
};

/* Open an object or an array; bj_json_put_end closes the innermost one.  In an
 * object all bj_json_put_* calls need a key (ASCII or clean UTF-8), elsewhere
 * it is NULL.  At most 100 in each other. */
void bj_json_put_object(struct bj_json_out *o, const char *key);
void bj_json_put_array(struct bj_json_out *o, const char *key);
void bj_json_put_end(struct bj_json_out *o);

/* A key that comes from outside: cleaned like a string.  The value that follows
 * then has key NULL. */
void bj_json_put_key(struct bj_json_out *o, struct bj_slice key);

/* A string, as bj_json_string() writes it. */
void bj_json_put_str(struct bj_json_out *o, const char *key, struct bj_slice s);

/* Numbers; UINT64_MAX, which stands for "absent" all over, becomes null in the
 * first two.  fixed: v / 10^digits (0 to 18), exact, without trailing zeros. */
void bj_json_put_u64(struct bj_json_out *o, const char *key, uint64_t v);
void bj_json_put_fixed(struct bj_json_out *o, const char *key, uint64_t v,
                       unsigned digits);
void bj_json_put_i64(struct bj_json_out *o, const char *key, int64_t v);
void bj_json_put_bool(struct bj_json_out *o, const char *key, bool v);
void bj_json_put_null(struct bj_json_out *o, const char *key);

/* 0, -ENOMEM, or -EINVAL when what was put is not a document (a key missing,
 * not all closed, two values). */
int bj_json_out_end(const struct bj_json_out *o);

/* Append one string with its quotes.  What is not UTF-8 becomes U+FFFD; control
 * characters of ASCII are escaped, DEL and those of C1 become '?'. */
void bj_json_string(struct bj_buf *to, struct bj_slice s);

#endif
