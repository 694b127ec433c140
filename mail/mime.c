#include "mail/mime.h"

#include "base/buf.h"
#include "base/html.h"
#include "base/stamp.h"
#include "base/text.h"

enum {
    LINE = 76,        /* RFC 2045, without the line end */
    TEXT_MAX = 400,   /* bytes of a header's text */
    WORD_BYTES = 42,  /* bytes of text in an encoded word of 68 */
    BASE64_BYTES = 57 /* bytes in a line of 76 */
};

/* Neither quoted-printable nor base64 contains "=_". */
#define RELATED "=_related"
#define ALTERNATIVE "=_alternative"

/* --- header lines ----------------------------------------------------------
 */

static bool mime_is_plain(struct bj_slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ' || s.p[i] > '~' ||
            (s.p[i] == '=' && i + 1 < s.n && s.p[i + 1] == '?'))
            return false;
    return true;
}

/* Append encoded words; no word splits a character. */
static void put_words(struct bj_buf *out, struct bj_slice s)
{
    for (size_t at = 0; at < s.n;) {
        size_t n = s.n - at < WORD_BYTES ? s.n - at : WORD_BYTES;
        while (at + n < s.n && n > 1 && ((unsigned char)s.p[at + n] >> 6) == 2)
            n--;
        bj_buf_str(out, at > 0 ? "\n =?utf-8?B?" : "=?utf-8?B?");
        bj_base64_put(out, (struct bj_slice){s.p + at, n});
        bj_buf_str(out, "?=");
        at += n;
    }
}

static struct bj_slice mime_clean(struct bj_slice text, char buf[TEXT_MAX])
{
    return bj_slice_trim(
        (struct bj_slice){buf, bj_text_clean(text, buf, TEXT_MAX)});
}

void bj_mail_header(struct bj_buf *out, const char *name, struct bj_slice text)
{
    char buf[TEXT_MAX];
    text = mime_clean(text, buf);
    bj_buf_printf(out, "%s: ", name);
    if (mime_is_plain(text) && strlen(name) + 2 + text.n <= LINE)
        bj_buf_slice(out, text);
    else
        put_words(out, text);
    bj_buf_str(out, "\n");
}

/* Can it be a name before an address without quotes? */
static bool is_phrase(struct bj_slice s)
{
    static const char specials[] = "()<>[]:;@\\,.\"=?";
    for (size_t i = 0; i < s.n; i++)
        if (strchr(specials, s.p[i]))
            return false;
    return mime_is_plain(s) && s.n <= 40;
}

static void put_mailbox(struct bj_buf *out, const char *header,
                        struct bj_slice name, struct bj_slice address)
{
    char buf[TEXT_MAX];
    if (address.n == 0)
        return;
    name = mime_clean(name, buf);
    bj_buf_printf(out, "%s: ", header);
    bool phrase = is_phrase(name), fits = phrase && address.n <= 30;
    if (phrase)
        bj_buf_slice(out, name);
    else
        put_words(out, name);
    bj_buf_printf(out, "%s<%.*s>\n",
                  name.n == 0 ? ""
                  : fits      ? " "
                              : "\n ",
                  (int)address.n, address.p);
}

static void put_date(struct bj_buf *out, int64_t sec)
{
    static const char days[][4] = {"Thu", "Fri", "Sat", "Sun",
                                   "Mon", "Tue", "Wed"};
    static const char months[][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    struct bj_civil c = {0};
    unsigned of_day = (unsigned)(sec % 86400);
    if (sec < 0)
        return;
    bj_civil_from_days(sec / 86400, &c);
    bj_buf_printf(out, "Date: %s, %u %s %d %02u:%02u:%02u +0000\n",
                  days[sec / 86400 % 7], c.day, months[c.month - 1], c.year,
                  of_day / 3600, of_day / 60 % 60, of_day % 60);
}

static void put_message_id(struct bj_buf *out, const struct bj_mail *m)
{
    const char *at = m->from.n > 0 ? memchr(m->from.p, '@', m->from.n) : NULL;
    size_t n = at ? (size_t)(m->from.p + m->from.n - at) : 0;
    if (m->message_id.n > 0 && n > 1)
        bj_buf_printf(out, "Message-ID: <%.*s%.*s>\n", (int)m->message_id.n,
                      m->message_id.p, (int)n, at);
}

static void put_unsubscribe(struct bj_buf *out, const struct bj_mail *m)
{
    const char *more = "";
    if (m->unsubscribe_mail.n + m->unsubscribe_url.n == 0)
        return;
    bj_buf_str(out, "List-Unsubscribe: ");
    if (m->unsubscribe_url.n > 0) {
        bj_buf_printf(out, "<%.*s>", (int)m->unsubscribe_url.n,
                      m->unsubscribe_url.p);
        more = ",\n ";
    }
    if (m->unsubscribe_mail.n > 0) {
        bj_buf_printf(out, "%s<mailto:", more);
        /* '@' needs no escape, but other characters of an address may. */
        for (size_t i = 0; i < m->unsubscribe_mail.n; i++) {
            struct bj_slice c = {m->unsubscribe_mail.p + i, 1};
            if (c.p[0] == '@')
                bj_buf_slice(out, c);
            else
                bj_url_text(out, c);
        }
        bj_buf_str(out, "?subject=stop%20mails>");
    }
    bj_buf_str(out, "\n");
    if (m->unsubscribe_url.n > 0)
        bj_buf_str(out, "List-Unsubscribe-Post: List-Unsubscribe=One-Click\n");
}

/* Prevent automatic replies by the headers of RFC 3834 and those of older
 * systems. */
static void put_headers(struct bj_buf *out, const struct bj_mail *m)
{
    put_date(out, m->date_sec);
    put_mailbox(out, "From", m->from_name, m->from);
    put_mailbox(out, "To", (struct bj_slice){0}, m->to);
    put_mailbox(out, "Reply-To", (struct bj_slice){0}, m->reply_to);
    bj_mail_header(out, "Subject", m->subject);
    put_message_id(out, m);
    bj_buf_str(out, "Auto-Submitted: auto-generated\n"
                    "Precedence: bulk\n"
                    "X-Auto-Response-Suppress: All\n");
    put_unsubscribe(out, m);
    bj_buf_str(out, "MIME-Version: 1.0\n");
}

/* --- parts -----------------------------------------------------------------
 */

static bool is_literal(unsigned char c)
{
    return (c >= ' ' && c <= '~' && c != '=') || c == '\t';
}

/* The blanks at the end of a line must not be literal. */
static void put_quoted_line(struct bj_buf *out, struct bj_slice line)
{
    unsigned column = 0;
    for (size_t i = 0; i < line.n; i++) {
        unsigned char c = (unsigned char)line.p[i];
        bool last = i + 1 == line.n;
        bool literal = is_literal(c) && !(last && (c == ' ' || c == '\t'));
        unsigned need = literal ? 1 : 3;
        if (column + need > LINE - (last ? 0u : 1u)) {
            bj_buf_str(out, "=\n");
            column = 0;
        }
        /* Some mail programs change a line with only a dot, or one that begins
         * with "From ". */
        if (literal && column == 0 && (c == '.' || c == 'F')) {
            literal = false;
            need = 3;
        }
        if (literal)
            bj_buf_put(out, &line.p[i], 1);
        else
            bj_buf_printf(out, "=%02X", c);
        column += need;
    }
}

void bj_mail_quoted(struct bj_buf *out, struct bj_slice text)
{
    struct bj_slice line;
    while (bj_slice_line(&text, &line)) {
        put_quoted_line(out, line);
        bj_buf_str(out, "\n");
    }
}

static void put_text_part(struct bj_buf *out, const char *type,
                          struct bj_slice text)
{
    bj_buf_printf(out,
                  "--" ALTERNATIVE "\nContent-Type: text/%s; charset=utf-8\n"
                  "Content-Transfer-Encoding: quoted-printable\n\n",
                  type);
    bj_mail_quoted(out, text);
}

static void put_image(struct bj_buf *out, const struct bj_mail_image *image)
{
    bj_buf_printf(out,
                  "--" RELATED "\nContent-Type: image/png\n"
                  "Content-Transfer-Encoding: base64\n"
                  "Content-Disposition: inline\n"
                  "Content-ID: <%.*s>\n\n",
                  (int)image->cid.n, image->cid.p);
    for (size_t at = 0; at < image->png.n; at += BASE64_BYTES) {
        size_t n = image->png.n - at;
        bj_base64_put(out,
                      (struct bj_slice){image->png.p + at,
                                        n < BASE64_BYTES ? n : BASE64_BYTES});
        bj_buf_str(out, "\n");
    }
}

void bj_mail_write(const struct bj_mail *m, struct bj_buf *out)
{
    put_headers(out, m);
    if (m->images > 0)
        bj_buf_str(out, "Content-Type: multipart/related;\n"
                        " type=\"multipart/alternative\"; boundary=\"" RELATED
                        "\"\n\n--" RELATED "\n");
    bj_buf_str(out,
               "Content-Type: multipart/alternative; boundary=\"" ALTERNATIVE
               "\"\n\n");
    put_text_part(out, "plain", m->text);
    if (m->html.n > 0)
        put_text_part(out, "html", m->html);
    bj_buf_str(out, "--" ALTERNATIVE "--\n");
    for (size_t i = 0; i < m->images; i++)
        put_image(out, &m->image[i]);
    if (m->images > 0)
        bj_buf_str(out, "--" RELATED "--\n");
}
