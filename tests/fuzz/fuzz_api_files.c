/* Access rules: token files, access files, rules of access.certificates with
 * the names of a certificate, and the credentials of a request; projects and
 * quotas of users.  The first byte chooses. */
#include "apiserver/access/access.h"
#include "apiserver/access/certs.h"
#include "apiserver/access/tokens.h"
#include "apiserver/v1/storage.h"
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static char path[48];

static void clean(void)
{
    unlink(path);
}

/* The readers take the path of a file. */
static void put_file(struct bj_slice text)
{
    int fd;
    if (!path[0]) {
        snprintf(path, sizeof(path), "/tmp/bj-fuzz-api-files-XXXXXX");
        fd = mkstemp(path);
        MUST(fd >= 0 && atexit(clean) == 0);
    } else {
        fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    }
    MUST(write(fd, text.p, text.n) == (ssize_t)text.n);
    close(fd);
}

static void refused(int r, const struct bj_err *err)
{
    MUST(r == -EINVAL && err->code == r);
    MUST(strncmp(err->msg, path, strlen(path)) == 0);
}

static void tokens(struct bj_slice text)
{
    struct bj_tokens *t = NULL;
    struct bj_err err = {0};
    put_file(text);
    int r = bj_tokens_read(path, &t, &err);
    if (r < 0) {
        refused(r, &err);
        return;
    }
    /* Every ID in the file is found. */
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &word) || word.p[0] == '#')
            continue;
        const struct bj_token *found = bj_tokens_find(t, word);
        MUST(found && bj_slice_eq(bj_slice_str(found->id), word));
        MUST(bj_access_is_name(bj_slice_str(found->user)));
        MUST(bj_secret_usable(found->hash) && bj_tokens_like(t));
    }
    bj_tokens_free(t);
}

/* Users get only rights that the file names. */
static void access_file(struct bj_slice text)
{
    struct bj_access *a = NULL;
    struct bj_err err = {0};
    const struct bj_slice *account;
    const struct bj_strv none = {0};
    put_file(text);
    int r = bj_access_new(&none, &none, path, &a, &err);
    if (r < 0) {
        refused(r, &err);
        return;
    }
    bool admins = memmem(text.p, text.n, "admin", 5);
    static const char *const who[] = {"a", "root", "ada", "admin", ""};
    for (size_t i = 0; i < sizeof(who) / sizeof(who[0]); i++) {
        struct bj_slice user = bj_slice_str(who[i]);
        unsigned n = bj_access_accounts(a, user, &account);
        MUST(admins || !bj_access_is_admin(a, user));
        MUST(user.n > 0 || (n == 0 && !bj_access_is_admin(a, user)));
        for (unsigned k = 0; k < n; k++)
            MUST(memmem(text.p, text.n, account[k].p, account[k].n));
    }
    bj_access_free(a);
}

/* Rules, one a line, up to an empty line, then names, each terminated by
 * NUL. */
static void certs(struct bj_slice text)
{
    char *line[8], user[BJ_USER_BYTES];
    struct bj_strv lines = {line, 0};
    struct bj_certs *c = NULL;
    struct bj_err err = {0};
    struct bj_slice s;
    while (lines.n < 8 && bj_slice_line(&text, &s) && s.n > 0)
        MUST((line[lines.n++] = strndup(s.p, s.n)));
    int r = bj_certs_new(&lines, &c, &err);
    MUST(r == 0 || (r == -EINVAL && err.msg[0]));
    if (r == 0 && bj_certs_match(c, text, user) == 0)
        MUST(user[0] && strlen(user) < sizeof(user));
    if (r == 0)
        bj_certs_free(c);
    while (lines.n > 0)
        free(line[--lines.n]);
}

static bool within(struct bj_slice part, const char *p, size_t n)
{
    return part.n == 0 || (part.p >= p && part.p + part.n <= p + n);
}

static void credentials(struct bj_slice text)
{
    char buf[64];
    struct bj_slice a = {0}, b = {0};
    if (bj_secret_basic(text, buf, sizeof(buf), &a, &b)) {
        MUST(within(a, buf, sizeof(buf)) && within(b, buf, sizeof(buf)));
        MUST(a.n + b.n + 1 <= text.n / 4 * 3);
    }
    if (bj_token_split(text, &a, &b))
        MUST(a.n == 8 && b.n > 0 && within(a, text.p, text.n) &&
             within(b, text.p, text.n));
}

static void storage(struct bj_slice text)
{
    struct bj_slice rest = text;
    struct bj_storage s;
    struct bj_err err;
    uint64_t line = 0;
    for (int r; (r = bj_storage_next(&rest, &line, &s, &err)) != 0;) {
        MUST(r == 1 || (r == -EINVAL && err.code == r));
        MUST(r < 0 ||
             (s.user.n > 0 && s.name.n > 0 && within(s.user, text.p, text.n) &&
              within(s.name, text.p, text.n) &&
              within(s.path, text.p, text.n)));
        for (int i = 0; r == 1 && i < BJ_STORAGE_AMOUNTS; i++)
            MUST((s.used[i] >= 0 || s.used[i] == INT64_MIN) &&
                 (s.limit[i] >= 0 || s.limit[i] == INT64_MIN));
    }
    MUST(rest.n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const each[])(struct bj_slice) = {tokens, access_file, certs,
                                                    credentials, storage};
    char *mem;
    if (size < 1 || size > 1 << 16)
        return 0;
    each[data[0] % 5](fuzz_exact(data + 1, size - 1, &mem));
    free(mem);
    return 0;
}
