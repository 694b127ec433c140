/* Rules over facts. */
#include "statsdb/derive/rule.h"

#include "base/buf.h"
#include "base/json.h"
#include "base/local.h"
#include "base/opt.h"
#include "base/text.h"
#include "sched/state.h"
#include "statsdb/derive/rule_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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

static bool rule_is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '%';
}

static void rule_skip(struct bj_slice *s)
{
    while (s->n > 0 && (s->p[0] == ' ' || s->p[0] == '\t')) {
        s->p++;
        s->n--;
    }
}

static bool rule_take(struct bj_slice *s, char c)
{
    rule_skip(s);
    if (s->n == 0 || s->p[0] != c)
        return false;
    s->p++;
    s->n--;
    return true;
}

static struct bj_slice word(struct bj_slice *s)
{
    rule_skip(s);
    struct bj_slice w = {s->p, 0};
    while (w.n < s->n && rule_is_word(s->p[w.n]))
        w.n++;
    s->p += w.n;
    s->n -= w.n;
    return w;
}

static int rule_bad(struct bj_err *err, struct bj_slice where, const char *what)
{
    char shown[60];
    bj_text_clean(where, shown, sizeof(shown));
    return bj_err_set(err, -EINVAL, "%s, at '%s'", what, shown);
}

static int take_op(struct bj_slice *s, uint8_t *ret)
{
    rule_skip(s);
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
        return rule_bad(err, at, "a fact is expected");
    *ret = (int8_t)f;
    return 0;
}

/* A number or $threshold. */
static int take_number(struct bj_slice *s, const struct bj_threshold *set,
                       unsigned sets, double *ret, struct bj_err *err)
{
    struct bj_slice at = *s;
    bool named = rule_take(s, '$'), minus = !named && rule_take(s, '-');
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
    return rule_bad(err, at,
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
    if (r < 0 || !rule_take(s, '*'))
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
            return rule_bad(err, *s, "a state is expected");
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
    if (r == 0 && rule_take(s, '/'))
        r = take_field(s, &row->right_by, err);
    return r;
}

int bj_rule_row(struct bj_slice s, const struct bj_threshold *set,
                unsigned sets, struct bj_rule_row *ret, struct bj_err *err)
{
    struct bj_rule_row row = {
        .left_by = -1, .right = -1, .right_by = -1, .factor = 1};
    int r = take_field(&s, &row.left, err);
    if (r == 0 && rule_take(&s, '/'))
        r = take_field(&s, &row.left_by, err);
    if (r == 0 && take_op(&s, &row.op) < 0)
        r = rule_bad(err, s, "one of < <= > >= = != is expected");
    if (r == 0 && row.left == BJ_FACT_STATE &&
        ((row.op != EQ && row.op != NE) || row.left_by >= 0))
        r = rule_bad(err, s, "state allows only = and !=");
    if (r == 0)
        r = take_right(&s, set, sets, &row, err);
    rule_skip(&s);
    if (r == 0 && s.n > 0)
        r = rule_bad(err, s, "unexpected text");
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
    rule_skip(&s);
    ret->cancel = bj_slice_eq(what, BJ_SLICE("cancel"));
    if ((!ret->cancel && !bj_slice_eq(what, BJ_SLICE("warn"))) ||
        !bj_slice_eq(after, BJ_SLICE("after")) || s.n > 0 ||
        bj_rule_number(time, &sec) < 0 || sec < 0 || sec > 30 * 86400)
        return -EINVAL;
    ret->after_sec = (uint32_t)sec;
    return 0;
}

/* --- adding ----------------------------------------------------------------
 */

/* Is this name the whole text after '$'? */
static bool rule_is_name(struct bj_slice s, struct bj_slice name)
{
    struct bj_slice rest = {s.p + 1, s.n - 1};
    if (!bj_slice_starts(rest, name))
        return false;
    return rest.n == name.n || rest.p[name.n] == ' ' || rest.p[name.n] == '*' ||
           rest.p[name.n] == '/';
}

/* The conditions as one text, with thresholds as numbers. */
static const char *condition(struct bj_rules *r, const struct bj_rule_text *t)
{
    struct bj_buf out = {0};
    for (unsigned i = 0; i < t->rows; i++) {
        struct bj_slice s = t->when[i];
        bj_buf_str(&out, i ? " and " : "");
        while (s.n > 0) {
            unsigned k = 0;
            for (; k < t->sets; k++)
                if (s.p[0] == '$' && rule_is_name(s, t->set[k].name))
                    break;
            if (k < t->sets)
                bj_buf_printf(&out, "%.10g", t->set[k].value);
            else
                bj_buf_put(&out, s.p, 1);
            size_t n = k < t->sets ? t->set[k].name.n + 1 : 1;
            s.p += n;
            s.n -= n;
        }
    }
    struct bj_slice text = {out.p, out.len};
    const char *ret = out.failed ? "" : bj_arena_copy(&r->arena, text).p;
    r->arena.failed = r->arena.failed || out.failed;
    bj_buf_free(&out);
    return ret;
}

/* A text with {time} replaced by the time of a rule for running jobs. */
static const char *with_time(struct bj_rules *r, struct bj_slice text,
                             uint32_t sec)
{
    const struct bj_slice word = BJ_SLICE("{time}");
    struct bj_buf out = {0};
    for (struct bj_slice s = text; s.n > 0;) {
        bool here = bj_slice_starts(s, word);
        if (here && sec % 3600 == 0)
            bj_buf_printf(&out, "%u h", sec / 3600);
        else if (here)
            bj_buf_printf(&out, "%u min", (sec + 59) / 60);
        else
            bj_buf_put(&out, s.p, 1);
        s.p += here ? word.n : 1;
        s.n -= here ? word.n : 1;
    }
    const char *ret =
        bj_arena_copy(&r->arena, (struct bj_slice){out.p, out.len}).p;
    r->arena.failed = r->arena.failed || out.failed;
    bj_buf_free(&out);
    return ret;
}

/* Does a rule of that name exist? */
static bool rule_known(const struct bj_rules *r, struct bj_slice name)
{
    for (size_t i = 0; i < r->n; i++)
        if (bj_slice_eq(r->text[i]->name, name))
            return true;
    return false;
}

/* The keys of rules for running jobs.  Jobs are cancelled only if the site
 * configures it, and not before the owner was warned. */
static int check_running(const struct bj_rules *r, const struct bj_rule_text *t,
                         struct bj_err *err)
{
    uint32_t windows[BJ_RULE_WINDOWS];
    unsigned n = bj_rules_windows(r, windows), k = 0;
    while (k < n && windows[k] != t->running_sec)
        k++;
    if (k == BJ_RULE_WINDOWS && t->running_sec > 0)
        return bj_err_set(err, -EINVAL,
                          "more than %d different times in running",
                          BJ_RULE_WINDOWS);
    if (t->actions > 0 && t->running_sec == 0)
        return bj_err_set(err, -EINVAL,
                          "escalate needs running: it is for running jobs");
    for (unsigned i = 0; i < t->actions; i++) {
        if (i > 0 && t->action[i].after_sec <= t->action[i - 1].after_sec)
            return bj_err_set(err, -EINVAL,
                              "the times in escalate must increase");
        if (i > 0 && t->action[i - 1].cancel)
            return bj_err_set(err, -EINVAL,
                              "cancel must be the last item of escalate");
        if (i == 0 && t->action[i].cancel)
            return bj_err_set(err, -EINVAL,
                              "escalate must warn before it cancels");
        if (t->action[i].cancel && t->partitions + t->qoses == 0)
            return bj_err_set(err, -EINVAL,
                              "a rule that cancels needs partition or qos");
    }
    return 0;
}

int bj_rules_add(struct bj_rules *r, const struct bj_rule_text *t,
                 struct bj_err *err)
{
    if (r->n == BJ_RULES_MAX)
        return bj_err_set(err, -EINVAL, "more than %d rules", BJ_RULES_MAX);
    int invalid = check_running(r, t, err);
    if (invalid < 0)
        return invalid;
    struct bj_rule *rule = &r->rule[r->n];
    *rule = (struct bj_rule){.enabled = t->enabled,
                             .running_sec = t->running_sec,
                             .actions = t->actions};
    memcpy(rule->action, t->action, sizeof(rule->action));
    for (unsigned i = 0; i < t->rows; i++) {
        int e = bj_rule_row(t->when[i], t->set, t->sets, &rule->row[i], err);
        if (e < 0)
            return e;
    }
    rule->rows = t->rows;
    struct bj_rule_text *copy = bj_arena_alloc(&r->arena, sizeof(*copy));
    if (!copy)
        return bj_err_set(err, -ENOMEM, "rules");
    *copy = *t;
    r->text[r->n] = copy;
    rule->name = bj_arena_copy(&r->arena, t->name).p;
    rule->severity = bj_arena_copy(&r->arena, t->severity).p;
    rule->text = with_time(r, bj_local_slice(t->text), t->running_sec);
    rule->advice = with_time(r, bj_local_slice(t->advice), t->running_sec);
    rule->url = bj_arena_copy(&r->arena, t->url).p;
    rule->condition = condition(r, t);
    if (r->arena.failed)
        return bj_err_set(err, -ENOMEM, "rules");
    r->first[r->n] = !rule_known(r, t->name);
    r->n++;
    return 0;
}

const struct bj_rule_text *bj_rules_base(const struct bj_rules *r,
                                         struct bj_slice name)
{
    for (size_t i = r->n; i > 0; i--)
        if (bj_slice_eq(r->text[i - 1]->name, name) &&
            r->text[i - 1]->clusters == 0 && r->text[i - 1]->partitions == 0 &&
            r->text[i - 1]->qoses == 0)
            return r->text[i - 1];
    return NULL;
}

/* --- access ----------------------------------------------------------------
 */

void bj_rules_free(struct bj_rules *r)
{
    if (!r)
        return;
    bj_arena_free(&r->arena);
    free(r);
}

const char *bj_rules_sign(const struct bj_rules *r)
{
    return r->sign;
}

const struct bj_rule *bj_rules_at(const struct bj_rules *r, size_t i)
{
    return i < r->n ? &r->rule[i] : NULL;
}

/* --- evaluating
 * ---------------------------------------------------------------
 */

static bool contains(struct bj_slice what, const struct bj_slice *v, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (bj_slice_eq(what, v[i]))
            return true;
    return false;
}

static bool is_for(const struct bj_rule_text *t, const struct bj_rule_job *job)
{
    return (t->clusters == 0 ||
            contains(job->cluster, t->cluster, t->clusters)) &&
           (t->partitions == 0 ||
            contains(job->partition, t->partition, t->partitions)) &&
           (t->qoses == 0 || contains(job->qos, t->qos, t->qoses));
}

/* Find the rule that is valid for a job among those with the name of rule i:
 * the last one for its cluster, partition and QOS; r->n: none. */
static size_t rules_of_job(const struct bj_rules *r, size_t first,
                           const struct bj_rule_job *job)
{
    struct bj_slice name = r->text[first]->name;
    for (size_t i = r->n; i > first; i--)
        if (bj_slice_eq(r->text[i - 1]->name, name) &&
            is_for(r->text[i - 1], job))
            return i - 1;
    return r->n;
}

/* Does "unless" of the rule contain the name of this finding? */
static bool rule_is_unless(const struct bj_rule_text *t,
                           const struct bj_rule_match *found)
{
    return contains(bj_slice_str(found->rule->name), t->unless, t->unlesses);
}

static bool excluded(const struct bj_rule_text *t,
                     const struct bj_rule_match *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (rule_is_unless(t, &v[i]))
            return true;
    return false;
}

static bool holds(const struct bj_rule *rule, const struct bj_rule_facts *facts,
                  size_t n, struct bj_rule_match *f)
{
    size_t k = 0;
    while (k < n && facts[k].running_sec != rule->running_sec)
        k++;
    if (k == n)
        return false;
    f->names = NULL;
    for (unsigned i = 0; i < rule->rows; i++) {
        if (!bj_rule_row_holds(&rule->row[i], facts[k].fact, &f->value,
                               &f->threshold))
            return false;
        if (!f->names && facts[k].names && rule->row[i].left >= 0)
            f->names = facts[k].names[rule->row[i].left];
    }
    f->rule = rule;
    return rule->enabled && rule->rows > 0;
}

/* Does a later rule of its name apply to all jobs? */
static bool is_replaced(const struct bj_rules *r, size_t i)
{
    const struct bj_rule_text *last = bj_rules_base(r, r->text[i]->name);
    for (size_t k = i + 1; k < r->n; k++)
        if (r->text[k] == last)
            return true;
    return false;
}

unsigned bj_rules_windows(const struct bj_rules *r,
                          uint32_t ret[BJ_RULE_WINDOWS])
{
    unsigned n = 0;
    for (size_t i = 0; i < r->n; i++) {
        const struct bj_rule *rule = &r->rule[i];
        unsigned k = 0;
        while (k < n && ret[k] != rule->running_sec)
            k++;
        if (k == n && n < BJ_RULE_WINDOWS && rule->enabled &&
            rule->running_sec > 0 && !is_replaced(r, i))
            ret[n++] = rule->running_sec;
    }
    return n;
}

size_t bj_rules_judge(const struct bj_rules *r, const struct bj_rule_job *job,
                      const struct bj_rule_facts *facts, size_t n_facts,
                      struct bj_rule_match *ret, size_t max)
{
    size_t n = 0;
    for (size_t i = 0; i < r->n && n < max; i++) {
        if (!r->first[i])
            continue;
        size_t k = rules_of_job(r, i, job);
        if (k < r->n && holds(&r->rule[k], facts, n_facts, &ret[n]) &&
            !excluded(r->text[k], ret, n))
            n++;
    }
    return n;
}

bool bj_rules_limit(const struct bj_rules *r, const char *rule,
                    const char *fact, double *ret)
{
    const struct bj_rule_text *base = bj_rules_base(r, bj_slice_str(rule));
    const int left = bj_fact_find(bj_slice_str(fact));
    size_t at = 0;
    while (at < r->n && r->text[at] != base)
        at++;
    for (unsigned i = at < r->n ? r->rule[at].rows : 0; i > 0; i--) {
        const struct bj_rule_row *row = &r->rule[at].row[i - 1];
        if (row->left == left && row->left_by < 0 && row->right < 0 &&
            row->right_by < 0) {
            *ret = row->value;
            return true;
        }
    }
    return false;
}

bool bj_rules_written(const struct bj_rules *r, size_t i, struct bj_slice *text,
                      struct bj_slice *advice)
{
    if (i >= r->n)
        return false;
    *text = r->text[i]->text;
    *advice = r->text[i]->advice;
    return true;
}

/* --- why a rule applies ---------------------------------------------------*/

/* Cut the first condition off rule->condition. */
static struct bj_slice rule_cut(const char **rest)
{
    static const char and[] = " and ";
    const char *begin = *rest, *end = strstr(begin, and);
    size_t n = end ? (size_t)(end - begin) : strlen(begin);
    *rest = end ? end + strlen(and) : begin + n;
    return (struct bj_slice){begin, n};
}

static void trace(const struct bj_rules *r, size_t k, const double *fact,
                  const struct bj_rule_match *found, size_t n,
                  struct bj_rule_trace *ret)
{
    const struct bj_rule *rule = &r->rule[k];
    const char *rest = rule->condition;
    *ret = (struct bj_rule_trace){.rule = rule};
    for (unsigned i = 0; i < rule->rows; i++) {
        ret->row[i].text = rule_cut(&rest);
        ret->row[i].holds = bj_rule_row_holds(
            &rule->row[i], fact, &ret->row[i].left, &ret->row[i].right);
    }
    for (size_t i = 0; i < n; i++) {
        ret->applies = ret->applies || found[i].rule == rule;
        if (!ret->unless && rule_is_unless(r->text[k], &found[i]))
            ret->unless = found[i].rule->name;
    }
}

bool bj_rules_trace(const struct bj_rules *r, size_t *at,
                    const struct bj_rule_job *job,
                    const double fact[BJ_FACT_COUNT],
                    const struct bj_rule_match *found, size_t n,
                    struct bj_rule_trace *ret)
{
    for (; *at < r->n; ++*at) {
        size_t k = r->first[*at] ? rules_of_job(r, *at, job) : r->n;
        if (k == r->n || r->rule[k].running_sec > 0)
            continue;
        trace(r, k, fact, found, n, ret);
        ++*at;
        return true;
    }
    return false;
}
