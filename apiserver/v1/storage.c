#include "apiserver/v1/storage.h"

#include "apiserver/frame/call.h"
#include "apiserver/frame/params.h"
#include "apiserver/frame/state.h"
#include "base/file.h"
#include "base/json.h"
#include "base/opt_value.h"
#include "base/text.h"
#include "statsdb/tables/best.h"
#include "store/db.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { FILE_MOST = 64 << 20, FIELDS = 7 };

/* --- the file --------------------------------------------------------------
 */

static int amount(struct bj_slice s, int64_t *ret)
{
    uint64_t v;
    if (bj_slice_eq(s, BJ_SLICE("-"))) {
        *ret = BJ_SQL_NULL;
        return 0;
    }
    if (bj_size_parse(s, &v) < 0 || v > INT64_MAX)
        return -EINVAL;
    *ret = (int64_t)v;
    return 0;
}

static int complain(uint64_t line, struct bj_slice what, const char *expected,
                    struct bj_err *err)
{
    char shown[60];
    bj_text_clean(what, shown, sizeof(shown));
    return bj_err_set(err, -EINVAL, "storage.file:%" PRIu64 ": '%s' is not %s",
                      line, shown, expected);
}

static int storage_parse(struct bj_slice text, uint64_t line,
                         struct bj_storage *ret, struct bj_err *err)
{
    struct bj_slice f[FIELDS], rest = text;
    for (int i = 0; i < FIELDS; i++)
        if (!bj_slice_word(&rest, &f[i]))
            return complain(line, text,
                            "USER KIND NAME BYTES BYTES_LIMIT FILES "
                            "FILES_LIMIT",
                            err);
    *ret = (struct bj_storage){.user = f[0], .kind = f[1], .name = f[2]};
    if (!bj_slice_eq(f[1], BJ_SLICE("project")) &&
        !bj_slice_eq(f[1], BJ_SLICE("quota")))
        return complain(line, f[1], "project or quota", err);
    int64_t *const to[] = {
        &ret->used[BJ_STORAGE_BYTES], &ret->limit[BJ_STORAGE_BYTES],
        &ret->used[BJ_STORAGE_FILES], &ret->limit[BJ_STORAGE_FILES]};
    for (int i = 0; i < 4; i++)
        if (amount(f[3 + i], to[i]) < 0)
            return complain(line, f[3 + i], "a size, a number or '-'", err);
    rest = bj_slice_trim(rest);
    if (rest.n > 0)
        ret->path = rest;
    return 1;
}

int bj_storage_next(struct bj_slice *rest, uint64_t *line,
                    struct bj_storage *ret, struct bj_err *err)
{
    struct bj_slice text;
    while (bj_slice_line(rest, &text)) {
        ++*line;
        text = bj_slice_trim(text);
        if (text.n > 0 && *text.p != '#')
            return storage_parse(text, *line, ret, err);
    }
    return 0;
}

/* --- the endpoint ----------------------------------------------------------
 */

static const struct bj_column keys[] = {
    BJ_COLUMN("user", TEXT, NULL, "User."),
    BJ_COLUMN("kind", TEXT, NULL, "project or quota."),
    BJ_COLUMN("name", TEXT, NULL, "Name of the project or file system."),
    BJ_COLUMN("path", TEXT, NULL, "Directory of the user in it."),
    BJ_COLUMN("bytes", INT, NULL, "Bytes that the user has stored."),
    BJ_COLUMN("bytes_limit", INT, NULL, "Limit of bytes; null: none."),
    BJ_COLUMN("bytes_percent", PPM, NULL, "Bytes in percent of the limit."),
    BJ_COLUMN("files", INT, NULL, "Files and directories of the user."),
    BJ_COLUMN("files_limit", INT, NULL, "Limit of files; null: none."),
    BJ_COLUMN("files_percent", PPM, NULL, "Files in percent of the limit."),
    {.name = NULL},
};

/* May the user see this line?  Users see their own lines, admins all lines. */
static bool may_see(const struct bj_call *c, const struct bj_params *p,
                    struct bj_slice user)
{
    bool named = !p->given[BJ_PARAM_USER];
    for (unsigned i = 0; i < p->values && !named; i++)
        named = p->value[i].which == BJ_PARAM_USER &&
                bj_slice_eq(p->value[i].text, user);
    return named && (c->identity.admin ||
                     bj_slice_eq(user, bj_slice_str(c->identity.user)));
}

static void storage_put_row(struct bj_rows *rows, const struct bj_storage *s)
{
    bj_row_begin(rows);
    bj_put_text(rows, s->user);
    bj_put_text(rows, s->kind);
    bj_put_text(rows, s->name);
    bj_put_text(rows, s->path);
    for (int i = 0; i < BJ_STORAGE_AMOUNTS; i++) {
        int64_t ppm = bj_best_ratio(s->used[i], 1000000, s->limit[i]);
        bj_put_kind(rows, BJ_AS_INT, s->used[i]);
        bj_put_kind(rows, BJ_AS_INT, s->limit[i]);
        bj_put_kind(rows, BJ_AS_PPM, ppm);
    }
    bj_row_end(rows);
}

/* Bad lines are skipped and counted; only admins see the first one, because it
 * may belong to another user. */
static void storage_put_rows(struct bj_call *c, const struct bj_params *p,
                             struct bj_slice text)
{
    const char *names[BJ_JOB_COLUMNS];
    struct bj_rows rows;
    struct bj_storage s;
    struct bj_err err, first = {0};
    struct bj_buf more = {0};
    uint64_t line = 0, bad = 0;
    bj_call_rows(c, &rows, names, bj_column_names(keys, names));
    for (int r; (r = bj_storage_next(&text, &line, &s, &err)) != 0;)
        if (r < 0 && bad++ == 0)
            first = err;
        else if (r > 0 && may_see(c, p, s.user))
            storage_put_row(&rows, &s);
    bj_buf_printf(&more, ",\"meta\":{\"bad_lines\":%" PRIu64, bad);
    if (bad > 0 && c->identity.admin) {
        bj_buf_str(&more, ",\"bad_line\":");
        bj_json_string(&more, bj_slice_str(first.msg));
    }
    bj_buf_put(&more, "}", 2); /* the end of the document */
    bj_call_rows_end(c, &rows, more.failed ? "" : more.p);
    c->reply->body.failed |= more.failed;
    bj_buf_free(&more);
}

int bj_storage_read(const char *path, char **ret_text, struct bj_slice *ret,
                    struct bj_err *err)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return bj_err_set(err, -errno, "%s", path);
    if (st.st_size > FILE_MOST)
        return bj_err_set(err, -EFBIG, "%s is too large", path);
    /* The file may grow meanwhile. */
    size_t cap = (size_t)st.st_size + 65536;
    *ret_text = malloc(cap);
    return *ret_text
               ? bj_file_read_all(AT_FDCWD, path, *ret_text, cap, ret, err)
               : bj_err_set(err, -ENOMEM, "storage");
}

/* The file is read for each request, so that changes are visible at once. */
static int on_storage(struct bj_call *c)
{
    const char *path = c->worker->conf->storage;
    struct bj_slice all = {0};
    struct bj_params p;
    char *text = NULL;
    int r = bj_params_read(c, c->endpoint->params, &p);
    if (r == 0 && path && *path &&
        (r = bj_storage_read(path, &text, &all, &c->err)) < 0) {
        bj_call_log(c, "storage.file");
        r = bj_call_refuse(c, 503,
                           "Projects and quotas cannot be read at the moment.");
    }
    if (r == 0)
        storage_put_rows(c, &p, all);
    free(text);
    return r;
}

const struct bj_endpoint bj_endpoints_storage[] = {
    {.path = "/api/v1/storage",
     .methods = BJ_HTTP_GET,
     .needs = BJ_NEED_USER,
     .run = on_storage,
     .help = "Projects of users and what they use of quotas, as the site "
             "reports it. Users see their own, admins all.",
     .params = BJ_BIT(BJ_PARAM_USER),
     .columns = keys},
    {.path = NULL},
};
