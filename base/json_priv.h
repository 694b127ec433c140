/* Shared by the files of base/json.h; private to them. */
#ifndef BJ_BASE_JSON_PRIV_H
#define BJ_BASE_JSON_PRIV_H

#include "base/json.h"

#include <setjmp.h>
#include <yajl/yajl_common.h>

enum { BJ_JSON_DEPTH = 64 };

/* A value.  Members and elements are a list. */
struct bj_json {
    struct bj_json *next;
    const char *key; /* NULL: not a member of an object */
    union {
        const char *text;      /* of strings and numbers, terminated */
        struct bj_json *first; /* of arrays and objects */
    };
    uint32_t key_n;
    uint32_t n;         /* bytes of text; how many elements; 0 or 1 of a BOOL */
    unsigned char kind; /* enum bj_json_kind */
};

/* The steps of a path. */
struct bj_json_steps {
    struct bj_slice rest;
    char sep;
    bool more;
};
struct bj_json_steps bj_json_steps(const char *path);
bool bj_json_step(struct bj_json_steps *s, struct bj_slice *ret);

/* --- memory for yajl ------------------------------------------------------*/

/* yajl does not check for failed allocations, so the allocator does not return
 * on failure: it jumps to out.  The list has all that yajl allocated and frees
 * it. */
struct bj_json_mem {
    struct bj_json_block *blocks;
    jmp_buf out;
};

/* --- building trees -------------------------------------------------------*/

struct bj_json_build {
    struct bj_arena *arena;
    struct bj_json_limits limits; /* filled in, no zeros */
    struct {
        struct bj_json *node;
        struct bj_json **tail;
    } open[BJ_JSON_DEPTH];
    unsigned depth;
    size_t values;
    struct bj_slice key; /* of the next value; p NULL: none */
    struct bj_json *root;
};

/* Prepare for another tree. */
void bj_json_build_start(struct bj_json_build *b);

/* The events.  The tree is complete when depth is 0 after one of the last two.
 * -EFBIG or -ENOMEM, with a message. */
int bj_json_build_key(struct bj_json_build *b, struct bj_slice key,
                      struct bj_err *err);
int bj_json_build_open(struct bj_json_build *b, enum bj_json_kind kind,
                       struct bj_err *err);
void bj_json_build_close(struct bj_json_build *b);
int bj_json_build_scalar(struct bj_json_build *b, enum bj_json_kind kind,
                         struct bj_slice text, struct bj_err *err);

/* --- reading --------------------------------------------------------------*/

/* Receives the events of a text.  A negative return ends it; it must fill in
 * err. The text of a BOOL is "1" or "", that of NULL is empty. */
struct bj_json_events {
    int (*key)(void *ctx, struct bj_slice key, struct bj_err *err);
    int (*open)(void *ctx, enum bj_json_kind kind, struct bj_err *err);
    int (*close)(void *ctx, struct bj_err *err);
    int (*scalar)(void *ctx, enum bj_json_kind kind, struct bj_slice text,
                  struct bj_err *err);
};

struct bj_json_reader {
    struct bj_json_mem mem;
    struct yajl_handle_t *yajl;
    const struct bj_json_events *events;
    void *ctx;
    const char *name;
    uint64_t lines, line_bytes; /* before the current piece */
    bool ended;                 /* later input is ignored */
    struct bj_err err;
};

/* Start a reader, which must not move, nor name and ctx.  Call
 * bj_json_reader_fini also after a failure. */
int bj_json_reader_init(struct bj_json_reader *r,
                        const struct bj_json_events *events, void *ctx,
                        const char *name, struct bj_err *err);
int bj_json_reader_feed(struct bj_json_reader *r, struct bj_slice piece,
                        struct bj_err *err);
int bj_json_reader_end(struct bj_json_reader *r, struct bj_err *err);
void bj_json_reader_fini(struct bj_json_reader *r);

/* Limits without zeros; limits may be NULL. */
struct bj_json_limits bj_json_limits(const struct bj_json_limits *limits);

#endif
