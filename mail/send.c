#include "mail/send.h"

#include "base/buf.h"
#include "base/command.h"
#include "base/file.h"
#include "base/libcurl.h"
#include "base/save.h"
#include "base/secret_file.h"
#include "base/text.h"
#include "mail/address.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>
#include <unistd.h>

enum { WORDS = 32, SENDMAIL_USEC = 120000000, SECRET_BYTES = 1024 };

static const char *sender_of(const struct bj_mail_conf *c)
{
    if (!bj_is_set(c->envelope_sender))
        return c->from;
    return strcmp(c->envelope_sender, "<>") == 0 ? "" : c->envelope_sender;
}

/* --- a directory -----------------------------------------------------------
 */

static enum bj_mail_outcome to_directory(const struct bj_mail_conf *c,
                                         const struct bj_mail_letter *letter,
                                         struct bj_err *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s.eml", c->directory, letter->name) >=
        (int)sizeof(path)) {
        bj_err_set(err, -ENAMETOOLONG, "%s", c->directory);
        return BJ_MAIL_REFUSED;
    }
    return bj_save(path, letter->bytes, 0640, BJ_SAVE_SYNC, err) < 0
               ? BJ_MAIL_DOWN
               : BJ_MAIL_SENT;
}

/* --- sendmail(1) -----------------------------------------------------------
 */

/* After an exit code of sysexits.h, the mail was not accepted. */
static enum bj_mail_outcome outcome_of(int r,
                                       const struct bj_command_result *res)
{
    if (r == 0)
        return BJ_MAIL_SENT;
    if (r == -EREMOTEIO && res->exit >= EX__BASE && res->exit <= EX__MAX)
        return res->exit == EX_TEMPFAIL || res->exit == EX_OSERR ||
                       res->exit == EX_OSFILE || res->exit == EX_IOERR ||
                       res->exit == EX_CANTCREAT || res->exit == EX_CONFIG ||
                       res->exit == EX_UNAVAILABLE || res->exit == EX_SOFTWARE
                   ? BJ_MAIL_LATER
                   : BJ_MAIL_REFUSED;
    return r == -ETIMEDOUT || r == -ECANCELED || r == -EREMOTEIO
               ? BJ_MAIL_UNKNOWN
               : BJ_MAIL_DOWN; /* it was not started */
}

static enum bj_mail_outcome to_sendmail(const struct bj_mail_conf *c,
                                        const struct bj_mail_letter *letter,
                                        struct bj_err *err)
{
    const char *argv[WORDS + 7], *sender = sender_of(c);
    struct bj_command_result res = {0};
    size_t n = 0;
    for (; n < c->sendmail.n && n < WORDS; n++)
        argv[n] = c->sendmail.v[n];
    argv[n++] = "-i";
    argv[n++] = "-f";
    argv[n++] = sender[0] ? sender : "<>";
    argv[n++] = "--";
    argv[n++] = letter->to;
    argv[n] = NULL;
    const struct bj_command command = {.argv = argv,
                                       .input = letter->bytes,
                                       .leave_children = true,
                                       .deadline_usec = SENDMAIL_USEC,
                                       .max_bytes = 65536,
                                       .abort = letter->stop};
    int r = bj_command_run(&command, &res, err);
    enum bj_mail_outcome o = outcome_of(r, &res);
    bj_command_result_free(&res);
    return o;
}

/* --- SMTP ------------------------------------------------------------------
 */

struct upload {
    struct bj_slice rest;
    bool at_line_feed; /* the carriage return before a line feed was sent */
    const atomic_bool *stop;
    bool sent; /* the whole message was sent, so the server may have accepted it
                */
};

/* SMTP's lines end in \r\n. */
static size_t read_more(char *buf, size_t size, size_t n, void *ctx)
{
    struct upload *u = ctx;
    size_t room = size * n, len = 0;
    while (u->rest.n > 0 && len < room) {
        if (u->rest.p[0] == '\n' && !u->at_line_feed) {
            u->at_line_feed = true;
            buf[len++] = '\r';
            continue;
        }
        u->at_line_feed = false;
        buf[len++] = u->rest.p[0];
        u->rest.p++;
        u->rest.n--;
    }
    u->sent = u->rest.n == 0;
    return len;
}

static int send_on_progress(void *ctx, curl_off_t a, curl_off_t b, curl_off_t d,
                            curl_off_t e)
{
    const struct upload *u = ctx;
    (void)a;
    (void)b;
    (void)d;
    (void)e;
    return u->stop && atomic_load(u->stop) ? 1 : 0;
}

#define SET(option, value)                                                     \
    (bad = bad || lib->easy_setopt(h, option, value) != CURLE_OK)

static bool set_server(const struct bj_libcurl *lib, CURL *h,
                       const struct bj_mail_conf *c, const char *password)
{
    bool bad = false;
#if LIBCURL_VERSION_NUM >= 0x075500
    SET(CURLOPT_PROTOCOLS_STR, "smtp,smtps");
#else
    SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_SMTP | CURLPROTO_SMTPS));
#endif
    SET(CURLOPT_URL, c->smtp_url);
    SET(CURLOPT_PROXY, "");
    SET(CURLOPT_NOSIGNAL, 1L);
    SET(CURLOPT_CONNECTTIMEOUT_MS, 20000L);
    SET(CURLOPT_TIMEOUT_MS, 120000L);
    SET(CURLOPT_USE_SSL,
        c->smtp_tls ? (long)CURLUSESSL_ALL : (long)CURLUSESSL_NONE);
    if (bj_is_set(c->smtp_ca_file)) {
        SET(CURLOPT_CAINFO, c->smtp_ca_file);
        SET(CURLOPT_CAPATH, NULL);
    }
    if (bj_is_set(c->smtp_user)) {
        SET(CURLOPT_USERNAME, c->smtp_user);
        SET(CURLOPT_PASSWORD, password);
    }
    return !bad;
}

/* libcurl adds missing <> to addresses. */
static bool set_message(const struct bj_libcurl *lib, CURL *h,
                        const char *sender, struct curl_slist *to,
                        struct upload *u)
{
    bool bad = false;
    SET(CURLOPT_MAIL_FROM, sender);
    SET(CURLOPT_MAIL_RCPT, to);
    SET(CURLOPT_UPLOAD, 1L);
    SET(CURLOPT_READFUNCTION, read_more);
    SET(CURLOPT_READDATA, u);
    SET(CURLOPT_NOPROGRESS, 0L);
    SET(CURLOPT_XFERINFOFUNCTION, send_on_progress);
    SET(CURLOPT_XFERINFODATA, u);
    return !bad;
}

/* libcurl returns SEND_ERROR if the server refuses MAIL, RCPT or DATA, and
 * WEIRD_SERVER_REPLY if it refuses the message. */
static enum bj_mail_outcome send_judge(CURLcode code, long status,
                                       const struct upload *u)
{
    bool answered = code == CURLE_SEND_ERROR ||
                    (code == CURLE_WEIRD_SERVER_REPLY && u->sent);
    if (code == CURLE_OK)
        return BJ_MAIL_SENT;
    if (answered && status >= 500 && status < 600)
        return BJ_MAIL_REFUSED;
    if (answered && status >= 400 && status < 500)
        return BJ_MAIL_LATER;
    return u->sent ? BJ_MAIL_UNKNOWN : BJ_MAIL_DOWN;
}

static enum bj_mail_outcome transfer(const struct bj_libcurl *lib, CURL *h,
                                     const struct bj_mail_conf *c,
                                     struct upload *u, struct bj_err *err)
{
    char why[CURL_ERROR_SIZE] = "", shown[CURL_ERROR_SIZE];
    long status = 0;
    lib->easy_setopt(h, CURLOPT_ERRORBUFFER, why);
    CURLcode code = lib->easy_perform(h);
    lib->easy_getinfo(h, CURLINFO_RESPONSE_CODE, &status);
    enum bj_mail_outcome o = send_judge(code, status, u);
    bj_text_clean(bj_slice_str(why[0] ? why : lib->easy_strerror(code)), shown,
                  sizeof(shown));
    if (o != BJ_MAIL_SENT)
        bj_err_set(err, -EREMOTEIO, "%.80s: %.120s (last answer %ld)",
                   c->smtp_url, shown, status);
    return o;
}

static enum bj_mail_outcome to_server(const struct bj_mail_conf *c,
                                      const struct bj_mail_letter *letter,
                                      struct bj_err *err)
{
    struct bj_libcurl lib;
    char password[SECRET_BYTES] = "";
    struct upload u = {.rest = letter->bytes, .stop = letter->stop};
    enum bj_mail_outcome o = BJ_MAIL_DOWN;
    if (bj_libcurl_load(&lib, err) < 0)
        return o;
    if (bj_secret_read(c->smtp_password_file, password, sizeof(password), err) <
        0) {
        bj_err_wrap(err, -EACCES, "mail.smtp-password-file");
        return o;
    }
    struct curl_slist *to = lib.slist_append(NULL, letter->to);
    CURL *h = lib.easy_init();
    if (h && to && set_server(&lib, h, c, password) &&
        set_message(&lib, h, sender_of(c), to, &u))
        o = transfer(&lib, h, c, &u, err);
    else
        bj_err_set(err, -ENOMEM, "libcurl refuses an option for SMTP");
    explicit_bzero(password, sizeof(password));
    lib.easy_cleanup(h);
    lib.slist_free_all(to);
    return o;
}

enum bj_mail_outcome bj_mail_send(const struct bj_mail_conf *c,
                                  const struct bj_mail_letter *letter,
                                  struct bj_err *err)
{
    return strcmp(c->send, "directory") == 0  ? to_directory(c, letter, err)
           : strcmp(c->send, "sendmail") == 0 ? to_sendmail(c, letter, err)
                                              : to_server(c, letter, err);
}

/* --- start -----------------------------------------------------------------
 */

static int check_directory(const struct bj_mail_conf *c, struct bj_err *err)
{
    if (!bj_is_set(c->directory))
        return bj_err_set(err, -EINVAL, "mail.directory: required");
    if (faccessat(AT_FDCWD, c->directory, W_OK | X_OK, AT_EACCESS) < 0)
        return bj_file_fail(err, -errno, "mail.directory:", AT_FDCWD,
                            c->directory, W_OK | X_OK);
    return 0;
}

static int check_sendmail(const struct bj_mail_conf *c, struct bj_err *err)
{
    char found[PATH_MAX];
    if (c->sendmail.n == 0 || c->sendmail.n > WORDS)
        return bj_err_set(err, -EINVAL, "mail.sendmail: expected 1 to %d words",
                          WORDS);
    int r = bj_command_find(c->sendmail.v[0], BJ_COMMAND_PATH, found,
                            sizeof(found), err);
    return r < 0 ? bj_err_wrap(err, r, "mail.sendmail") : 0;
}

static int check_server(const struct bj_mail_conf *c, struct bj_err *err)
{
    struct bj_libcurl lib;
    char password[SECRET_BYTES];
    const char *url = c->smtp_url ? c->smtp_url : "";
    bool plain = strncmp(url, "smtp://", 7) == 0;
    if ((!plain && strncmp(url, "smtps://", 8) != 0) || strpbrk(url, "\r\n @"))
        return bj_err_set(err, -EINVAL,
                          "mail.smtp-url: '%.80s' is not smtp://HOST:PORT or "
                          "smtps://HOST:PORT",
                          url);
    if (bj_is_set(c->smtp_user) && plain && !c->smtp_tls)
        return bj_err_set(err, -EINVAL,
                          "mail.smtp-user: a password is sent with TLS only; "
                          "set mail.smtp-tls");
    if (bj_is_set(c->smtp_ca_file) &&
        faccessat(AT_FDCWD, c->smtp_ca_file, R_OK, AT_EACCESS) < 0)
        return bj_file_fail(err, -errno, "mail.smtp-ca-file:", AT_FDCWD,
                            c->smtp_ca_file, R_OK);
    int r =
        bj_secret_read(c->smtp_password_file, password, sizeof(password), err);
    explicit_bzero(password, sizeof(password));
    if (r < 0)
        return bj_err_wrap(err, r, "mail.smtp-password-file");
    return bj_libcurl_load(&lib, err);
}

static int check_address(const char *option, const char *address, bool required,
                         struct bj_err *err)
{
    if (!bj_is_set(address))
        return required ? bj_err_set(err, -EINVAL, "%s: required", option) : 0;
    return bj_mail_address_is(bj_slice_str(address))
               ? 0
               : bj_err_set(err, -EINVAL, "%s: '%.80s' is not an address",
                            option, address);
}

int bj_mail_send_check(const struct bj_mail_conf *c, struct bj_err *err)
{
    const char *sender = c->envelope_sender;
    int r = check_address("mail.from", c->from, true, err);
    if (r == 0)
        r = check_address("mail.reply-to", c->reply_to, false, err);
    if (r == 0 && !(sender && strcmp(sender, "<>") == 0))
        r = check_address("mail.envelope-sender", sender, false, err);
    if (r < 0)
        return r;
    return strcmp(c->send, "directory") == 0  ? check_directory(c, err)
           : strcmp(c->send, "sendmail") == 0 ? check_sendmail(c, err)
                                              : check_server(c, err);
}

int bj_mail_greet(const struct bj_mail_conf *c, struct bj_err *err)
{
    struct bj_libcurl lib, *const l = &lib;
    char password[SECRET_BYTES] = "", why[CURL_ERROR_SIZE] = "";
    if (!bj_mail_is_on(c) || strcmp(c->send, "smtp") != 0)
        return 0;
    int r = bj_libcurl_load(l, err);
    if (r == 0)
        r = bj_secret_read(c->smtp_password_file, password, sizeof(password),
                           err);
    if (r < 0)
        return r;
    CURL *h = lib.easy_init();
    bool good = h && set_server(l, h, c, password) &&
                lib.easy_setopt(h, CURLOPT_CUSTOMREQUEST, "NOOP") == CURLE_OK &&
                lib.easy_setopt(h, CURLOPT_NOBODY, 1L) == CURLE_OK &&
                lib.easy_setopt(h, CURLOPT_TIMEOUT_MS, 30000L) == CURLE_OK &&
                lib.easy_setopt(h, CURLOPT_ERRORBUFFER, why) == CURLE_OK;
    CURLcode code = good ? lib.easy_perform(h) : CURLE_OUT_OF_MEMORY;
    if (code != CURLE_OK) {
        char shown[CURL_ERROR_SIZE];
        const char *text = why[0] ? why : lib.easy_strerror(code);
        bj_text_clean(bj_slice_str(text), shown, sizeof(shown));
        r = bj_err_set(err, -EREMOTEIO, "mail.smtp-url: %.80s: %.120s",
                       c->smtp_url, shown);
    }
    explicit_bzero(password, sizeof(password));
    lib.easy_cleanup(h);
    return r;
}
