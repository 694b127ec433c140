#include "base/err.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A message quotes names, replies and files of others: no line end or escape
 * sequence of theirs reaches a terminal or a log. */
static void err_clean(char *msg, size_t cap)
{
    char from[sizeof(((struct bj_err *)NULL)->msg)];
    snprintf(from, sizeof(from), "%s", msg);
    bj_text_clean(bj_slice_str(from), msg, cap);
}

int bj_err_fill(struct bj_err *err, int code, bool explained, const char *fmt,
                ...)
{
    if (!err)
        return code;
    /* The arguments may point to the message that is replaced. */
    char msg[sizeof(err->msg)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    err_clean(msg, sizeof(msg));
    err->code = code;
    err->explained = explained;
    memcpy(err->msg, msg, sizeof(msg));
    return code;
}

int bj_err_copy(struct bj_err *err, int code, const struct bj_err *from)
{
    if (!err)
        return code;
    *err = *from;
    err->code = code;
    return code;
}

int bj_err_wrap(struct bj_err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    char msg[sizeof(err->msg)];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(msg, sizeof(msg), fmt, ap);
    va_end(ap);
    err_clean(msg, sizeof(msg));
    size_t len = strlen(msg);
    if (err->code != code && err->code != 0)
        bj_err_recode(err, code);
    err->code = code;
    if (len + 3 > sizeof(msg)) {
        memcpy(err->msg, msg, sizeof(msg));
        return code;
    }
    /* Move the old message after the new words; its end may be cut. */
    memmove(err->msg + len + 2, err->msg, sizeof(msg) - len - 2);
    memcpy(err->msg, msg, len);
    memcpy(err->msg + len, ": ", 2);
    err->msg[sizeof(msg) - 1] = '\0';
    return code;
}

int bj_err_recode(struct bj_err *err, int code)
{
    char text[sizeof(err->msg)];
    if (!err)
        return code;
    bj_err_set(err, code, "%s", bj_err_reason(err, text, sizeof(text)));
    err->explained = true;
    return code;
}

const char *bj_err_text(const struct bj_err *err, char *buf, unsigned cap)
{
    char why[64];
    if (cap == 0)
        return buf;
    if (err->code == 0 || err->explained)
        snprintf(buf, cap, "%s", err->msg);
    else
        snprintf(buf, cap, "%s%s%s", err->msg, err->msg[0] ? ": " : "",
                 strerror_r(-err->code, why, sizeof(why)));
    return buf;
}

const char *bj_err_reason(const struct bj_err *err, char *buf, unsigned cap)
{
    switch (err->code) {
    case -EINVAL:
    case -ERANGE:
    case -EAGAIN:
    case -EREMOTEIO:
    case -EBADMSG:
    case -ENOTSUP:
        return err->msg;
    default:
        return bj_err_text(err, buf, cap);
    }
}
