/* Templates of mails: text in which {{name}} is replaced by a value.  The site
 * can change them: docs/mail.md. */
#ifndef BJ_MAIL_TEMPLATE_H
#define BJ_MAIL_TEMPLATE_H

#include "base/buf.h"
#include "base/err.h"

#include <stddef.h>

/* The placeholders of templates. */
#define BJ_MAIL_WORDS(X)                                                       \
    X(TITLE, title)                                                            \
    X(JOB, job)                                                                \
    X(NAME, name)                                                              \
    X(USER, user)                                                              \
    X(ACCOUNT, account)                                                        \
    X(PARTITION, partition)                                                    \
    X(CLUSTER, cluster)                                                        \
    X(STATE, state)                                                            \
    X(ABOUT, about)                                                            \
    X(LEVEL, level)                                                            \
    X(VERDICT, verdict)                                                        \
    X(COST, cost)                                                              \
    X(TODO, todo)                                                              \
    X(NEXT, next)                                                              \
    X(REPORT, report)                                                          \
    X(LINK, link)                                                              \
    X(STOP, stop)

enum bj_mail_word {
#define BJ_MAIL_ENUM(upper, lower) BJ_MAIL_##upper,
    BJ_MAIL_WORDS(BJ_MAIL_ENUM)
#undef BJ_MAIL_ENUM
        BJ_MAIL_WORD_COUNT
};

/* The kinds of mails.  Each has two files: NAME.txt, which begins with a line
 * "Subject: ..." and an empty line, and NAME.html, the same content as HTML. */
enum bj_mail_kind {
    BJ_MAIL_OF_JOB,
    BJ_MAIL_DIGEST,
    BJ_MAIL_WARNING,
    BJ_MAIL_KINDS
};

struct bj_mail_templates;

/* Read the templates of a directory; a missing file, or dir NULL or "", means
 * the built-in template.  -EINVAL with file and line: an unknown placeholder,
 * or {{report}} or {{stop}} is missing. */
int bj_mail_templates_new(const char *dir, struct bj_mail_templates **ret,
                          struct bj_err *err);
void bj_mail_templates_free(struct bj_mail_templates *t); /* NULL is fine */

enum bj_mail_form {
    BJ_MAIL_SUBJECT,
    BJ_MAIL_TEXT,
    BJ_MAIL_HTML,
    BJ_MAIL_FORMS
};

/* Append a template, filled with values.  In HTML, values are escaped, except
 * for report, link and stop, which must be HTML. */
void bj_mail_fill(const struct bj_mail_templates *t, enum bj_mail_kind kind,
                  enum bj_mail_form form, const struct bj_slice *value,
                  struct bj_buf *out);

/* Write the built-in templates into a directory; existing files stay: -EEXIST.
 */
int bj_mail_templates_write(const char *dir, struct bj_err *err);

/* Check the text of a template: for tests. */
int bj_mail_template_check(const char *name, struct bj_slice text,
                           enum bj_mail_kind kind, bool html,
                           struct bj_err *err);

#endif
