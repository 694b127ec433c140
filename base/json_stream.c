#include "base/json_priv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 16, PIECE = 65536 };

/* A target: the steps of its path, and how many of them the open arrays and
 * objects match. */
struct target {
    struct bj_slice step[STEPS];
    unsigned steps, taken;
    bool seen;
};

struct bj_json_stream {
    struct bj_json_reader reader;
    struct bj_json_build build;
    struct bj_arena arena;
    struct bj_buf key; /* of the next value, outside of elements */
    const struct bj_json_target *wanted;
    struct target target[BJ_JSON_TARGETS];
    unsigned targets;
    void *ctx;
    struct {
        bool array;
        uint64_t next; /* index of the next element */
    } open[BJ_JSON_DEPTH];
    unsigned
        depth; /* open arrays and objects, without the element being built */
    unsigned inside; /* depth whose values are elements; 0: none are */
    unsigned
        chosen; /* the target that the current element or scalar belongs to */
    bool building;      /* an element */
    bool skip_next;     /* the next value is a member to leave out */
    unsigned skipping;  /* open arrays and objects within it */
    uint64_t skip_from; /* bytes counted so far */
    uint64_t fed;       /* bytes of earlier pieces */
    uint64_t began; /* start of the element, or of the text between elements */
    char name[101];
};

/* --- paths -----------------------------------------------------------------*/

static struct bj_slice json_stream_key_of(const struct bj_json_stream *s)
{
    if (s->depth == 0 || s->open[s->depth - 1].array)
        return (struct bj_slice){"", 0};
    return (struct bj_slice){s->key.p ? s->key.p : "", s->key.len};
}

/* Whether a step matches the next value. */
static bool step_matches(const struct bj_json_stream *s, struct bj_slice step)
{
    uint64_t i;
    if (!s->open[s->depth - 1].array)
        return bj_slice_eq(step, json_stream_key_of(s));
    return bj_slice_u64(step, &i) == 0 && i == s->open[s->depth - 1].next;
}

/* Whether the next value is on the path to a target, or is the target
 * itself. */
static bool on_path(const struct bj_json_stream *s, const struct target *t)
{
    if (s->depth == 0)
        return true;
    return t->taken == s->depth - 1 && t->taken < t->steps &&
           step_matches(s, t->step[t->taken]);
}

static bool is_target(const struct bj_json_stream *s, const struct target *t)
{
    return t->steps == s->depth && on_path(s, t);
}

/* The target at which the next value is, else -1. */
static int find_target(const struct bj_json_stream *s)
{
    for (unsigned i = 0; i < s->targets; i++)
        if (is_target(s, &s->target[i]))
            return (int)i;
    return -1;
}

/* A value outside of elements, or a whole element, is complete. */
static void value_done(struct bj_json_stream *s)
{
    if (s->depth > 0)
        s->open[s->depth - 1].next++;
    s->began = s->fed;
}

/* --- elements -------------------------------------------------------------*/

static int json_stream_hand_over(struct bj_json_stream *s, struct bj_err *err)
{
    struct bj_slice key = json_stream_key_of(s);
    s->building = false;
    int r = s->wanted[s->chosen].element(s->ctx, key, s->build.root, err);
    value_done(s);
    return r < 0 ? r : 0;
}

static void start_element(struct bj_json_stream *s)
{
    bj_arena_reset(&s->arena);
    bj_json_build_start(&s->build);
    s->building = true;
}

static int element_scalar(struct bj_json_stream *s, enum bj_json_kind kind,
                          struct bj_slice text, struct bj_err *err)
{
    start_element(s);
    int r = bj_json_build_scalar(&s->build, kind, text, err);
    return r < 0 ? r : json_stream_hand_over(s, err);
}

/* --- skipped members -------------------------------------------------------*/

static bool unwanted(const struct bj_json_stream *s, struct bj_slice key)
{
    const char *const *skip = s->build.limits.skip;
    if (s->build.depth != 1)
        return false;
    for (; skip && *skip; skip++)
        if (bj_slice_eq(key, bj_slice_str(*skip)))
            return true;
    return false;
}

/* Do not count the skipped bytes for the element. */
static void discount(struct bj_json_stream *s)
{
    s->began += s->fed - s->skip_from;
    s->skip_from = s->fed;
}

/* An event within a skipped member, or its value.  open: 1 opens, -1 closes. */
static int json_stream_skip(struct bj_json_stream *s, int open,
                            struct bj_err *err)
{
    discount(s);
    s->skip_next = false;
    if (open > 0 && s->skipping >= s->build.limits.depth)
        return bj_err_set(err, -EFBIG, "more than %u nested arrays and objects",
                          s->build.limits.depth);
    s->skipping += (unsigned)open;
    return 0;
}

/* --- events ---------------------------------------------------------------*/

static int on_key(void *ctx, struct bj_slice key, struct bj_err *err)
{
    struct bj_json_stream *s = ctx;
    if (s->skipping > 0)
        return json_stream_skip(s, 0, err);
    if (s->building && unwanted(s, key)) {
        s->skip_next = true;
        s->skip_from = s->fed;
        return 0;
    }
    if (s->building)
        return bj_json_build_key(&s->build, key, err);
    s->key.len = 0;
    bj_buf_slice(&s->key, key);
    if (s->key.failed)
        return bj_err_set(err, -ENOMEM, "out of memory");
    return 0;
}

static int on_scalar(void *ctx, enum bj_json_kind kind, struct bj_slice text,
                     struct bj_err *err)
{
    struct bj_json_stream *s = ctx;
    if (s->skipping > 0 || s->skip_next)
        return json_stream_skip(s, 0, err);
    if (s->building)
        return bj_json_build_scalar(&s->build, kind, text, err);
    if (s->inside > 0 && s->depth == s->inside)
        return element_scalar(s, kind, text, err);
    int i = find_target(s);
    if (i < 0) {
        value_done(s);
        return 0;
    }
    s->chosen = (unsigned)i;
    s->target[i].seen = true;
    return element_scalar(s, kind, text, err);
}

/* An array or object that is not an element. */
static int descend(struct bj_json_stream *s, enum bj_json_kind kind,
                   struct bj_err *err)
{
    if (s->depth >= s->build.limits.depth)
        return bj_err_set(err, -EFBIG, "more than %u nested arrays and objects",
                          s->build.limits.depth);
    int found = find_target(s);
    for (unsigned i = 0; s->depth > 0 && i < s->targets; i++)
        if (on_path(s, &s->target[i]))
            s->target[i].taken++;
    s->open[s->depth].array = kind == BJ_JSON_ARRAY;
    s->open[s->depth].next = 0;
    s->depth++;
    if (found >= 0) {
        s->target[found].seen = true;
        s->chosen = (unsigned)found;
        s->inside = s->depth;
    }
    return 0;
}

static int on_open(void *ctx, enum bj_json_kind kind, struct bj_err *err)
{
    struct bj_json_stream *s = ctx;
    if (s->skipping > 0 || s->skip_next)
        return json_stream_skip(s, 1, err);
    if (!s->building && s->inside > 0 && s->depth == s->inside)
        start_element(s);
    if (s->building)
        return bj_json_build_open(&s->build, kind, err);
    return descend(s, kind, err);
}

static int on_close(void *ctx, struct bj_err *err)
{
    struct bj_json_stream *s = ctx;
    if (s->skipping > 0)
        return json_stream_skip(s, -1, err);
    if (s->building) {
        bj_json_build_close(&s->build);
        return s->build.depth == 0 ? json_stream_hand_over(s, err) : 0;
    }
    if (s->inside == s->depth)
        s->inside = 0;
    s->depth--;
    /* An open value at this depth has depth - 1 steps before it. */
    for (unsigned i = 0; s->depth > 0 && i < s->targets; i++)
        if (s->target[i].taken > s->depth - 1)
            s->target[i].taken = s->depth - 1;
    value_done(s);
    return 0;
}

/* --- calls -----------------------------------------------------------------*/

static int take_path(struct target *t, const char *path)
{
    struct bj_json_steps steps = bj_json_steps(path);
    struct bj_slice step;
    while (bj_json_step(&steps, &step)) {
        if (t->steps == STEPS)
            return -EINVAL;
        t->step[t->steps++] = step;
    }
    return 0;
}

static bool within(const struct target *a, const struct target *b)
{
    for (unsigned i = 0; i < a->steps && i < b->steps; i++)
        if (!bj_slice_eq(a->step[i], b->step[i]))
            return false;
    return true;
}

static int take_targets(struct bj_json_stream *s, struct bj_err *err)
{
    for (const struct bj_json_target *w = s->wanted; w->path; w++) {
        struct target *t = &s->target[s->targets];
        if (s->targets == BJ_JSON_TARGETS || take_path(t, w->path) < 0)
            return bj_err_set(err, -EINVAL, "%s: bad target '%s'", s->name,
                              w->path);
        for (unsigned i = 0; i < s->targets; i++)
            if (within(t, &s->target[i]))
                return bj_err_set(err, -EINVAL, "%s: '%s' lies within '%s'",
                                  s->name, w->path, s->wanted[i].path);
        s->targets++;
    }
    return 0;
}

static const struct bj_json_events events = {on_key, on_open, on_close,
                                             on_scalar};

int bj_json_stream_new(const struct bj_json_target *targets, void *ctx,
                       const char *name, const struct bj_json_limits *limits,
                       struct bj_json_stream **ret, struct bj_err *err)
{
    struct bj_json_stream *s = calloc(1, sizeof(*s));
    if (!s)
        return bj_err_set(err, -ENOMEM, "%.100s: out of memory", name);
    s->wanted = targets;
    s->ctx = ctx;
    s->build.arena = &s->arena;
    s->build.limits = bj_json_limits(limits);
    snprintf(s->name, sizeof(s->name), "%s", name);
    int r = take_targets(s, err);
    if (r == 0)
        r = bj_json_reader_init(&s->reader, &events, s, s->name, err);
    if (r < 0) {
        bj_json_stream_free(s);
        return r;
    }
    *ret = s;
    return 0;
}

/* yajl keeps a token until it is complete, and it may be as long as the text:
 * limit the bytes without an event. */
static int check_size(struct bj_json_stream *s, struct bj_err *err)
{
    if (s->fed - s->began <= s->build.limits.bytes)
        return 0;
    s->reader.ended = true;
    bj_err_set(&s->reader.err, -EFBIG, "%s: an element of more than %zu bytes",
               s->name, s->build.limits.bytes);
    return bj_err_copy(err, -EFBIG, &s->reader.err);
}

int bj_json_stream_feed(struct bj_json_stream *s, struct bj_slice piece,
                        struct bj_err *err)
{
    do {
        struct bj_slice cut = {piece.p, piece.n < PIECE ? piece.n : PIECE};
        int r = bj_json_reader_feed(&s->reader, cut, err);
        if (r < 0)
            return r;
        s->fed += cut.n;
        r = check_size(s, err);
        if (r < 0)
            return r;
        piece.p += cut.n;
        piece.n -= cut.n;
    } while (piece.n > 0);
    return 0;
}

int bj_json_stream_end(struct bj_json_stream *s, struct bj_err *err)
{
    return bj_json_reader_end(&s->reader, err);
}

bool bj_json_stream_found(const struct bj_json_stream *s, size_t i)
{
    return i < s->targets && s->target[i].seen;
}

void bj_json_stream_free(struct bj_json_stream *s)
{
    if (!s)
        return;
    bj_json_reader_fini(&s->reader);
    bj_arena_free(&s->arena);
    bj_buf_free(&s->key);
    free(s);
}
