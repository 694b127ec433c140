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
 * code is a negative errno.  err may be NULL when only the code matters.
 *
 * A code written as a name (-EBUSY) is a reason of this program: the message
 * must say it, and nothing is added to it.  To any other code (-errno, r), and
 * to -ENOMEM and -ENAMETOOLONG, the text of the errno is added when the message
 * is printed. */
#define bj_err_set(err, code, ...)                                             \
    bj_err_fill(err, code, BJ_ERR_IS_OWN(#code), __VA_ARGS__)
/* The same for any code whose reason the message says, such as the words of a
 * library. */
#define bj_err_say(err, code, ...) bj_err_fill(err, code, true, __VA_ARGS__)
#define BJ_ERR_IS_OWN(text)                                                    \
    ((text)[0] == '-' && (text)[1] == 'E' &&                                   \
     __builtin_strcmp(text, "-ENOMEM") != 0 &&                                 \
     __builtin_strcmp(text, "-ENAMETOOLONG") != 0)
int bj_err_fill(struct bj_err *err, int code, bool explained, const char *fmt,
                ...) __attribute__((format(printf, 4, 5), cold));

/* Pass on the error of a callee that returned code; returns code.  err may be
 * NULL. */
int bj_err_copy(struct bj_err *err, int code, const struct bj_err *from);

/* Add context before a message: "fmt: message".  If code is another one, the
 * text of the old code becomes part of the message. */
int bj_err_wrap(struct bj_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Replace the code of an error, where the caller would misunderstand it
 * (ENOENT: the job has ended).  Appends the text of the old code to the
 * message; the text of the new code is not added when the message is
 * printed. */
int bj_err_recode(struct bj_err *err, int code) __attribute__((cold));

/* The message with the text of its code, "open x: No such file or directory",
 * in buf (cap bytes, always terminated).  Returns buf. */
const char *bj_err_text(const struct bj_err *err, char *buf, unsigned cap);

/* As bj_err_text(), for messages to the user of a program: without the text of
 * the code, if the message alone suffices.  That is so for wrong options
 * (-EINVAL, -ERANGE), files of another kind or version (-EBADMSG, -ENOTSUP),
 * temporary conditions (-EAGAIN) and messages of other programs
 * (-EREMOTEIO). */
const char *bj_err_reason(const struct bj_err *err, char *buf, unsigned cap);

/* True if the code means that a cgroup, device or process ended between two
 * reads (-ENOENT, -ENODEV, -ESRCH), which is not a fault. */
static inline bool bj_err_gone(int code)
{
    return code == -ENOENT || code == -ENODEV || code == -ESRCH;
}

#endif
