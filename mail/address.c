#include "mail/address.h"

#include "base/buf.h"
#include "base/command.h"
#include "base/file.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    FILE_BYTES = 8 << 20,
    LOCAL_MAX = 64,
    COMMAND_BYTES = 4096,
    COMMAND_USEC = 10000000,
    WORDS = 32,
    USER_MAX = 64
};

struct bj_mail_addresses {
    const struct bj_mail_conf *conf;
    struct stat seen; /* state of the file when text was read */
    char *text;
    size_t n;
};

static bool in_local(char c)
{
    return isalnum((unsigned char)c) ||
           (c != '\0' && strchr("!#$%&'*+-/=?^_`{|}~.", c));
}

bool bj_mail_address_is(struct bj_slice s)
{
    const char *at = s.n > 0 ? memchr(s.p, '@', s.n) : NULL;
    size_t local = at ? (size_t)(at - s.p) : 0;
    char before = '.';
    if (local == 0 || local > LOCAL_MAX || s.n >= BJ_MAIL_ADDRESS_MAX ||
        local + 1 >= s.n || s.p[0] == '-')
        return false;
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];
        bool good = i == local  ? before != '.'
                    : i < local ? in_local(c) && (c != '.' || before != '.')
                    : c == '.'  ? isalnum((unsigned char)before)
                    : c == '-'  ? before != '.' && before != '@'
                                : isalnum((unsigned char)c);
        if (!good)
            return false;
        before = c;
    }
    return isalnum((unsigned char)before);
}

/* --- the file --------------------------------------------------------------
 */

/* Read the next line with a user; 0 at the end. */
static int next_line(struct bj_slice *rest, unsigned *number,
                     struct bj_slice *user, struct bj_slice *address)
{
    struct bj_slice line, more;
    while (bj_slice_line(rest, &line)) {
        ++*number;
        if (!bj_slice_word(&line, user) || user->p[0] == '#')
            continue;
        if (!bj_slice_word(&line, address) || bj_slice_word(&line, &more))
            return -EINVAL;
        return bj_mail_address_is(*address) ||
                       bj_slice_eq(*address, BJ_SLICE("-"))
                   ? 1
                   : -EINVAL;
    }
    return 0;
}

int bj_mail_addresses_check(const char *name, struct bj_slice text,
                            struct bj_err *err)
{
    struct bj_slice user, address;
    unsigned number = 0;
    int r;
    while ((r = next_line(&text, &number, &user, &address)) > 0)
        ;
    return r == 0 ? 0
                  : bj_err_set(err, r,
                               "%s, line %u: expected 'USER ADDRESS' or "
                               "'USER -'",
                               name, number);
}

static int address_read_file(const char *path, char **ret, size_t *ret_n,
                             struct bj_err *err)
{
    struct bj_slice text;
    char *buf = malloc(FILE_BYTES);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "%s", path);
    int r = bj_file_read_all(AT_FDCWD, path, buf, FILE_BYTES, &text, err);
    if (r == 0)
        r = bj_mail_addresses_check(path, text, err);
    if (r < 0) {
        free(buf);
        return bj_err_wrap(err, r, "mail.address-file");
    }
    char *less = realloc(buf, text.n ? text.n : 1);
    *ret = less ? less : buf;
    *ret_n = text.n;
    return 0;
}

/* Read the file again when it has changed. */
static int follow(struct bj_mail_addresses *a, struct bj_err *err)
{
    struct stat st;
    char *text;
    size_t n;
    const char *path = a->conf->address_file;
    if (!bj_is_set(path))
        return 0;
    if (stat(path, &st) < 0)
        return bj_err_set(err, -EAGAIN, "mail.address-file: cannot read %s",
                          path);
    if (a->text && st.st_ino == a->seen.st_ino &&
        st.st_size == a->seen.st_size &&
        st.st_mtim.tv_sec == a->seen.st_mtim.tv_sec &&
        st.st_mtim.tv_nsec == a->seen.st_mtim.tv_nsec)
        return 0;
    int r = address_read_file(path, &text, &n, err);
    if (r < 0)
        return r;
    free(a->text);
    a->text = text;
    a->n = n;
    a->seen = st;
    return 0;
}

static bool address_find(const struct bj_mail_addresses *a,
                         struct bj_slice user, struct bj_slice *ret)
{
    struct bj_slice rest = {a->text, a->n}, name;
    unsigned number = 0;
    while (next_line(&rest, &number, &name, ret) > 0)
        if (bj_slice_eq(name, user))
            return true;
    return false;
}

/* --- the rule and the command ----------------------------------------------
 */

static void address_put(struct bj_slice s, char *ret)
{
    ret[0] = '\0';
    if (bj_mail_address_is(s)) {
        memcpy(ret, s.p, s.n);
        ret[s.n] = '\0';
    }
}

static void by_rule(const char *rule, struct bj_slice user, char *ret)
{
    static const char word[] = "{user}";
    const char *at = strstr(rule, word);
    char buf[BJ_MAIL_ADDRESS_MAX];
    if (!at)
        return;
    int n = snprintf(buf, sizeof(buf), "%.*s%.*s%s", (int)(at - rule), rule,
                     (int)user.n, user.p, at + sizeof(word) - 1);
    if (n < (int)sizeof(buf))
        address_put(bj_slice_str(buf), ret);
}

static int by_command(const struct bj_strv *words, struct bj_slice user,
                      const atomic_bool *stop, char *ret, struct bj_err *err)
{
    const char *argv[WORDS + 2];
    char name[USER_MAX + 1];
    struct bj_command_result res = {0};
    size_t n = 0;
    for (; n < words->n && n < WORDS; n++)
        argv[n] = words->v[n];
    memcpy(name, user.p, user.n);
    name[user.n] = '\0';
    argv[n++] = name;
    argv[n] = NULL;
    const struct bj_command command = {.argv = argv,
                                       .deadline_usec = COMMAND_USEC,
                                       .max_bytes = COMMAND_BYTES,
                                       .abort = stop};
    int r = bj_command_run(&command, &res, err);
    if (r == 0)
        address_put(bj_slice_trim((struct bj_slice){res.out.p, res.out.len}),
                    ret);
    bj_command_result_free(&res);
    return r < 0 ? bj_err_wrap(err, r, "mail.address-command") : 0;
}

/* Can the name be an argument, and not an option, path or pattern? */
static bool is_user(struct bj_slice user)
{
    for (size_t i = 0; i < user.n; i++)
        if (!isalnum((unsigned char)user.p[i]) &&
            (user.p[i] == '\0' || !strchr("._-+@$", user.p[i])))
            return false;
    return user.n > 0 && user.n <= USER_MAX && user.p[0] != '-';
}

int bj_mail_address(struct bj_mail_addresses *a, struct bj_slice user,
                    const atomic_bool *stop, char *ret, struct bj_err *err)
{
    struct bj_slice own;
    ret[0] = '\0';
    int r = follow(a, err);
    if (r < 0 || !is_user(user))
        return r;
    if (address_find(a, user, &own))
        address_put(own, ret);
    else if (a->conf->address_command.n > 0)
        r = by_command(&a->conf->address_command, user, stop, ret, err);
    else if (bj_is_set(a->conf->address))
        by_rule(a->conf->address, user, ret);
    return r;
}

/* --- start -----------------------------------------------------------------
 */

static int check_rule(const char *rule, struct bj_err *err)
{
    char example[BJ_MAIL_ADDRESS_MAX] = "";
    by_rule(rule, BJ_SLICE("anna"), example);
    return example[0] ? 0
                      : bj_err_set(err, -EINVAL,
                                   "mail.address: '%.100s' makes no address; "
                                   "expected a rule like {user}@example.org",
                                   rule);
}

int bj_mail_addresses_check_conf(const struct bj_mail_conf *c,
                                 struct bj_err *err)
{
    char found[PATH_MAX], *text = NULL;
    size_t n;
    int r = 0;
    if (!bj_is_set(c->address) && !bj_is_set(c->address_file) &&
        c->address_command.n == 0)
        return bj_err_set(err, -EINVAL,
                          "mail.address: required (or mail.address-file, or "
                          "mail.address-command)");
    if (bj_is_set(c->address))
        r = check_rule(c->address, err);
    if (r == 0 && c->address_command.n > WORDS)
        r = bj_err_set(err, -EINVAL, "mail.address-command: more than %d words",
                       WORDS);
    if (r == 0 && c->address_command.n > 0) {
        r = bj_command_find(c->address_command.v[0], BJ_COMMAND_PATH, found,
                            sizeof(found), err);
        if (r < 0)
            bj_err_wrap(err, r, "mail.address-command");
    }
    if (r == 0 && bj_is_set(c->address_file))
        r = address_read_file(c->address_file, &text, &n, err);
    free(text);
    return r;
}

int bj_mail_addresses_new(const struct bj_mail_conf *conf,
                          struct bj_mail_addresses **ret, struct bj_err *err)
{
    struct bj_mail_addresses *a = calloc(1, sizeof(*a));
    if (!a)
        return bj_err_set(err, -ENOMEM, "addresses");
    a->conf = conf;
    *ret = a;
    return 0;
}

void bj_mail_addresses_free(struct bj_mail_addresses *a)
{
    if (!a)
        return;
    free(a->text);
    free(a);
}
