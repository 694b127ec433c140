/* Writes a message of RFC 5322 and MIME with plain text, the same content as
 * HTML, and images; and header lines, which no text can break or extend.
 *
 * libcurl can write MIME only into a transfer, but the same bytes are needed
 * for sendmail and files. */
#ifndef BJ_MAIL_MIME_H
#define BJ_MAIL_MIME_H

#include "base/buf.h"

#include <stddef.h>
#include <stdint.h>

struct bj_mail_image {
    struct bj_slice cid; /* the HTML part refers to it as cid:CID */
    struct bj_slice png;
};

/* A message.  Texts are any bytes; addresses must be valid (mail/address.h).
 * Empty fields are left out. */
struct bj_mail {
    struct bj_slice from_name, from, to, reply_to;
    struct bj_slice subject;
    struct bj_slice message_id; /* the part before '@': letters and digits */
    int64_t date_sec;
    struct bj_slice unsubscribe_mail; /* an address */
    struct bj_slice unsubscribe_url;  /* accepts POST: RFC 8058 */
    struct bj_slice text, html;
    const struct bj_mail_image *image;
    size_t images;
};

/* Append the message.  Lines end in \n and have at most 78 bytes, except for
 * long addresses. */
void bj_mail_write(const struct bj_mail *m, struct bj_buf *out);

/* Append "Name: text": printable ASCII unchanged, other characters as encoded
 * words (RFC 2047).  Control characters become '?'. */
void bj_mail_header(struct bj_buf *out, const char *name, struct bj_slice text);

/* Append text in the encoding quoted-printable (RFC 2045). */
void bj_mail_quoted(struct bj_buf *out, struct bj_slice text);

#endif
