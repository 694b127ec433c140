/* The page at the root, the static files, and what pages share. */
#include "apiserver/pages/pages.h"

#include "apiserver/frame/page.h"
#include "apiserver/frame/widget.h"
#include "base/amount.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"

int bj_page_root(struct bj_call *c)
{
    c->reply->status = 303;
    bj_call_header(c, "Location", "home");
    return 0;
}

/* --- static files --------------------------------------------------------- */

static const char style[] = {
#include "apiserver/pages/static/style.css.inc"
};
static const char script[] = {
#include "apiserver/pages/static/pages.js.inc"
};
static const char icon[] = {
#include "apiserver/pages/static/icon.svg.inc"
};

static int on_static(struct bj_call *c)
{
    const struct bj_endpoint *e = c->endpoint;
    c->reply->type = e->type;
    bj_buf_put(&c->reply->body, e->file.p, e->file.n);
    return 0;
}

#define STATIC(name, content, mime, text)                                      \
    {                                                                          \
        .path = "/static/" name, .methods = BJ_HTTP_GET, .quick = true,        \
        .run = on_static, .help = text, .type = mime, .file = {                \
            content,                                                           \
            sizeof(content)                                                    \
        }                                                                      \
    }

const struct bj_endpoint bj_endpoints_pages[] = {
    STATIC("style.css", style, "text/css; charset=utf-8",
           "Style sheet of the web pages."),
    STATIC("pages.js", script, "text/javascript; charset=utf-8",
           "Script of the web pages, which work without it, too."),
    STATIC("icon.svg", icon, "image/svg+xml", "Icon of the web pages."),
    {.path = NULL},
};

/* --- forms and times ----------------------------------------------------
 */

enum { DAY = 86400 };

void bj_page_use(struct bj_buf *b, int64_t held, int64_t known,
                 int64_t used_msec)
{
    if (held <= 0)
        return;
    if (known <= 0) {
        bj_buf_str(b, "&ndash;");
        return;
    }
    bj_widget_bar(b, BJ_LOOK_NONE, known < held - known,
                  (double)used_msec / 10 / (double)known);
    if (known < held) {
        bj_buf_str(b, " <small>");
        bj_amount(b, BJ_AMOUNT_PERCENT, 100 * (double)known / (double)held);
        bj_local_html(b, " {known}</small>");
    }
}

bool bj_page_sees_others(const struct bj_call *c)
{
    return c->identity.admin || c->identity.accounts > 0;
}

int bj_page_fields(struct bj_call *c, struct bj_params *p,
                   const char *const *names)
{
    int r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("key"));
    for (; *names && r == 0; names++)
        r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(*names));
    return r;
}

void bj_page_times(const struct bj_call *c, struct bj_params *p)
{
    const struct bj_tz *tz = bj_tz_used();
    int64_t *from = &p->number[BJ_PARAM_FROM], *to = &p->number[BJ_PARAM_TO];
    if (!p->given[BJ_PARAM_TO])
        *to = c->now_sec;
    else if (*to == bj_tz_midnight(tz, bj_tz_day(tz, *to)))
        *to = bj_tz_midnight(tz, bj_tz_day(tz, *to) + 1) - 1;
    if (!p->given[BJ_PARAM_FROM])
        *from = *to - 7 * DAY;
    p->given[BJ_PARAM_FROM] = p->given[BJ_PARAM_TO] = true;
}

void bj_page_input(struct bj_buf *b, const struct bj_params *p,
                   enum bj_param which, const char *title, const char *type)
{
    bj_buf_printf(b, "<label>%s<input name=\"%s\" type=\"%s\" value=\"",
                  bj_local_escaped(title), bj_param_rules[which].name, type);
    bj_html_text(b, bj_params_text(p, which));
    bj_buf_str(b, "\"></label>\n");
}

void bj_page_date(struct bj_buf *b, const struct bj_params *p,
                  enum bj_param which, const char *title)
{
    struct bj_civil day;
    bj_civil_from_days(bj_tz_day(bj_tz_used(), p->number[which]), &day);
    bj_buf_printf(b,
                  "<label>%s<input name=\"%s\" type=\"date\" value=\""
                  "%04d-%02u-%02u\"></label>\n",
                  bj_local_escaped(title), bj_param_rules[which].name, day.year,
                  day.month, day.day);
}

void bj_page_select(struct bj_buf *b, const struct bj_params *p,
                    enum bj_param which, const char *title,
                    const struct bj_page_choice *choices)
{
    struct bj_slice now = bj_params_text(p, which);
    bj_buf_printf(b, "<label>%s<select name=\"%s\">", bj_local_escaped(title),
                  bj_param_rules[which].name);
    for (; choices->value; choices++)
        bj_buf_printf(
            b, "<option value=\"%s\"%s>%s</option>", choices->value,
            bj_slice_eq(now, bj_slice_str(choices->value)) ? " selected" : "",
            bj_local_escaped(choices->title));
    bj_buf_str(b, "</select></label>\n");
}

struct args {
    struct bj_buf *b;
    unsigned except;
};

static int put_arg(void *ctx, struct bj_slice key, struct bj_slice value)
{
    struct args *a = ctx;
    for (unsigned i = 0; i < BJ_PARAMS; i++)
        if ((a->except & 1u << i) &&
            bj_slice_eq(key, bj_slice_str(bj_param_rules[i].name)))
            return 0;
    if (value.n == 0)
        return 0;
    bj_url_text(a->b, key);
    bj_buf_str(a->b, "=");
    bj_url_text(a->b, value);
    bj_buf_str(a->b, "&amp;");
    return 0;
}

void bj_page_args(struct bj_buf *b, const struct bj_call *c, unsigned except)
{
    struct args a = {b, except};
    bj_http_each_arg(c->req, put_arg, &a);
}

int64_t bj_page_whole(const struct bj_cells *row, const char *key)
{
    const struct bj_cell *v = bj_cells_get(row, key);
    return bj_cell_is_empty(v) || v->kind != BJ_CELL_NUMBER || v->digits > 0
               ? BJ_SQL_NULL
               : v->number;
}
