/* Functions for the flag tables of other exporters. */
#include "standalone/as_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int as_tables_add(struct bj_as *as, char *text, struct bj_err *err)
{
    return bj_strv_add(&as->argv, text) ? 0
                                        : bj_err_set(err, -ENOMEM, "arguments");
}

/* text with its %s replaced by value; value NULL: text as it is. */
static char *filled(struct bj_slice text, const char *value)
{
    struct bj_buf b = {0};
    const char *at =
        value && text.n > 0 ? memmem(text.p, text.n, "%s", 2) : NULL;
    size_t n = at ? (size_t)(at - text.p) : text.n;
    bj_buf_put(&b, text.p, n);
    if (at) {
        bj_buf_str(&b, value);
        bj_buf_put(&b, at + 2, text.n - n - 2);
    }
    bj_buf_put(&b, "", 1);
    if (!b.failed)
        return b.p;
    bj_buf_free(&b);
    return NULL;
}

int bj_as_add(struct bj_as *as, const char *text, const char *value,
              struct bj_err *err)
{
    return as_tables_add(as, filled(bj_slice_str(text), value), err);
}

int bj_as_add_words(struct bj_as *as, const char *text, const char *value,
                    struct bj_err *err)
{
    struct bj_slice rest = bj_slice_str(text), word;
    int r = 0;
    while (r == 0 && bj_slice_word(&rest, &word))
        r = as_tables_add(as, filled(word, value), err);
    return r;
}

int bj_as_take_if_any(struct bj_as *as, const struct bj_as_flag *flag,
                      const char *value, struct bj_err *err)
{
    return *value ? bj_as_add(as, flag->to, value, err) : 0;
}

int bj_as_take_requests(struct bj_as *as, const struct bj_as_flag *flag,
                        const char *value, struct bj_err *err)
{
    uint64_t n;
    if (bj_slice_u64(bj_slice_str(value), &n) < 0)
        return bj_err_set(err, -EINVAL, "%s: '%.40s' is not a whole number",
                          flag->name, value);
    return bj_as_add(as, "--web.max-requests=%s", n == 0 ? "5000" : value, err);
}
