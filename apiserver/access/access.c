#include "apiserver/access/access.h"

#include "apiserver/conf/conf.h"
#include "base/array.h"
#include "base/file.h"
#include "base/opt.h"
#include "base/text.h"
#include "statsdb/tables/schema.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES = 1 << 20, GROUP_BYTES = 1 << 20, NAME_BYTES = 64 };

/* One right of a user: to see an account, or, with account NULL, all jobs. */
struct right {
    char *user, *account;
};

struct bj_access {
    struct right *v;
    struct bj_slice *account; /* account of each right in v; empty for admins */
    size_t n, cap;
};

bool bj_access_is_name(struct bj_slice s)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    if (s.n == 0 || s.n >= NAME_BYTES || !s.p[0] || !strchr(letters, s.p[0]))
        return false;
    for (size_t i = 1; i < s.n; i++)
        if (!s.p[i] || (!strchr(letters, s.p[i]) && !strchr(".-@+", s.p[i])))
            return false;
    return true;
}

void bj_access_free(struct bj_access *a)
{
    if (!a)
        return;
    for (size_t i = 0; i < a->n; i++) {
        free(a->v[i].user);
        free(a->v[i].account);
    }
    free(a->v);
    free(a->account);
    free(a);
}

static int access_add(struct bj_access *a, struct bj_slice account,
                      struct bj_slice user, struct bj_err *err)
{
    if (!BJ_GROW(a->v, a->n + 1, a->cap))
        return bj_err_set(err, -ENOMEM, "access");
    struct right *r = &a->v[a->n];
    r->user = strndup(user.p, user.n);
    r->account = account.n > 0 ? strndup(account.p, account.n) : NULL;
    a->n++;
    return r->user && (r->account || account.n == 0)
               ? 0
               : bj_err_set(err, -ENOMEM, "access");
}

static int add_group(struct bj_access *a, struct bj_slice account,
                     struct bj_slice name, struct bj_err *err)
{
    char group[NAME_BYTES], text[80];
    struct group entry, *found = NULL;
    char *buf = malloc(GROUP_BYTES);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "access");
    snprintf(group, sizeof(group), "%.*s", (int)name.n, name.p);
    int r = 0;
    int rc = getgrnam_r(group, &entry, buf, GROUP_BYTES, &found);
    if (rc != 0)
        r = bj_err_set(err, rc == ENOMEM ? -ENOMEM : -EINVAL,
                       "group '%s' cannot be read: %s", group,
                       strerror_r(rc, text, sizeof(text)));
    else if (!found)
        r = bj_err_set(err, -EINVAL, "group '%s' does not exist", group);
    for (char **m = r == 0 ? found->gr_mem : NULL; m && *m && r == 0; m++)
        r = access_add(a, account, bj_slice_str(*m), err);
    free(buf);
    return r;
}

static int add_words(struct bj_access *a, struct bj_slice account,
                     struct bj_slice words, struct bj_err *err)
{
    struct bj_slice word;
    int r = 0;
    while (r == 0 && bj_slice_word(&words, &word)) {
        bool group = word.p[0] == '@';
        struct bj_slice name = {word.p + group, word.n - group};
        if (!bj_access_is_name(name))
            return bj_err_set(err, -EINVAL, "'%.*s' is not a user or @GROUP",
                              word.n < 60 ? (int)word.n : 60, word.p);
        r = group ? add_group(a, account, name, err)
                  : access_add(a, account, name, err);
    }
    return r;
}

static const char *right_at(const void *ctx, size_t i)
{
    static const char *const rights[] = {"admin", "coordinator", NULL};
    (void)ctx;
    return rights[i];
}

static int access_read_line(struct bj_access *a, struct bj_slice line,
                            struct bj_err *err)
{
    struct bj_slice word, account = {0};
    const char *comment = line.n ? memchr(line.p, '#', line.n) : NULL;
    if (comment)
        line.n = (size_t)(comment - line.p);
    if (!bj_slice_word(&line, &word))
        return 0;
    if (bj_slice_eq(word, BJ_SLICE("coordinator"))) {
        if (!bj_slice_word(&line, &account))
            return bj_err_set(err, -EINVAL,
                              "expected: coordinator ACCOUNT USER");
    } else if (!bj_slice_eq(word, BJ_SLICE("admin"))) {
        char shown[NAME_BYTES], like[BJ_OPT_SUGGESTION];
        bj_text_clean(word, shown, sizeof(shown));
        return bj_err_set(err, -EINVAL,
                          "expected: admin USER, or coordinator ACCOUNT USER;"
                          " not '%s'%s",
                          shown, bj_suggest(word, right_at, NULL, like));
    }
    if (bj_slice_trim(line).n == 0)
        return bj_err_set(err, -EINVAL, "expected a USER or @GROUP after it");
    return add_words(a, account, line, err);
}

static int access_read_file(struct bj_access *a, const char *path,
                            struct bj_err *err)
{
    struct bj_slice text, line;
    char *buf = malloc(FILE_BYTES);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "access");
    int r = bj_file_read_trusted(AT_FDCWD, path, buf, FILE_BYTES, &text, err);
    if (r < 0)
        r = bj_api_conf_unread("access.file", err);
    for (unsigned n = 1; r == 0 && bj_slice_line(&text, &line); n++) {
        r = access_read_line(a, line, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s:%u", path, n);
    }
    free(buf);
    return r;
}

static int read_options(struct bj_access *a, const struct bj_strv *admins,
                        const struct bj_strv *coordinators, struct bj_err *err)
{
    int r = 0;
    for (size_t i = 0; i < admins->n && r == 0; i++) {
        r = add_words(a, (struct bj_slice){0}, bj_slice_str(admins->v[i]), err);
        if (r < 0)
            bj_err_wrap(err, r, "access.admins");
    }
    for (size_t i = 0; i < coordinators->n && r == 0; i++) {
        struct bj_slice words = bj_slice_str(coordinators->v[i]), account;
        bool colon = words.n > 0 && memchr(words.p, ':', words.n);
        if (colon && bj_slice_field(&words, ':', &account) &&
            bj_slice_trim(account).n > 0)
            r = add_words(a, bj_slice_trim(account), words, err);
        else
            r = bj_err_set(err, -EINVAL,
                           "'%.60s': expected ACCOUNT: USER @GROUP ...",
                           coordinators->v[i]);
        if (r < 0)
            bj_err_wrap(err, r, "access.coordinators");
    }
    return r;
}

/* Order: user, then account; the right of an admin comes first. */
static int access_compare(const void *first, const void *second)
{
    const struct right *a = first, *b = second;
    int c = strcmp(a->user, b->user);
    return c ? c
             : strcmp(a->account ? a->account : "",
                      b->account ? b->account : "");
}

/* Remove duplicates: a user may be listed by name and by group. */
static int access_settle(struct bj_access *a, struct bj_err *err)
{
    size_t n = 0;
    if (a->n > 0)
        qsort(a->v, a->n, sizeof(*a->v), access_compare);
    for (size_t i = 0; i < a->n; i++)
        if (n > 0 && access_compare(&a->v[n - 1], &a->v[i]) == 0) {
            free(a->v[i].user);
            free(a->v[i].account);
        } else {
            a->v[n++] = a->v[i];
        }
    a->n = n;
    a->account = calloc(n + 1, sizeof(*a->account));
    if (!a->account)
        return bj_err_set(err, -ENOMEM, "access");
    for (size_t i = 0; i < n; i++)
        if (a->v[i].account)
            a->account[i] = bj_slice_str(a->v[i].account);
    return 0;
}

int bj_access_new(const struct bj_strv *admins,
                  const struct bj_strv *coordinators, const char *file,
                  struct bj_access **ret, struct bj_err *err)
{
    struct bj_access *a = calloc(1, sizeof(*a));
    if (!a)
        return bj_err_set(err, -ENOMEM, "access");
    int r = read_options(a, admins, coordinators, err);
    if (r == 0 && file && file[0])
        r = access_read_file(a, file, err);
    if (r == 0)
        r = access_settle(a, err);
    if (r < 0) {
        bj_access_free(a);
        return r;
    }
    *ret = a;
    return 0;
}

/* Find the first right of a user; n: there is none. */
static size_t access_first(const struct bj_access *a, struct bj_slice user)
{
    size_t lo = 0, hi = a->n;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        struct bj_slice have = bj_slice_str(a->v[mid].user);
        size_t n = have.n < user.n ? have.n : user.n;
        int c = memcmp(have.p, user.p, n);
        if (c < 0 || (c == 0 && have.n < user.n))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static bool is_of(const struct bj_access *a, size_t i, struct bj_slice user)
{
    return i < a->n && bj_slice_eq(bj_slice_str(a->v[i].user), user);
}

bool bj_access_is_admin(const struct bj_access *a, struct bj_slice user)
{
    for (size_t i = access_first(a, user); is_of(a, i, user); i++)
        if (!a->v[i].account)
            return true;
    return false;
}

unsigned bj_access_accounts(const struct bj_access *a, struct bj_slice user,
                            const struct bj_slice **ret)
{
    size_t i = access_first(a, user);
    unsigned n = 0;
    /* The right of an admin comes first. */
    i += is_of(a, i, user) && !a->v[i].account;
    *ret = &a->account[i];
    while (is_of(a, i + n, user))
        n++;
    return n;
}

bool bj_access_right(const struct bj_access *a, size_t i,
                     struct bj_slice *ret_user, struct bj_slice *ret_account)
{
    if (i >= a->n)
        return false;
    *ret_user = bj_slice_str(a->v[i].user);
    *ret_account = a->account[i];
    return true;
}

/* --- writing ----------------------------------------------------------------
 */

static int insert_all(const struct bj_access *a, struct bj_db *db, size_t *ret,
                      struct bj_err *err)
{
    static const char sql[] =
        "INSERT INTO access_rule(user, account) VALUES(?1, ?2)";
    struct bj_slice user, account;
    struct bj_st *st = NULL;
    size_t n = 0;
    int r = bj_db_prepare(db, sql, &st, err);
    for (; r == 0 && bj_access_right(a, n, &user, &account); n++) {
        bj_st_bind_text(st, 1, user);
        bj_st_bind_text(st, 2, account.n > 0 ? account : BJ_SLICE(""));
        r = bj_st_run(st, err);
    }
    bj_st_finalize(st);
    *ret = n;
    return r;
}

static int access_write_all(const struct bj_access *a, struct bj_db *db,
                            size_t *ret, struct bj_err *err)
{
    bool people = false;
    int r = bj_schema_make_people(db, &people, err);
    if (r == 0 && !people)
        r = bj_err_set(err, -ENOTSUP,
                       "the store has no schema people that belongs to this "
                       "role; examples/postgresql.sql makes one in PostgreSQL");
    if (r == 0)
        r = bj_db_exec(db, "DELETE FROM access_rule", err);
    return r < 0 ? r : insert_all(a, db, ret, err);
}

static int in_transaction(const struct bj_access *a, struct bj_store *s,
                          size_t *ret, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = access_write_all(a, bj_store_db(s), ret, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

int bj_access_write(const struct bj_api_conf *conf, size_t *ret,
                    struct bj_err *err)
{
    const struct bj_store_options opt = {.path = conf->store,
                                         .any_filesystem = conf->any_filesystem,
                                         .short_writes = true};
    struct bj_access *a = NULL;
    struct bj_store *s = NULL;
    int r = bj_access_new(&conf->admins, &conf->coordinators, conf->access_file,
                          &a, err);
    if (r == 0)
        r = bj_store_open(&opt, &s, err);
    if (r == 0)
        r = in_transaction(a, s, ret, err);
    bj_store_close(s);
    bj_access_free(a);
    return r;
}
