#include "report/model/catalogue.h"

#include "base/file.h"
#include "report/model/limits.h"
#include "report/model/report.h"
#include "statsdb/derive/rule.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20, TEXT_MOST = 2000, NAME_MOST = 40 };

/* --- names and values ------------------------------------------------------
 */

static const char *const names[BJ_SENTENCE_COUNT] = {
#define NAME(name) #name,
    BJ_SENTENCES(NAME)
#undef NAME
};

/* The name in lower case. */
static struct bj_slice catalogue_name_of(unsigned which, char ret[NAME_MOST])
{
    size_t n = 0;
    for (; names[which][n] && n < NAME_MOST - 1; n++)
        ret[n] = (char)tolower((unsigned char)names[which][n]);
    ret[n] = '\0';
    return (struct bj_slice){ret, n};
}

static unsigned catalogue_find(struct bj_slice name)
{
    char text[NAME_MOST];
    unsigned i = 0;
    while (i < BJ_SENTENCE_COUNT &&
           !bj_slice_eq(catalogue_name_of(i, text), name))
        i++;
    return i;
}

/* The name of a text other than a sentence is the text itself, in quotes. */
static bool take_quotes(struct bj_slice name, struct bj_slice *ret)
{
    const bool quoted =
        name.n > 2 && name.p[0] == '"' && name.p[name.n - 1] == '"';
    *ret = quoted ? (struct bj_slice){name.p + 1, name.n - 2} : name;
    return quoted;
}

/* Is it a text other than a sentence, or a text of a built-in rule? */
static bool catalogue_is_known(const struct bj_rules *rules,
                               struct bj_slice text)
{
    struct bj_slice of_rule, advice;
    for (const char *const *t = bj_local_texts; *t; t++)
        if (bj_slice_eq(text, bj_slice_str(*t)))
            return true;
    for (size_t i = 0; bj_rules_written(rules, i, &of_rule, &advice); i++)
        if (bj_slice_eq(text, of_rule) || bj_slice_eq(text, advice))
            return true;
    return false;
}

/* The next value of s, such as {1} or {time}. */
static bool next_value(struct bj_slice *s, struct bj_slice *ret)
{
    const char *from = s->n > 0 ? memchr(s->p, '{', s->n) : NULL;
    const char *to =
        from ? memchr(from, '}', s->n - (size_t)(from - s->p)) : NULL;
    if (!to)
        return false;
    *ret = (struct bj_slice){from, (size_t)(to - from) + 1};
    *s = (struct bj_slice){to + 1, s->n - (size_t)(to + 1 - s->p)};
    return true;
}

/* Does b contain all values of a? */
static bool has_values(struct bj_slice a, struct bj_slice b)
{
    struct bj_slice v;
    while (next_value(&a, &v))
        if (!memmem(b.p, b.n, v.p, v.n))
            return false;
    return true;
}

/* --- the file --------------------------------------------------------------
 */

static int catalogue_check(struct bj_slice built_in, struct bj_slice text,
                           struct bj_err *err)
{
    if (text.n == 0 || text.n > TEXT_MOST)
        return bj_err_set(err, -EINVAL, "a text of 1 to %d bytes is expected",
                          TEXT_MOST);
    if (!has_values(text, built_in) || !has_values(built_in, text))
        return bj_err_set(err, -EINVAL,
                          "the same values are expected as in "
                          "'%.*s'",
                          (int)built_in.n, built_in.p);
    return 0;
}

static int catalogue_take_line(struct bj_slice line,
                               const struct bj_rules *rules,
                               struct bj_catalogue *c, struct bj_err *err)
{
    struct bj_slice name, rest = line;
    if (!memchr(line.p, '=', line.n) || !bj_slice_field(&rest, '=', &name))
        return bj_err_set(err, -EINVAL, "NAME = TEXT is expected");
    name = bj_slice_trim(name);
    const bool local = take_quotes(name, &name);
    unsigned which = local ? BJ_SENTENCE_COUNT : catalogue_find(name);
    if (local ? !catalogue_is_known(rules, name) : which == BJ_SENTENCE_COUNT)
        return bj_err_set(err, -EINVAL,
                          "'%.*s' is not the name of a text (batchjob_stats_db "
                          "texts prints them)",
                          name.n < NAME_MOST ? (int)name.n : NAME_MOST, name.p);
    if (local ? bj_locals_has(&c->locals, name) : c->text[which].p != NULL)
        return bj_err_set(err, -EINVAL, "'%.*s' is there twice", (int)name.n,
                          name.p);
    struct bj_buf clean = {0};
    bj_buf_clean(&clean, bj_slice_trim(rest));
    const struct bj_slice text = {clean.p ? clean.p : "", clean.len};
    int r = catalogue_check(local ? name : bj_slice_str(bj_sentences[which]),
                            text, err);
    if (r == 0 && local)
        bj_locals_add(&c->locals, name, text);
    else if (r == 0)
        c->text[which] = bj_arena_copy(&c->arena, text);
    c->arena.failed |= clean.failed;
    bj_buf_free(&clean);
    return r;
}

int bj_catalogue_parse(struct bj_slice text, const char *name,
                       struct bj_catalogue *ret, struct bj_err *err)
{
    struct bj_slice line;
    struct bj_rules *rules = NULL;
    uint64_t number = 0;
    int r = bj_rules_text("", (struct bj_slice){0}, &rules, err);
    while (r == 0 && bj_slice_line(&text, &line)) {
        number++;
        line = bj_slice_trim(line);
        r = line.n == 0 || *line.p == '#'
                ? 0
                : catalogue_take_line(line, rules, ret, err);
        if (r < 0)
            bj_err_wrap(err, r, "%s:%" PRIu64, name, number);
    }
    bj_rules_free(rules);
    if (r < 0)
        return r;
    return ret->arena.failed || ret->locals.arena.failed
               ? bj_err_set(err, -ENOMEM, "report.texts")
               : 0;
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
    bj_locals_free(&c->locals);
}

/* Print a text only once, because several rules may have it. */
static void print_quoted(struct bj_buf *out, struct bj_locals *printed,
                         struct bj_slice s)
{
    if (s.n == 0 || bj_locals_has(printed, s))
        return;
    bj_locals_add(printed, s, s);
    bj_buf_printf(out, "\"%.*s\" = %.*s\n", (int)s.n, s.p, (int)s.n, s.p);
}

static void print_rules(struct bj_buf *out, struct bj_locals *printed)
{
    struct bj_rules *rules = NULL;
    struct bj_slice text, advice;
    if (bj_rules_text("", (struct bj_slice){0}, &rules, NULL) < 0) {
        out->failed = true;
        return;
    }
    bj_buf_str(out, "\n# Texts and advice of the built-in rules.\n");
    for (size_t i = 0; bj_rules_written(rules, i, &text, &advice); i++) {
        print_quoted(out, printed, text);
        print_quoted(out, printed, advice);
    }
    bj_rules_free(rules);
}

void bj_catalogue_print(struct bj_buf *out)
{
    char name[NAME_MOST];
    struct bj_locals printed = {.n = 0};
    bj_buf_str(out, "# Sentences of reports.  {1} to {5} are values with their "
                    "units.\n");
    for (unsigned i = 0; i < BJ_SENTENCE_COUNT; i++) {
        bj_buf_slice(out, catalogue_name_of(i, name));
        bj_buf_printf(out, " = %s\n", bj_sentences[i]);
    }
    bj_buf_str(out, "\n# Other texts of reports, pages and mails, named by "
                    "themselves.\n");
    for (const char *const *t = bj_local_texts; *t; t++)
        print_quoted(out, &printed, bj_slice_str(*t));
    print_rules(out, &printed);
    out->failed |= printed.arena.failed;
    bj_locals_free(&printed);
}

/* --- the store -------------------------------------------------------------
 */

static int write_row(struct bj_st *st, struct bj_slice name,
                     struct bj_slice text, struct bj_err *err)
{
    bj_st_bind_filled(st, 1, name);
    bj_st_bind_filled(st, 2, text);
    return bj_st_run(st, err);
}

/* Names of the numbers; no sentence is called so. */
#define MEMORY_MARGIN "number_memory_margin"
#define TIME_MARGIN "number_time_margin"
#define MEMORY_OF_CPU "number_memory_of_cpu"

static int write_number(struct bj_st *st, const char *name, int64_t v,
                        int64_t built_in, struct bj_err *err)
{
    char text[24];
    if (v == 0 || v == built_in)
        return 0;
    snprintf(text, sizeof(text), "%" PRId64, v);
    return write_row(st, bj_slice_str(name), bj_slice_str(text), err);
}

/* Levels that the rules have: "share" of the threshold. */
static const struct {
    const char *name, *rule, *fact;
    unsigned of, share; /* percent */
    size_t at;
} levels[] = {
#define LEVEL(of, which, share, rule, fact)                                    \
    {"number_level_" #of "_" #which,   rule, fact, BJ_LEVELS_##of, share,      \
     offsetof(struct bj_levels, which)},
    LEVEL(CPU, poor, 100, "cpu_very_low", "cpu_efficiency")
        LEVEL(CPU, fair, 100, "cpu_low", "cpu_efficiency")
            LEVEL(MEMORY, poor, 50, "memory_low", "mem_efficiency")
                LEVEL(MEMORY, fair, 100, "memory_low", "mem_efficiency") LEVEL(
                    MEMORY, full, 100, "running_memory_limit", "mem_efficiency")
                    LEVEL(GPU, poor, 100, "gpu_low", "gpu_efficiency")
                        LEVEL(TIME, poor, 100, "time_limit_far_too_long",
                              "time_efficiency")
                            LEVEL(TIME, fair, 100, "time_limit_too_long",
                                  "time_efficiency")
#undef LEVEL
};
enum { LEVELS = sizeof(levels) / sizeof(levels[0]) };

/* Those of the built-in rules, which test_levels compares with them, and those
 * without a rule: a fair use of GPUs, and the end of the time limit. */
static const struct bj_levels built_in[BJ_LEVELS_COUNT] = {
    [BJ_LEVELS_CPU] = {65000000, 80000000, BJ_LEVEL_OVER},
    [BJ_LEVELS_MEMORY] = {35000000, 70000000, 95000000},
    [BJ_LEVELS_GPU] = {25000000, 60000000, BJ_LEVEL_OVER},
    [BJ_LEVELS_TIME] = {10000000, 60000000, 95000000}};

static uint64_t *level_at(struct bj_levels *of, unsigned i)
{
    return (uint64_t *)(void *)((char *)&of[levels[i].of] + levels[i].at);
}

/* A threshold of a rule outside of 0 to 1000 % is not one of a level. */
static int write_levels(struct bj_st *st, const struct bj_rules *rules,
                        struct bj_err *err)
{
    struct bj_levels now[BJ_LEVELS_COUNT];
    char text[24];
    double v;
    int r = 0;
    memcpy(now, built_in, sizeof(now));
    for (unsigned i = 0; r == 0 && rules && i < LEVELS; i++) {
        if (!bj_rules_limit(rules, levels[i].rule, levels[i].fact, &v) ||
            !(v >= 0 && v <= 1000))
            continue;
        const uint64_t micro = (uint64_t)(v * levels[i].share * 1e4 + 0.5);
        if (micro == *level_at(now, i))
            continue;
        snprintf(text, sizeof(text), "%" PRIu64, micro);
        r = write_row(st, bj_slice_str(levels[i].name), bj_slice_str(text),
                      err);
    }
    return r;
}

int bj_catalogue_levels(struct bj_db *db, struct bj_levels ret[BJ_LEVELS_COUNT],
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    memcpy(ret, built_in, sizeof(built_in));
    int r = bj_db_prepare(db, "SELECT name, text FROM sentence", &st, err);
    while (r >= 0 && (r = bj_st_row(st, err)) > 0) {
        const struct bj_slice name = bj_st_get_text(st, 0);
        uint64_t v;
        for (unsigned i = 0; i < LEVELS; i++)
            if (bj_slice_eq(name, bj_slice_str(levels[i].name)) &&
                bj_slice_u64(bj_st_get_text(st, 1), &v) == 0)
                *level_at(ret, i) = v;
    }
    bj_st_finalize(st);
    /* A site may move a rule past the level above it. */
    for (unsigned i = 0; i < BJ_LEVELS_COUNT; i++)
        if (ret[i].fair < ret[i].poor)
            ret[i].fair = ret[i].poor;
    return r;
}

static int catalogue_write_rows(struct bj_db *db, const struct bj_catalogue *c,
                                struct bj_err *err)
{
    struct bj_st *st = NULL;
    char name[NAME_MOST];
    int r = bj_db_exec(db, "DELETE FROM sentence", err);
    if (r == 0)
        r = bj_db_prepare(db, "INSERT INTO sentence(name, text) VALUES(?1, ?2)",
                          &st, err);
    for (unsigned i = 0; r == 0 && i < BJ_SENTENCE_COUNT; i++)
        if (c->text[i].p)
            r = write_row(st, catalogue_name_of(i, name), c->text[i], err);
    for (size_t i = 0; r == 0 && i < c->locals.n; i++) {
        struct bj_buf quoted = {0};
        bj_buf_printf(&quoted, "\"%s\"", c->locals.text[i].english.p);
        r = quoted.failed
                ? bj_err_set(err, -ENOMEM, "texts")
                : write_row(st, (struct bj_slice){quoted.p, quoted.len},
                            c->locals.text[i].text, err);
        bj_buf_free(&quoted);
    }
    if (r == 0)
        r = write_number(st, MEMORY_MARGIN, c->memory_margin,
                         BJ_REPORT_MEMORY_MARGIN, err);
    if (r == 0)
        r = write_number(st, TIME_MARGIN, c->time_margin, BJ_REPORT_TIME_MARGIN,
                         err);
    if (r == 0)
        r = write_number(st, MEMORY_OF_CPU, c->memory_of_cpu, 0, err);
    if (r == 0)
        r = write_levels(st, c->rules, err);
    bj_st_finalize(st);
    return r;
}

int bj_catalogue_write(struct bj_store *s, const struct bj_catalogue *c,
                       struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = catalogue_write_rows(bj_store_db(s), c, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

static void use_number(struct bj_report *r, struct bj_slice name,
                       struct bj_slice text)
{
    const struct {
        const char *name;
        int64_t *to;
    } numbers[] = {{MEMORY_MARGIN, &r->next.memory_margin},
                   {TIME_MARGIN, &r->next.time_margin},
                   {MEMORY_OF_CPU, &r->memory_of_cpu}};
    uint64_t v;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        if (bj_slice_eq(name, bj_slice_str(numbers[i].name)) &&
            bj_slice_u64(text, &v) == 0 && v <= INT64_MAX)
            *numbers[i].to = (int64_t)v;
}

/* Texts of another release, whose values differ, are ignored. */
int bj_catalogue_use(struct bj_db *db, struct bj_report *r, struct bj_err *err)
{
    struct bj_st *st = NULL;
    int code = bj_db_prepare(db, "SELECT name, text FROM sentence", &st, err);
    r->next.memory_margin = BJ_REPORT_MEMORY_MARGIN;
    r->next.time_margin = BJ_REPORT_TIME_MARGIN;
    while (code >= 0 && (code = bj_st_row(st, err)) > 0) {
        const struct bj_slice name = bj_st_get_text(st, 0);
        const struct bj_slice text = bj_st_get_text(st, 1);
        const unsigned which = catalogue_find(name);
        use_number(r, name, text);
        if (which < BJ_SENTENCE_COUNT &&
            catalogue_check(bj_slice_str(bj_sentences[which]), text, NULL) == 0)
            r->sentence[which] = bj_arena_copy(&r->arena, text);
    }
    bj_st_finalize(st);
    return code;
}

int bj_catalogue_locals(struct bj_db *db, struct bj_locals *ret,
                        struct bj_err *err)
{
    struct bj_st *st = NULL;
    int code = bj_db_prepare(db, "SELECT name, text FROM sentence", &st, err);
    while (code >= 0 && (code = bj_st_row(st, err)) > 0) {
        struct bj_slice name = bj_st_get_text(st, 0);
        const struct bj_slice text = bj_st_get_text(st, 1);
        if (take_quotes(name, &name) && catalogue_check(name, text, NULL) == 0)
            bj_locals_add(ret, name, text);
    }
    bj_st_finalize(st);
    return code == 0 && ret->arena.failed ? bj_err_set(err, -ENOMEM, "texts")
                                          : code;
}
