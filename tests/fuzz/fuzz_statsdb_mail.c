/* mail/: no header, text, template, address or file of addresses can break or
 * add lines of a message, and no line is too long.  The first byte chooses. */
#include "mail/address.h"
#include "mail/digest.h"
#include "mail/mime.h"
#include "mail/template.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

/* Each line has at most 78 bytes, all of printable ASCII. */
static void check_lines(const struct bj_buf *b)
{
    struct bj_slice rest = {b->p, b->len}, line;
    while (bj_slice_line(&rest, &line)) {
        MUST(line.n <= 78);
        for (size_t i = 0; i < line.n; i++)
            MUST((line.p[i] >= ' ' && line.p[i] <= '~') || line.p[i] == '\t');
    }
}

/* Lines after the first begin with a space. */
static void check_header(struct bj_slice text)
{
    struct bj_buf b = {0};
    struct bj_slice rest, line;
    bj_mail_header(&b, "Subject", text);
    check_lines(&b);
    rest = (struct bj_slice){b.p, b.len};
    MUST(bj_slice_line(&rest, &line));
    MUST(bj_slice_starts(line, BJ_SLICE("Subject: ")));
    while (bj_slice_line(&rest, &line))
        MUST(line.n > 1 && line.p[0] == ' ' && line.p[1] != ' ');
    bj_buf_free(&b);
}

/* Encoded text can be decoded again. */
static void check_quoted(struct bj_slice text)
{
    struct bj_buf b = {0}, back = {0};
    bj_mail_quoted(&b, text);
    check_lines(&b);
    for (size_t i = 0; i < b.len; i++) {
        static const char hex[] = "0123456789ABCDEF";
        char c = b.p[i];
        if (c == '=' && b.p[i + 1] == '\n') {
            i++;
            continue;
        }
        if (c == '=') {
            MUST(i + 2 < b.len);
            c = (char)((strchr(hex, b.p[i + 1]) - hex) * 16 +
                       (strchr(hex, b.p[i + 2]) - hex));
            i += 2;
        }
        bj_buf_put(&back, &c, 1);
    }
    bool ended = text.n == 0 || text.p[text.n - 1] == '\n';
    MUST(back.len == text.n + !ended);
    MUST(text.n == 0 || memcmp(back.p, text.p, text.n) == 0);
    bj_buf_free(&b);
    bj_buf_free(&back);
}

static void check_message(struct bj_slice text)
{
    struct bj_buf b = {0};
    const struct bj_mail_image image = {BJ_SLICE("a@b"), text};
    const struct bj_mail m = {.from_name = text,
                              .from = BJ_SLICE("a@b.c"),
                              .to = BJ_SLICE("b@b.c"),
                              .subject = text,
                              .message_id = BJ_SLICE("1"),
                              .date_sec = 1,
                              .unsubscribe_mail = BJ_SLICE("a@b.c"),
                              .text = text,
                              .html = text,
                              .image = &image,
                              .images = 1};
    bj_mail_write(&m, &b);
    check_lines(&b);
    bj_buf_free(&b);
}

static void check_address(struct bj_slice text)
{
    if (!bj_mail_address_is(text))
        return;
    MUST(text.n < BJ_MAIL_ADDRESS_MAX && text.p[0] != '-');
    for (size_t i = 0; i < text.n; i++)
        MUST(text.p[i] > ' ' && text.p[i] <= '~' &&
             !strchr("<>\"(),;:\\[]", text.p[i]));
}

static void check_schedule(struct bj_slice text)
{
    char buf[64];
    struct bj_mail_schedule s;
    if (text.n >= sizeof(buf))
        return;
    memcpy(buf, text.p, text.n);
    buf[text.n] = '\0';
    const struct bj_mail_conf c = {.quiet_hours = buf, .digest_time = buf};
    bj_mail_schedule(&c, &s, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    if (size == 0)
        return 0;
    struct bj_slice text = fuzz_exact(data + 1, size - 1, &mem);
    switch (data[0] % 7) {
    case 0:
        check_header(text);
        break;
    case 1:
        check_quoted(text);
        break;
    case 2:
        check_message(text);
        break;
    case 3:
        check_address(text);
        break;
    case 4:
        bj_mail_addresses_check("f", text, NULL);
        break;
    case 5:
        bj_mail_template_check("t", text, BJ_MAIL_OF_JOB, size % 2, NULL);
        break;
    default:
        check_schedule(text);
    }
    free(mem);
    return 0;
}
