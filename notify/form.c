/* What messages look like. */
#include "base/html.h"
#include "base/json.h"
#include "base/stamp.h"
#include "notify/notify_impl.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static void form_put_json(struct bj_json_out *o, struct bj_buf *out)
{
    out->failed = out->failed || bj_json_out_end(o) < 0;
}

static struct bj_slice form_slice(const struct bj_buf *b)
{
    return (struct bj_slice){b->p, b->len};
}

/* --- CloudEvents 1.0 -------------------------------------------------------
 * One event in structured JSON; the keys of data are those of
 * /api/v1/findings. */

static void put_event_data(struct bj_json_out *o,
                           const struct bj_form_input *in)
{
    const struct bj_alert *v = in->v;
    struct bj_buf text = {0};
    bj_json_put_object(o, "data");
    for (int i = BJ_AF_CLUSTER; i < BJ_AF_PAGE; i++)
        if (v->field[i].n > 0 &&
            (in->conf->users || !bj_alert_fields[i].personal))
            bj_json_put_str(
                o, i == BJ_AF_RULE ? "finding" : bj_alert_fields[i].name,
                v->field[i]);
    bj_alert_summary(v, &text);
    bj_json_put_str(o, "summary", form_slice(&text));
    bj_buf_reset(&text);
    if (bj_alert_page(v, in->pages, &text))
        bj_json_put_str(o, "page", form_slice(&text));
    bj_json_put_i64(o, "since", v->since_sec);
    if (v->ended_sec > 0)
        bj_json_put_i64(o, "end", v->ended_sec);
    bj_json_put_end(o);
    o->to->failed = o->to->failed || text.failed;
    bj_buf_free(&text);
}

static void put_cloud_event(const struct bj_form_input *in, struct bj_buf *out)
{
    const struct bj_alert *v = in->v;
    const enum bj_alert_field subject =
        v->kind == BJ_ALERT_FINDING  ? BJ_AF_JOBID
        : v->kind == BJ_ALERT_IMPORT ? BJ_AF_CLUSTER
                                     : BJ_AF_NODE;
    const bool ended = v->ended_sec > 0;
    char text[200], stamp[BJ_STAMP_MAX];
    struct bj_json_out o = {.to = out};
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "specversion", BJ_SLICE("1.0"));
    bj_json_put_str(&o, "id", bj_slice_str(in->id));
    snprintf(text, sizeof(text), "/batchjob/%.*s",
             (int)v->field[BJ_AF_CLUSTER].n, v->field[BJ_AF_CLUSTER].p);
    bj_json_put_str(&o, "source", bj_slice_str(text));
    snprintf(text, sizeof(text), "org.batchjob.%s.%s", bj_alert_kinds[v->kind],
             ended ? "ended" : "started");
    bj_json_put_str(&o, "type", bj_slice_str(text));
    bj_json_put_str(&o, "subject", v->field[subject]);
    bj_stamp_text((ended ? v->ended_sec : v->since_sec) * 1000000, 0, 0, stamp);
    bj_json_put_str(&o, "time", bj_slice_str(stamp));
    bj_json_put_str(&o, "datacontenttype", BJ_SLICE("application/json"));
    put_event_data(&o, in);
    bj_json_put_end(&o);
    form_put_json(&o, out);
}

/* --- lines of a chat -------------------------------------------------------
 * Each kind has its own markup.  Texts that come from users, nodes and
 * schedulers are data: whatever they contain, they mention nobody, are no link
 * and no markup. */

enum {
    TEXT_BYTES = 300, /* of a sentence */
    NAME_BYTES = 80,
    LINES = 20 /* events that a message shows */
};

/* Behind a byte it ends a mention, a link or a word of the markup, unseen. */
#define BREAK "\xe2\x80\x8b" /* U+200B */

enum form_link { LINK_PLAIN, LINK_ANGLE, LINK_MARKDOWN, LINK_HTML };

struct form_style {
    const char *bold[2];
    const char *escaped; /* bytes that get a backslash */
    bool entities;       /* & < > are written as entities */
    bool code;           /* names of users are in code spans */
    enum form_link link;
};

static const struct form_style style_plain = {.bold = {"", ""}, .escaped = ""};
static const struct form_style style_slack = {.bold = {"*", "*"},
                                              .escaped = "",
                                              .entities = true,
                                              .code = true,
                                              .link = LINK_ANGLE};
static const struct form_style style_mattermost = {.bold = {"**", "**"},
                                                   .escaped =
                                                       "\\*_~[]()<>#|!`-",
                                                   .code = true,
                                                   .link = LINK_MARKDOWN};
static const struct form_style style_teams = {
    .bold = {"**", "**"}, .escaped = "\\*_~[]()<>#|!`", .link = LINK_MARKDOWN};
static const struct form_style style_html = {.bold = {"<b>", "</b>"},
                                             .escaped = "",
                                             .entities = true,
                                             .link = LINK_HTML};

/* Bytes at the start of s that change the direction of text (U+200E, U+200F,
 * U+202A to U+202E, U+2066 to U+2069); 0: none. */
static size_t form_direction(struct bj_slice s)
{
    if (s.n < 3 || memcmp(s.p, "\xe2", 1) != 0)
        return 0;
    const unsigned char a = (unsigned char)s.p[1], b = (unsigned char)s.p[2];
    const bool is = (a == 0x80 && (b == 0x8e || b == 0x8f)) ||
                    (a == 0x80 && b >= 0xaa && b <= 0xae) ||
                    (a == 0x81 && b >= 0xa6 && b <= 0xa9);
    return is ? 3 : 0;
}

/* Does a program make a link here: "://", "www."?  Return its first bytes. */
static size_t form_begins_link(struct bj_slice s)
{
    if (bj_slice_starts(s, BJ_SLICE("://")))
        return 1;
    return s.n >= 4 && strncasecmp(s.p, "www.", 4) == 0 ? 3 : 0;
}

static void form_put_byte(const struct form_style *style, bool code, char c,
                          struct bj_buf *out)
{
    static const char *const entity[] = {
        ['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;"};
    if (code && c == '`')
        return;
    if (style->entities && (c == '&' || c == '<' || c == '>'))
        bj_buf_str(out, entity[(int)c]);
    else if (!code && c && strchr(style->escaped, c))
        bj_buf_printf(out, "\\%c", c);
    else
        bj_buf_put(out, &c, 1);
    if (c == '@')
        bj_buf_str(out, BREAK);
}

/* Append text, at most so many of its bytes. */
static void form_put_text(const struct form_style *style, bool code,
                          struct bj_slice s, size_t most, struct bj_buf *out)
{
    const bool cut = s.n > most;
    if (cut)
        for (s.n = most; s.n > 0 && ((unsigned char)s.p[s.n] & 0xc0) == 0x80;)
            s.n--;
    while (s.n > 0) {
        size_t n = form_direction(s), link = form_begins_link(s);
        for (size_t i = 0; n == 0 && i < (link ? link : 1); i++)
            form_put_byte(style, code, s.p[i], out);
        if (n == 0 && link)
            bj_buf_str(out, BREAK);
        n = n ? n : link ? link : 1;
        s.p += n;
        s.n -= n;
    }
    bj_buf_str(out, cut ? "..." : "");
}

/* A name of a user's own choice. */
static void form_put_name(const struct form_style *style, struct bj_slice s,
                          struct bj_buf *out)
{
    bj_buf_str(out, style->code ? "`" : "");
    form_put_text(style, style->code, s, NAME_BYTES, out);
    bj_buf_str(out, style->code ? "`" : "");
}

/* A URL of the site, unless it has bytes that end it in some markup. */
static void form_put_link(const struct form_style *style, const char *title,
                          struct bj_slice url, struct bj_buf *out)
{
    static const char ends[] = " \"'<>()[]|\\`";
    bool fits = bj_slice_starts(url, BJ_SLICE("https://")) ||
                bj_slice_starts(url, BJ_SLICE("http://"));
    for (size_t i = 0; i < url.n && fits; i++)
        fits = !memchr(ends, url.p[i], sizeof(ends));
    if (!fits)
        return;
    const int n = (int)url.n;
    switch (style->link) {
    case LINK_PLAIN:
        bj_buf_printf(out, " %.*s", n, url.p);
        break;
    case LINK_ANGLE:
        bj_buf_printf(out, " <%.*s|%s>", n, url.p, title);
        break;
    case LINK_MARKDOWN:
        bj_buf_printf(out, " [%s](%.*s)", title, n, url.p);
        break;
    case LINK_HTML:
        bj_buf_str(out, " <a href=\"");
        bj_html_text(out, url);
        bj_buf_printf(out, "\">%s</a>", title);
        break;
    }
}

/* "Warning", or "Ended". */
static const char *form_word(const struct bj_alert *v)
{
    static const struct {
        const char *severity, *word;
    } words[] = {
        {"info", "Info"}, {"warning", "Warning"}, {"critical", "Critical"}};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (v->ended_sec == 0 && bj_slice_eq(v->field[BJ_AF_SEVERITY],
                                             bj_slice_str(words[i].severity)))
            return words[i].word;
    return v->ended_sec > 0 ? "Ended" : "Warning";
}

/* " (alpha, account phys, user anna, name `x`)" */
static void form_put_about(const struct form_style *style,
                           const struct bj_form_input *in,
                           const struct bj_alert *v, struct bj_buf *out)
{
    static const struct {
        enum bj_alert_field field;
        const char *before;
    } rows[] = {{BJ_AF_CLUSTER, " ("},
                {BJ_AF_ACCOUNT, ", account "},
                {BJ_AF_USER, ", user "},
                {BJ_AF_JOBNAME, ", name "}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct bj_slice s = v->field[rows[i].field];
        const bool personal = bj_alert_fields[rows[i].field].personal;
        if (s.n == 0 || (personal && !in->conf->users))
            continue;
        bj_buf_str(out, rows[i].before);
        if (rows[i].field == BJ_AF_JOBNAME)
            form_put_name(style, s, out);
        else
            form_put_text(style, false, s, NAME_BYTES, out);
    }
    bj_buf_str(out, ")");
}

static void form_put_line(const struct form_style *style,
                          const struct bj_form_input *in,
                          const struct bj_alert *v, struct bj_buf *out)
{
    struct bj_buf text = {0};
    bj_buf_printf(out, "%s%s%s: ", style->bold[0], form_word(v),
                  style->bold[1]);
    bj_alert_summary(v, &text);
    form_put_text(style, false, form_slice(&text), TEXT_BYTES, out);
    form_put_about(style, in, v, out);
    if (v->ended_sec == 0 && v->field[BJ_AF_ADVICE].n > 0) {
        bj_buf_str(out, " ");
        form_put_text(style, false, v->field[BJ_AF_ADVICE], TEXT_BYTES, out);
    }
    bj_buf_reset(&text);
    if (bj_alert_page(v, in->pages, &text))
        form_put_link(style, "page", form_slice(&text), out);
    if (v->ended_sec == 0 && v->field[BJ_AF_RUNBOOK].n > 0)
        form_put_link(style, "more", v->field[BJ_AF_RUNBOOK], out);
    out->failed = out->failed || text.failed;
    bj_buf_free(&text);
}

/* The lines of a message, up to so many bytes of all. */
struct form_lines {
    struct bj_buf line[LINES + 1];
    size_t n;
};

static void form_make_lines(const struct form_style *style,
                            const struct bj_form_input *in, size_t bytes,
                            struct form_lines *ret)
{
    size_t sum = 0, i = 0;
    *ret = (struct form_lines){.n = 0};
    for (; i < in->n && i < LINES; i++) {
        struct bj_buf *line = &ret->line[ret->n];
        form_put_line(style, in, &in->v[i], line);
        sum += line->len;
        if (i > 0 && sum > bytes) {
            bj_buf_reset(line);
            break;
        }
        ret->n++;
    }
    if (i < in->n)
        bj_buf_printf(&ret->line[ret->n++], "and %zu more", in->n - i);
}

static void form_free_lines(struct form_lines *l)
{
    for (size_t i = 0; i <= LINES; i++)
        bj_buf_free(&l->line[i]);
}

/* Append all lines. */
static void form_join(const struct form_lines *l, const char *between,
                      struct bj_buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        bj_buf_str(out, i > 0 ? between : "");
        bj_buf_slice(out, form_slice(&l->line[i]));
        out->failed = out->failed || l->line[i].failed;
    }
}

/* All lines in one text. */
static void form_put_joined(const struct form_style *style,
                            const struct bj_form_input *in, size_t bytes,
                            const char *between, const char *key,
                            struct bj_json_out *o)
{
    struct form_lines lines;
    struct bj_buf text = {0};
    form_make_lines(style, in, bytes, &lines);
    form_join(&lines, between, &text);
    bj_json_put_str(o, key, form_slice(&text));
    o->to->failed = o->to->failed || text.failed;
    bj_buf_free(&text);
    form_free_lines(&lines);
}

/* --- the forms of chats ----------------------------------------------------
 */

static void form_put_mattermost(const struct bj_form_input *in,
                                struct bj_buf *out)
{
    struct bj_json_out o = {.to = out};
    bj_json_put_object(&o, NULL);
    form_put_joined(&style_mattermost, in, 12000, "\n\n", "text", &o);
    if (in->conf->to && in->conf->to[0])
        bj_json_put_str(&o, "channel", bj_slice_str(in->conf->to));
    bj_json_put_end(&o);
    form_put_json(&o, out);
}

static void form_put_slack(const struct bj_form_input *in, struct bj_buf *out)
{
    struct form_lines lines;
    struct bj_json_out o = {.to = out};
    bj_json_put_object(&o, NULL);
    form_put_joined(&style_slack, in, 3000, "\n", "text", &o);
    bj_json_put_array(&o, "blocks");
    form_make_lines(&style_slack, in, 30000, &lines);
    for (size_t i = 0; i < lines.n; i++) {
        bj_json_put_object(&o, NULL);
        bj_json_put_str(&o, "type", BJ_SLICE("section"));
        bj_json_put_object(&o, "text");
        bj_json_put_str(&o, "type", BJ_SLICE("mrkdwn"));
        bj_json_put_str(&o, "text", form_slice(&lines.line[i]));
        bj_json_put_bool(&o, "verbatim", true);
        bj_json_put_end(&o);
        bj_json_put_end(&o);
        out->failed = out->failed || lines.line[i].failed;
    }
    form_free_lines(&lines);
    bj_json_put_end(&o);
    bj_json_put_end(&o);
    form_put_json(&o, out);
}

/* An Adaptive Card, for a workflow that posts to a channel. */
static void form_put_teams(const struct bj_form_input *in, struct bj_buf *out)
{
    struct form_lines lines;
    struct bj_json_out o = {.to = out};
    form_make_lines(&style_teams, in, 20000, &lines);
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "type", BJ_SLICE("message"));
    bj_json_put_array(&o, "attachments");
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "contentType",
                    BJ_SLICE("application/vnd.microsoft.card.adaptive"));
    bj_json_put_object(&o, "content");
    bj_json_put_str(&o, "type", BJ_SLICE("AdaptiveCard"));
    bj_json_put_str(&o, "version", BJ_SLICE("1.4"));
    bj_json_put_array(&o, "body");
    for (size_t i = 0; i < lines.n; i++) {
        bj_json_put_object(&o, NULL);
        bj_json_put_str(&o, "type", BJ_SLICE("TextBlock"));
        bj_json_put_str(&o, "text", form_slice(&lines.line[i]));
        bj_json_put_bool(&o, "wrap", true);
        bj_json_put_end(&o);
        out->failed = out->failed || lines.line[i].failed;
    }
    for (int i = 0; i < 5; i++) /* body, content, attachment, list, message */
        bj_json_put_end(&o);
    form_free_lines(&lines);
    form_put_json(&o, out);
}

static void form_put_matrix(const struct bj_form_input *in, struct bj_buf *out)
{
    struct bj_json_out o = {.to = out};
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "msgtype", BJ_SLICE("m.notice"));
    form_put_joined(&style_plain, in, 12000, "\n", "body", &o);
    bj_json_put_str(&o, "format", BJ_SLICE("org.matrix.custom.html"));
    form_put_joined(&style_html, in, 24000, "<br>", "formatted_body", &o);
    bj_json_put_object(&o, "m.mentions"); /* nobody */
    bj_json_put_end(&o);
    bj_json_put_end(&o);
    form_put_json(&o, out);
}

/* The server drops a second message with the same id. */
static void form_put_matrix_path(const struct bj_form_input *in,
                                 struct bj_buf *out)
{
    bj_buf_str(out, "/_matrix/client/v3/rooms/");
    bj_url_text(out, bj_slice_str(in->conf->to));
    bj_buf_printf(out, "/send/m.room.message/%s", in->id);
}

static void form_put_ntfy(const struct bj_form_input *in, struct bj_buf *out)
{
    char title[60];
    struct bj_buf page = {0};
    struct bj_json_out o = {.to = out};
    int priority = 2; /* low; 3 is normal */
    for (size_t i = 0; i < in->n; i++) {
        const char word = form_word(&in->v[i])[0];
        const int p = word == 'C' ? 4 : word == 'W' ? 3 : 2;
        priority = p > priority ? p : priority;
    }
    snprintf(title, sizeof(title), "Batch jobs: %zu notification%s", in->n,
             in->n == 1 ? "" : "s");
    bj_json_put_object(&o, NULL);
    bj_json_put_str(&o, "topic", bj_slice_str(in->conf->to));
    bj_json_put_str(&o, "title", bj_slice_str(title));
    form_put_joined(&style_plain, in, 3000, "\n", "message", &o);
    bj_json_put_i64(&o, "priority", priority);
    if (in->n == 1 && bj_alert_page(in->v, in->pages, &page))
        bj_json_put_str(&o, "click", form_slice(&page));
    bj_json_put_end(&o);
    out->failed = out->failed || page.failed;
    bj_buf_free(&page);
    form_put_json(&o, out);
}

/* --- the kinds -------------------------------------------------------------
 */

#define JSON "application/json"
static const struct bj_form forms[] = {
    {"webhook", "application/cloudevents+json", "POST", false, NULL,
     put_cloud_event},
    {"mattermost", JSON, "POST", true, NULL, form_put_mattermost},
    {"slack", JSON, "POST", true, NULL, form_put_slack},
    {"teams", JSON, "POST", true, NULL, form_put_teams},
    {"matrix", JSON, "PUT", true, form_put_matrix_path, form_put_matrix},
    {"ntfy", JSON, "POST", true, NULL, form_put_ntfy},
};

const struct bj_form *bj_form_of(const char *kind)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
        if (strcmp(forms[i].kind, kind) == 0)
            return &forms[i];
    return NULL;
}
