#include "base/constants.h"

#include "base/absent.h"
#include "base/json.h"
#include "base/opt_value.h"
#include "base/text.h"

#include <inttypes.h>

#define YEAR (365 * 86400u)

static const struct {
    const char *name;
    uint64_t sec;
} periods[] = {
    {"hour", 3600},       {"day", 86400},        {"week", 7 * 86400},
    {"month", YEAR / 12}, {"quarter", YEAR / 4}, {"year", YEAR},
};

static int parse_period(struct bj_slice s, uint64_t *ret_sec)
{
    uint64_t usec;
    for (size_t i = 0; i < sizeof(periods) / sizeof(periods[0]); i++)
        if (bj_slice_eq(s, bj_slice_str(periods[i].name))) {
            *ret_sec = periods[i].sec;
            return 0;
        }
    /* A plain number of seconds is ambiguous beside the value. */
    if (bj_slice_u64(s, &usec) == 0 || bj_duration_parse(s, &usec) < 0 ||
        usec == 0 || usec % 1000000 != 0)
        return -EINVAL;
    *ret_sec = usec / 1000000;
    return 0;
}

static int complain(const struct bj_constants *c, struct bj_slice what,
                    const char *expected, struct bj_err *err)
{
    char shown[60];
    bj_text_clean(what, shown, sizeof(shown));
    return bj_err_set(err, -EINVAL, "%s:%" PRIu64 ": '%s' is not %s", c->file,
                      c->line, shown, expected);
}

static bool constants_is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Cut the text before a blank or one of the given characters off *s. */
static struct bj_slice constants_cut(struct bj_slice *s, const char *others)
{
    struct bj_slice word = {s->p, 0};
    while (word.n < s->n && !constants_is_blank(s->p[word.n]) &&
           !memchr(others, s->p[word.n], strlen(others)))
        word.n++;
    s->p += word.n;
    s->n -= word.n;
    return word;
}

static int constants_parse(const struct bj_constants *c, struct bj_slice line,
                           struct bj_constant *ret, struct bj_err *err)
{
    struct bj_slice rest = line, number;
    *ret = (struct bj_constant){.cluster = c->cluster, .period_sec = BJ_ABSENT};
    ret->name = constants_cut(&rest, "=:");
    while (rest.n > 0 &&
           (constants_is_blank(*rest.p) || *rest.p == '=' || *rest.p == ':'))
        rest = (struct bj_slice){rest.p + 1, rest.n - 1};
    number = constants_cut(&rest, "");
    if (ret->name.n == 0 || number.n == 0)
        return complain(c, line, "NAME NUMBER [PERIOD] or [CLUSTER]", err);
    if (bj_decimal_i64(number, 6, &ret->micro) < 0)
        return complain(c, number, "a number", err);
    rest = bj_slice_trim(rest);
    if (rest.n == 0)
        return 1;
    ret->period = rest;
    if (parse_period(rest, &ret->period_sec) < 0)
        return complain(c, rest,
                        "a period: hour, day, week, month, quarter, year or a "
                        "length such as 90d",
                        err);
    return 1;
}

int bj_constants_next(struct bj_constants *c, struct bj_constant *ret,
                      struct bj_err *err)
{
    struct bj_slice line, text;
    while (bj_slice_line(&c->text, &line)) {
        c->line++;
        if (!bj_slice_field(&line, '#', &text))
            continue;
        text = bj_slice_trim(text);
        if (text.n == 0)
            continue;
        if (text.n < 3 || *text.p != '[' || text.p[text.n - 1] != ']')
            return constants_parse(c, text, ret, err);
        c->cluster = (struct bj_slice){text.p + 1, text.n - 2};
    }
    return 0;
}
