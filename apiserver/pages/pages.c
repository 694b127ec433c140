/* The page at the root, the style sheet, and what pages share. */
#include "apiserver/pages/pages.h"

#include "apiserver/frame/page.h"
#include "apiserver/job/chart.h"
#include "base/html.h"
#include "base/local.h"
#include "base/stamp.h"
#include "base/tz.h"

int bj_page_root(struct bj_call *c)
{
    bj_page_open(c, bj_local("Batch jobs"), "");
    bj_local_html(
        &c->reply->body,
        "<ul><li><a href=\"jobs\">{Jobs}</a></li><li><a "
        "href=\"queue\">{Queue}</a></li><li><a "
        "href=\"findings\">{Findings}</a></li><li><a "
        "href=\"usage\">{Usage}</a></li><li><a href=\"cluster\">{Cluster}</a>: "
        "{nodes by state}</li><li><a href=\"support\">{Support}</a>: {running "
        "jobs with findings, who leaves most unused}</li><li><a "
        "href=\"management\">{Management}</a>: {usage by faculty, account and "
        "month}</li><li><a href=\"gpus\">{GPUs}</a>: {use of all GPUs "
        "(admins)}</li><li><a href=\"compare\">{Compare jobs}</a></li><li><a "
        "href=\"api/v1/openapi.json\">{API description "
        "(OpenAPI)}</a></li></ul>\n");
    bj_page_close(c);
    return 0;
}

/* --- the style sheet --------------------------------------------------------
 */

static const char frame[] =
    ":root{color-scheme:light dark;font:15px/1.45 system-ui,sans-serif;"
    "--text:#1a1a1a;--page:#fff;--muted:#595959;--rule:#d9d9d9;--box:#f5f5f5;"
    "--good:#006e51;--fair:#7a4b00;--poor:#9a3324;--info:#005a9c}\n"
    "@media(prefers-color-scheme:dark){:root{--text:#e8e8e8;--page:#121212;"
    "--muted:#b3b3b3;--rule:#3d3d3d;--box:#1f1f1f;--good:#4fd0a5;--fair:"
    "#f0b050;--poor:#ff9a8a;--info:#7cc4ff}}\n"
    "body{margin:0;color:var(--text);background:var(--page)}\n"
    "a{color:var(--info)}\n"
    ":focus-visible{outline:2px solid var(--info);outline-offset:2px}\n"
    ".skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.2rem;"
    "background:var(--page)}\n"
    "header{display:flex;flex-wrap:wrap;gap:.3rem 2rem;padding:.6rem 1.2rem;"
    "border-bottom:1px solid var(--rule)}\n"
    "header span{margin-left:auto}\n"
    "nav a{margin-right:1rem;display:inline-block}\n"
    "nav a[aria-current]{font-weight:bold;text-decoration:none;color:"
    "var(--text)}\n"
    "main{padding:0 1.2rem;max-width:110rem}\n"
    "footer{padding:1.2rem;color:var(--muted)}\n"
    "h1{font-size:1.5rem;margin:.8rem 0 .3rem}\n"
    "h2{font-size:1.15rem;margin:1.6rem 0 .5rem}\n"
    "h3{font-size:1rem;margin:1.2rem 0 .3rem}\n"
    ".sub{color:var(--muted);margin:.2rem 0}\n"
    ".wide{overflow-x:auto}\n"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums}\n"
    "th,td{padding:.25rem .8rem .25rem 0;text-align:left;border-bottom:1px "
    "solid var(--rule);white-space:nowrap;max-width:16rem;overflow:hidden;"
    "text-overflow:ellipsis;vertical-align:top}\n"
    "th{vertical-align:bottom;white-space:normal}\n"
    ".cards td{max-width:10rem}.cards{font-size:.88rem}.cards "
    "th{font-size:.82rem}"
    "\n"
    ".cards meter{width:1.8rem}.cards small{min-width:0}.cards "
    "small.note{display:block}.cards th,.cards td{"
    "padding-right:.45rem}\n"
    "th.n,td.n{text-align:right}\n"
    "td.s{white-space:normal;max-width:45rem;min-width:7rem}\n"
    "tfoot td{font-weight:bold}\n"
    ".none,.note{color:var(--muted)}\n"
    "dl{display:flex;flex-wrap:wrap;gap:.6rem 2rem}\n"
    "dt{color:var(--muted);font-size:.85rem}\n"
    "dd{margin:0;overflow-wrap:anywhere}\n"
    "form{display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;margin:"
    "1rem 0}\n"
    "form details{flex-basis:100%}form details>div{display:flex;flex-wrap:wrap;"
    "gap:.6rem 1rem;margin-top:.5rem}\n"
    "label{display:flex;flex-direction:column;font-size:.85rem}\n"
    "input,select,button{font:inherit;color:inherit;background:var(--page);"
    "border:1px solid var(--muted);border-radius:3px;padding:.2rem .4rem;"
    "height:1.9rem;box-sizing:border-box}\n"
    "input{max-width:11rem}\n"
    "summary{cursor:pointer;color:var(--info)}\n"
    "";

static const char parts[] =
    /* meters */
    "meter{width:4.5rem;height:.7rem;vertical-align:middle}\n"
    "meter::-webkit-meter-bar{background:var(--box);border:1px solid "
    "var(--muted);border-radius:2px;height:.7rem}\n"
    "meter::-webkit-meter-optimum-value{background:var(--good)}\n"
    "meter::-webkit-meter-suboptimum-value{background:var(--fair)}\n"
    "meter::-webkit-meter-even-less-good-value{background:var(--poor)}\n"
    "meter.part::-webkit-meter-optimum-value{background:var(--info)}\n"
    "meter.part::-moz-meter-bar{background:var(--info)}\n"
    "meter.full::-webkit-meter-optimum-value,meter.over::-webkit-meter-"
    "optimum-value{background:var(--fair)}\n"
    "meter:-moz-meter-optimum::-moz-meter-bar{background:var(--good)}\n"
    "meter:-moz-meter-sub-optimum::-moz-meter-bar{background:var(--fair)}\n"
    "meter:-moz-meter-sub-sub-optimum::-moz-meter-bar{background:var(--poor)}\n"
    "meter.full::-moz-meter-bar,meter.over::-moz-meter-bar{background:"
    "var(--fair)}\n"
    "small{display:inline-block;min-width:2.4rem;font-size:.8rem}\n"
    ".good,.completed,.running{color:var(--good)}\n"
    ".fair,.full,.over,.warning,.cancelled,.timeout,.preempted{color:"
    "var(--fair)}\n"
    ".poor,.critical,.failed,.oom,.node_fail,.boot_fail,.deadline{color:"
    "var(--poor)}\n"
    ".info,.pending{color:var(--info)}\n"
    /* the verdict */
    ".verdict{border-left:.4rem solid var(--muted);background:var(--box);"
    "padding:.6rem 1rem;margin:.8rem 0;max-width:60rem}\n"
    "section.verdict{color:var(--text)}\n"
    ".option{display:inline-block;max-width:100%;overflow-wrap:anywhere}\n"
    ".verdict h2{margin:0 0 .3rem}.verdict p{margin:.2rem 0}\n"
    ".critical>h2{color:var(--poor)}.warning>h2{color:var(--fair)}\n"
    ".verdict.critical{border-color:var(--poor)}\n"
    ".verdict.warning{border-color:var(--fair)}\n"
    ".verdict.info{border-color:var(--info)}\n"
    ".verdict.good{border-color:var(--good)}\n"
    ".verdict ul{margin:.3rem 0;padding-left:1.1rem}\n"
    ".verdict li{margin:.25rem 0;color:var(--text)}\n"
    ".parts th::first-letter{text-transform:uppercase}\n"
    "code{background:var(--box);padding:.1rem .3rem;border:1px solid "
    "var(--rule)}\n"
    "";

static const char charts[] =
    /* charts */
    ".charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min("
    "100%,24rem),1fr));gap:1.2rem;max-width:96rem}\n"
    ".charts.many{grid-template-columns:repeat(auto-fill,minmax(min(100%,"
    "20rem),1fr));margin-bottom:.8rem}\n"
    "figure{margin:0;min-width:0}\n"
    ".tasks a{display:inline-block;min-width:1.8rem;padding:.05rem "
    ".2rem;margin:"
    ".1rem 0;border:1px solid currentColor;border-radius:3px;text-align:center;"
    "font-size:.8rem;text-decoration:none}\n"
    /* use of GPUs */
    ".heat caption{text-align:left;color:var(--muted);padding-bottom:.3rem}\n"
    ".heat th,.heat td{padding:.15rem .3rem}.heat thead th{font-size:.75rem}\n"
    ".heat thead th:nth-child(n+4){text-align:center}.heat tbody "
    "th{white-space:nowrap;font-weight:normal}\n"
    ".heat td:not(.n){text-align:center;font-size:.75rem;min-width:1.6rem;"
    "border:1px solid var(--page)}\n"
    ".legend span{padding:.1rem .4rem;margin-left:.3rem;display:inline-block}\n"
    ".h0{background:#440154;color:#fff}.h1{background:#3b528b;color:#fff}"
    ".h2{background:#1f6e6a;color:#fff}.h3{background:#5ec962;color:#000}"
    ".h4{background:#fde725;color:#000}.hf{background:var(--box);color:"
    "var(--muted)}.hu{background:var(--page);color:var(--muted)}\n"
    "figcaption{margin-bottom:.2rem}figcaption span{color:var(--muted);"
    "font-size:.85rem}\n"
    "figure table{font-size:.85rem}\n"
    "ul{padding-left:1.2rem}\n"
    /* phones: rows of tables as cards */
    "@media(max-width:40rem){main{padding:0 .7rem}header{padding:.5rem .7rem}\n"
    ".cards,.cards tbody,.cards tfoot,.cards tr,.cards td{display:block;"
    "max-width:none}\n"
    ".cards thead,.cards td.e{display:none}\n"
    ".cards tr{border:1px solid var(--rule);border-radius:4px;padding:.4rem "
    ".6rem;margin:.5rem 0}\n"
    ".cards td{border:0;padding:.1rem 0;text-align:left;white-space:normal;"
    "overflow-wrap:anywhere;overflow:visible;max-width:none;display:flex;gap:."
    "5rem}\n"
    ".cards td.s{min-width:0}.cards td:not(.s){max-height:3rem;overflow:hidden}"
    "\n"
    ".cards td::before{content:attr(data-l);flex:0 0 8.5rem;color:"
    "var(--muted);font-weight:normal}}\n"
    "@media(max-width:40rem){.uses tr{display:grid;grid-template-columns:6rem "
    "1fr 1fr;border-bottom:1px solid var(--rule)}\n"
    ".uses th,.uses td{border:0;padding:.15rem .3rem .15rem 0;white-space:"
    "normal}\n"
    ".uses td:nth-child(2){grid-column:2}.uses td:nth-child(3){grid-column:3}"
    ".uses td:nth-child(4){grid-column:1/3}.uses td:nth-child(5){grid-column:"
    "3}.uses td:empty,.uses thead th:nth-"
    "child(n+4){display:none}}\n"
    "@media(min-width:40rem){tbody th{white-space:nowrap}}\n"
    "@media(max-width:40rem){.heat .u,.heat thead th:nth-child(n+4){display:"
    "none}.heat td:not(.n){font-size:0;min-width:.3rem;padding:0 .1rem}.heat "
    "th,.heat td{padding:.1rem .15rem}}\n"
    "@media print{:root{color-scheme:light;--text:#000;--page:#fff;font-size:"
    "10pt}header,form,.skip,.screen,details:not([open]){display:none}\n"
    "a{color:inherit;text-decoration:none}figure,tr,.verdict{break-inside:"
    "avoid}h2,h3{break-after:avoid}main{padding:0}\n"
    "meter{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

static void pages_style(struct bj_buf *b)
{
    bj_buf_str(b, frame);
    bj_buf_str(b, parts);
    bj_buf_str(b, charts);
    bj_buf_str(b, bj_chart_style);
}

static int on_style(struct bj_call *c)
{
    c->reply->type = "text/css; charset=utf-8";
    pages_style(&c->reply->body);
    return 0;
}

const struct bj_endpoint bj_endpoints_pages[] = {
    {.path = "/style.css",
     .methods = BJ_HTTP_GET,
     .run = on_style,
     .help = "Style sheet of the web pages.",
     .type = "text/css"},
    {.path = NULL},
};

/* --- forms and times ----------------------------------------------------
 */

enum { DAY = 86400 };

bool bj_page_sees_others(const struct bj_call *c)
{
    return c->identity.admin || c->identity.accounts > 0;
}

int bj_page_fields(struct bj_call *c, struct bj_params *p,
                   const struct bj_page_column *columns)
{
    int r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          BJ_SLICE("key"));
    for (; columns->key && r == 0; columns++)
        r = bj_params_put(c, p, BJ_BIT(BJ_PARAM_FIELDS), BJ_SLICE("fields"),
                          bj_slice_str(columns->key));
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
