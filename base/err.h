/* Errors that a program can act on and a person can read. */
#ifndef BJ_BASE_ERR_H
#define BJ_BASE_ERR_H

#include <errno.h>
#include <stdbool.h>

/* An error: a code to act on and a message to read.  The caller owns it;
 * filling it in never allocates. */
struct bj_err {
    int code; /* negative errno; 0 when unset */
    char msg[240];
    bool explained; /* the message explains the code already */
};

/* Fill *err and return code, so that a failing function ends in one statement.
 * code is a negative errno.  err may be NULL when only the code matters.  The
 * text of the errno is added when the message is printed. */
int bj_err_set(struct bj_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Put context in front of a message: "fmt: message". */
int bj_err_wrap(struct bj_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Replace the code of an error, where it would mean something else to the
 * caller (ENOENT: "it has ended").  The text of the old code is appended to the
 * message, and that of the new one is not added when it is printed. */
int bj_err_recode(struct bj_err *err, int code) __attribute__((cold));

/* The message with the text of its code, "open x: No such file or directory",
 * in buf (cap bytes, always terminated).  Returns buf. */
const char *bj_err_text(const struct bj_err *err, char *buf, unsigned cap);

/* The same for the person who started the program: a message that explains
 * itself comes without the text of its code.  These are a wrong option
 * (-EINVAL, -ERANGE), a file of another kind or version (-EBADMSG, -ENOTSUP), a
 * temporary condition (-EAGAIN), a message of another program (-EREMOTEIO). */
const char *bj_err_reason(const struct bj_err *err, char *buf, unsigned cap);

/* True for the codes that mean "it has gone", which is not a fault: the cgroup,
 * device or process ended between two reads (ENOENT, ENODEV, ESRCH). */
static inline bool bj_err_gone(int code)
{
    return code == -ENOENT || code == -ENODEV || code == -ESRCH;
}

#endif
