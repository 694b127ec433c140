/* The built-in templates. */
#ifndef BJ_MAIL_TEMPLATE_TEXT_H
#define BJ_MAIL_TEMPLATE_TEXT_H

#include "mail/template.h"

extern const char bj_mail_job_text[], bj_mail_job_html[];
extern const char bj_mail_warning_text[], bj_mail_warning_html[];
extern const char bj_mail_digest_text[], bj_mail_digest_html[];

#endif
