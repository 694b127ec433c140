#include "report/catalogue.h"

#include "base/file.h"
#include "report/report.h"
#include "statsdb/store.h"
#include "store/db.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20, TEXT_MOST = 600, NAME_MOST = 40 };

/* --- names and values ------------------------------------------------------
 */

static const char *const names[BJ_SENTENCE_COUNT] = {
#define NAME(name) #name,
    BJ_SENTENCES(NAME)
#undef NAME
};

/* The name in lower case. */
static struct bj_slice name_of(unsigned which, char ret[NAME_MOST])
{
    size_t n = 0;
    for (; names[which][n] && n < NAME_MOST - 1; n++)
        ret[n] = (char)tolower((unsigned char)names[which][n]);
    ret[n] = '\0';
    return (struct bj_slice){ret, n};
}

static unsigned find(struct bj_slice name)
{
    char text[NAME_MOST];
    unsigned i = 0;
    while (i < BJ_SENTENCE_COUNT && !bj_slice_eq(name_of(i, text), name))
        i++;
    return i;
}

/* A bit for each of {1} to {4}. */
static unsigned values_of(struct bj_slice s)
{
    unsigned ret = 0;
    for (size_t i = 0; i + 2 < s.n; i++)
        if (s.p[i] == '{' && s.p[i + 2] == '}' && s.p[i + 1] >= '1' &&
            s.p[i + 1] <= '0' + BJ_SENTENCE_VALUES)
            ret |= 1u << (s.p[i + 1] - '1');
    return ret;
}

/* --- the file --------------------------------------------------------------
 */

static int check(unsigned which, struct bj_slice text, struct bj_err *err)
{
    const struct bj_slice built_in = bj_slice_str(bj_sentences[which]);
    if (text.n == 0 || text.n > TEXT_MOST)
        return bj_err_set(err, -EINVAL, "a text of 1 to %d bytes is expected",
                          TEXT_MOST);
    if (values_of(text) != values_of(built_in))
        return bj_err_set(err, -EINVAL,
                          "the same values are expected as in "
                          "'%s'",
                          bj_sentences[which]);
    return 0;
}

static int take(struct bj_slice line, struct bj_catalogue *c,
                struct bj_err *err)
{
    struct bj_slice name, rest = line;
    if (!memchr(line.p, '=', line.n) || !bj_slice_field(&rest, '=', &name))
        return bj_err_set(err, -EINVAL, "NAME = TEXT is expected");
    name = bj_slice_trim(name);
    unsigned which = find(name);
    if (which == BJ_SENTENCE_COUNT)
        return bj_err_set(err, -EINVAL,
                          "'%.*s' is not the name of a text (batchjob_stats_db "
                          "texts prints them)",
                          name.n < NAME_MOST ? (int)name.n : NAME_MOST, name.p);
    if (c->text[which].p)
        return bj_err_set(err, -EINVAL, "'%.*s' is there twice", (int)name.n,
                          name.p);
    struct bj_buf clean = {0};
    bj_buf_clean(&clean, bj_slice_trim(rest));
    const struct bj_slice text = {clean.p ? clean.p : "", clean.len};
    int r = check(which, text, err);
    if (r == 0)
        c->text[which] = bj_arena_copy(&c->arena, text);
    c->arena.failed |= clean.failed;
    bj_buf_free(&clean);
    return r;
}

int bj_catalogue_parse(struct bj_slice text, const char *name,
                       struct bj_catalogue *ret, struct bj_err *err)
{
    struct bj_slice line;
    uint64_t number = 0;
    while (bj_slice_line(&text, &line)) {
        number++;
        line = bj_slice_trim(line);
        int r = line.n == 0 || *line.p == '#' ? 0 : take(line, ret, err);
        if (r < 0)
            return bj_err_wrap(err, r, "%s:%" PRIu64, name, number);
    }
    return ret->arena.failed ? bj_err_set(err, -ENOMEM, "report.texts") : 0;
}

int bj_catalogue_load(const char *path, struct bj_catalogue *ret,
                      struct bj_err *err)
{
    struct bj_slice all;
    if (!path || !*path)
        return 0;
    char *text = malloc(FILE_MOST);
    int r = text ? bj_file_read_all(AT_FDCWD, path, text, FILE_MOST, &all, err)
                 : bj_err_set(err, -ENOMEM, "report.texts");
    if (r == 0)
        r = bj_catalogue_parse(all, path, ret, err);
    free(text);
    return r;
}

void bj_catalogue_free(struct bj_catalogue *c)
{
    bj_arena_free(&c->arena);
}

void bj_catalogue_print(struct bj_buf *out)
{
    char name[NAME_MOST];
    bj_buf_str(out, "# Texts of reports.  {1} to {4} are values with their "
                    "units.\n");
    for (unsigned i = 0; i < BJ_SENTENCE_COUNT; i++) {
        bj_buf_slice(out, name_of(i, name));
        bj_buf_printf(out, " = %s\n", bj_sentences[i]);
    }
}

/* --- the store -------------------------------------------------------------
 */

static int write_rows(struct bj_db *db, const struct bj_catalogue *c,
                      struct bj_err *err)
{
    struct bj_st *st = NULL;
    char name[NAME_MOST];
    int r = bj_db_exec(db, "DELETE FROM sentence", err);
    if (r == 0)
        r = bj_db_prepare(db, "INSERT INTO sentence(name, text) VALUES(?1, ?2)",
                          &st, err);
    for (unsigned i = 0; r == 0 && i < BJ_SENTENCE_COUNT; i++) {
        if (!c->text[i].p)
            continue;
        bj_st_bind_filled(st, 1, name_of(i, name));
        bj_st_bind_filled(st, 2, c->text[i]);
        r = bj_st_run(st, err);
    }
    bj_st_finalize(st);
    return r;
}

int bj_catalogue_write(struct bj_store *s, const struct bj_catalogue *c,
                       struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = write_rows(bj_store_db(s), c, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

/* Texts of another release, whose values differ, are left out. */
int bj_catalogue_use(struct bj_db *db, struct bj_report *r, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int code = bj_db_prepare(db, "SELECT name, text FROM sentence", &st, err);
    while (code >= 0 && (code = bj_st_row(st, err)) > 0) {
        unsigned which = find(bj_st_get_text(st, 0));
        const struct bj_slice text = bj_st_get_text(st, 1);
        if (which < BJ_SENTENCE_COUNT && check(which, text, NULL) == 0)
            r->sentence[which] = bj_arena_copy(&r->arena, text);
    }
    bj_st_finalize(st);
    return code;
}
