#include "statsdb/derive/rule_impl.h"

#include "base/json.h"
#include "base/opt.h"
#include "base/text.h"
#include "sched/state.h"

#include <math.h>

static const char *const names[BJ_FACT_COUNT] = {
#define NAME(upper, lower) [BJ_FACT_##upper] = #lower,
    BJ_FACTS(NAME)
#undef NAME
};

enum { LT, LE, GT, GE, EQ, NE, OPS };

static const char *const ops[OPS] = {"<", "<=", ">", ">=", "=", "!="};

int bj_fact_find(struct bj_slice name)
{
    for (int i = 0; i < BJ_FACT_COUNT; i++)
        if (bj_slice_eq(name, bj_slice_str(names[i])))
            return i;
    return -1;
}

const char *bj_fact_name(int fact)
{
    return fact >= 0 && fact < BJ_FACT_COUNT ? names[fact] : NULL;
}

static const struct {
    char letter;
    double of;
} units[] = {
    {'s', 1},      {'m', 60},     {'h', 3600},   {'d', 86400}, {'K', 0x1p10},
    {'M', 0x1p20}, {'G', 0x1p30}, {'T', 0x1p40}, {'%', 1},
};

int bj_rule_number(struct bj_slice s, double *ret)
{
    double of = 1;
    int64_t v;
    for (size_t i = 0; s.n > 0 && i < sizeof(units) / sizeof(units[0]); i++)
        if (s.p[s.n - 1] == units[i].letter) {
            of = units[i].of;
            s.n--;
            break;
        }
    /* Six digits after the point are enough. */
    if (s.n == 0 || s.p[s.n - 1] == ' ' || bj_decimal_i64(s, 6, &v) < 0)
        return -EINVAL;
    *ret = (double)v / 1e6 * of;
    return 0;
}

static bool rule_row_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '%';
}

static void rule_row_skip(struct bj_slice *s)
{
    while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t')) {
        s->p++;
        s->n--;
    }
}

static bool rule_row_take(struct bj_slice *s, char c)
{
    rule_row_skip(s);
    if (s->n == 0 || s->p[0] != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

static struct bj_slice word(struct bj_slice *s)
{
    rule_row_skip(s);
    struct bj_slice w = {s->p, 0};
    while (w.n < s->n && rule_row_is_word(s->p[w.n]))
        w.n++;
    s->p += w.n;
    s->n -= w.n;
    return w;
}

static int rule_row_bad(struct bj_err *err, struct bj_slice where,
                        const char *what)
{
    char shown[60];
    bj_text_clean(where, shown, sizeof(shown));
    return bj_err_set(err, -EINVAL, "%s, at '%s'", what, shown);
}

static int take_op(struct bj_slice *s, uint8_t *ret)
{
    rule_row_skip(s);
    for (int i = OPS - 1; i >= 0; i--) {
        /* "<=" before "<" */
        static const unsigned char order[OPS] = {LT, GT, EQ, NE, GE, LE};
        struct bj_slice op = bj_slice_str(ops[order[i]]);
        if (!bj_slice_starts(*s, op))
            continue;
        s->p += op.n;
        s->n -= op.n;
        *ret = order[i];
        return 0;
    }
    return -EINVAL;
}

static const char *fact_at(const void *ctx, size_t i)
{
    (void)ctx;
    return i < BJ_FACT_COUNT ? names[i] : NULL;
}

static int take_field(struct bj_slice *s, int8_t *ret, struct bj_err *err)
{
    struct bj_slice at = *s, w = word(s);
    char like[BJ_OPT_SUGGESTION];
    int f = bj_fact_find(w);
    if (f < 0 && bj_suggest(w, fact_at, NULL, like)[0])
        return bj_err_set(err, -EINVAL, "there is no fact '%.*s'%s",
                          w.n < 60 ? (int)w.n : 60, w.p, like);
    if (f < 0)
        return rule_row_bad(err, at, "a fact is expected");
    *ret = (int8_t)f;
    return 0;
}

/* A number or $threshold. */
static int take_number(struct bj_slice *s, const struct bj_threshold *set,
                       unsigned sets, double *ret, struct bj_err *err)
{
    struct bj_slice at = *s;
    bool named = rule_row_take(s, '$'), minus = !named && rule_row_take(s, '-');
    struct bj_slice w = word(s);
    if (!named && w.n > 0 && bj_rule_number(w, ret) == 0) {
        *ret = minus ? -*ret : *ret;
        return 0;
    }
    for (unsigned i = 0; named && i < sets; i++)
        if (bj_slice_eq(w, set[i].name)) {
            *ret = set[i].value;
            return 0;
        }
    return rule_row_bad(err, at,
                        named ? "expected a threshold of set"
                              : "a number is expected");
}

/* Parse a right side that does not begin with a fact: a number, or a number
 * times a fact. */
static int take_scaled(struct bj_slice *s, const struct bj_threshold *set,
                       unsigned sets, struct bj_rule_row *row,
                       struct bj_err *err)
{
    int r = take_number(s, set, sets, &row->value, err);
    if (r < 0 || !rule_row_take(s, '*'))
        return r;
    row->factor = row->value;
    return take_field(s, &row->right, err);
}

static int take_right(struct bj_slice *s, const struct bj_threshold *set,
                      unsigned sets, struct bj_rule_row *row,
                      struct bj_err *err)
{
    struct bj_slice peek = *s, w = word(&peek);
    enum bj_job_state state = bj_state_from_name(w);
    int f = bj_fact_find(w);
    if (row->left == BJ_FACT_STATE) {
        if (state == BJ_STATE_UNKNOWN && !bj_slice_eq(w, BJ_SLICE("unknown")))
            return rule_row_bad(err, *s, "a state is expected");
        row->value = state;
        *s = peek;
        return 0;
    }
    int r = 0;
    if (f >= 0) {
        row->right = (int8_t)f;
        *s = peek;
    } else {
        r = take_scaled(s, set, sets, row, err);
    }
    if (r == 0 && rule_row_take(s, '/'))
        r = take_field(s, &row->right_by, err);
    return r;
}

int bj_rule_row(struct bj_slice s, const struct bj_threshold *set,
                unsigned sets, struct bj_rule_row *ret, struct bj_err *err)
{
    struct bj_rule_row row = {
        .left_by = -1, .right = -1, .right_by = -1, .factor = 1};
    int r = take_field(&s, &row.left, err);
    if (r == 0 && rule_row_take(&s, '/'))
        r = take_field(&s, &row.left_by, err);
    if (r == 0 && take_op(&s, &row.op) < 0)
        r = rule_row_bad(err, s, "one of < <= > >= = != is expected");
    if (r == 0 && row.left == BJ_FACT_STATE &&
        ((row.op != EQ && row.op != NE) || row.left_by >= 0))
        r = rule_row_bad(err, s, "state allows only = and !=");
    if (r == 0)
        r = take_right(&s, set, sets, &row, err);
    rule_row_skip(&s);
    if (r == 0 && s.n > 0)
        r = rule_row_bad(err, s, "unexpected text");
    if (r == 0)
        *ret = row;
    return r;
}

static double side(const double *fact, int8_t of, double otherwise, int8_t by)
{
    double v = of >= 0 ? fact[of] : otherwise;
    if (by < 0)
        return v;
    return fact[by] > 0 ? v / fact[by] : (double)NAN;
}

bool bj_rule_row_holds(const struct bj_rule_row *row,
                       const double fact[BJ_FACT_COUNT], double *ret_left,
                       double *ret_right)
{
    double a = side(fact, row->left, 0, row->left_by);
    double b = row->factor * side(fact, row->right, row->value, row->right_by);
    if (row->right < 0)
        b = side(fact, -1, row->value, row->right_by);
    *ret_left = a;
    *ret_right = b;
    if (isnan(a) || isnan(b))
        return false;
    switch (row->op) {
    case LT:
        return a < b;
    case LE:
        return a <= b;
    case GT:
        return a > b;
    case GE:
        return a >= b;
    case EQ:
        return !(a < b) && !(a > b);
    default:
        return a < b || a > b;
    }
}

int bj_rule_action(struct bj_slice s, struct bj_rule_action *ret)
{
    double sec;
    struct bj_slice what = word(&s), after = word(&s), time = word(&s);
    rule_row_skip(&s);
    ret->cancel = bj_slice_eq(what, BJ_SLICE("cancel"));
    if ((!ret->cancel && !bj_slice_eq(what, BJ_SLICE("warn"))) ||
        !bj_slice_eq(after, BJ_SLICE("after")) || s.n > 0 ||
        bj_rule_number(time, &sec) < 0 || sec < 0 || sec > 30 * 86400)
        return -EINVAL;
    ret->after_sec = (uint32_t)sec;
    return 0;
}
