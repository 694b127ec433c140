/* Errors that a program can act on and a person can read. */
#ifndef BJ_BASE_ERR_H
#define BJ_BASE_ERR_H

#include <errno.h>
#include <stdbool.h>

/* An error: a code to act on and a message to read.  It lives in the caller's
 * frame; filling one in never allocates. */
struct bj_err {
    int code; /* negative errno; 0 when unset */
    char msg[240];
    bool told; /* msg says all: the meaning of the code is not added */
};

/* Fill *err and return code, so that a failing function ends in one statement.
 * code is a negative errno.  err may be NULL when only the code matters.  The
 * text of the errno itself is added by whoever prints the message. */
int bj_err_set(struct bj_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Put context in front of a message set further down: "fmt: message". */
int bj_err_wrap(struct bj_err *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold));

/* Give an error another code, since its own would mean something else to the
 * caller (ENOENT: "it has gone").  What the first code means is put behind the
 * message, and what the new one means is not added by whoever prints it. */
int bj_err_recode(struct bj_err *err, int code) __attribute__((cold));

/* The message with the meaning of its code behind it, "open x: No such file or
 * directory", written into buf (cap bytes, always terminated).  Returns buf. */
const char *bj_err_text(const struct bj_err *err, char *buf, unsigned cap);

/* The same for whoever started the program: what explains itself - a wrong
 * option (-EINVAL, -ERANGE), a file of another kind or version (-EBADMSG,
 * -ENOTSUP), what has to be waited for (-EAGAIN), what others said (-EREMOTEIO)
 * - stays without the meaning of its code. */
const char *bj_err_reason(const struct bj_err *err, char *buf, unsigned cap);

/* True for the codes that mean "it has gone", which is no fault: the cgroup,
 * device or process ended between two looks (ENOENT, ENODEV, ESRCH). */
static inline bool bj_err_gone(int code)
{
    return code == -ENOENT || code == -ENODEV || code == -ESRCH;
}

#endif
