#include "tests/unit/lib/meter.h"

#include "base/absent.h"
#include "base/file.h"
#include "tests/unit/lib/core.h"

#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static char root[64];

static void plant(struct bj_slice path, struct bj_slice text, bool link)
{
    char rel[512], full[600], what[256];
    snprintf(rel, sizeof(rel), "%.*s", (int)path.n, path.p);
    char *slash = strrchr(rel, '/');
    if (slash) {
        *slash = '\0';
        tmp_dir(rel);
        *slash = '/';
    }
    snprintf(what, sizeof(what), "%.*s%s", (int)text.n, text.n ? text.p : "",
             link ? "" : "\n");
    snprintf(full, sizeof(full), "%s/%s", root, rel);
    if (link)
        assert_int_equal(symlink(what, full), 0);
    else
        tmp_file(rel, what);
}

void meter_add_files(const char *lines)
{
    struct bj_slice rest = bj_slice_str(lines), line, path;
    const struct bj_slice arrow = BJ_SLICE("-> ");
    while (bj_slice_line(&rest, &line)) {
        if (line.n == 0 || line.p[0] == '#')
            continue;
        bool any = bj_slice_field(&line, ' ', &path);
        assert_true(any);
        bool link = bj_slice_starts(line, arrow);
        if (link)
            line = (struct bj_slice){line.p + arrow.n, line.n - arrow.n};
        plant(path, line, link);
    }
}

static void grow_file(const char *tree)
{
    char path[256];
    static char text[65536];
    struct bj_slice all;
    struct bj_err err = {0};
    snprintf(path, sizeof(path), "tests/fixtures/energy/%s.tree", tree);
    if (bj_file_read_all(AT_FDCWD, path, text, sizeof(text) - 1, &all, &err) <
        0)
        fail_msg("%s", err.msg);
    text[all.n] = '\0';
    meter_add_files(text);
}

void meter_setup(struct meter_rig *r, const char *tree)
{
    memset(r, 0, sizeof(*r));
    snprintf(root, sizeof(root), "%s", tmp_make());
    r->env = (struct bj_meter_env){.conf = &r->conf,
                                   .procfs = "/proc",
                                   .sysfs = root,
                                   .devfs = "/dev",
                                   .stop = &r->stop};
    if (tree)
        grow_file(tree);
}

static void shut(struct meter_rig *r)
{
    if (r->meter)
        r->kind->close(r->meter);
    r->meter = NULL;
}

void meter_cleanup(struct meter_rig *r)
{
    shut(r);
    tmp_gone();
}

int meter_open(struct meter_rig *r, const struct bj_meter_kind *kind)
{
    shut(r);
    r->kind = kind;
    r->err = (struct bj_err){0};
    int code = kind->open(&r->env, &r->meter, &r->err);
    assert_int_equal(code < 0, r->meter == NULL);
    assert_int_equal(r->err.code, code);
    return code;
}

static void names_are_good(const struct bj_meter_sample *s)
{
    for (size_t i = 0; i < s->n; i++) {
        const char *name = s->zone[i].name;
        assert_true(*name && memchr(name, '\0', BJ_ZONE_NAME));
        assert_int_equal(
            strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_.-"),
            strlen(name));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(name, s->zone[k].name);
    }
}

int meter_read(struct meter_rig *r)
{
    memset(&r->sample, 0, sizeof(r->sample));
    r->err = (struct bj_err){0};
    int code = r->kind->read(r->meter, &r->sample, &r->err);
    assert_int_equal(r->err.code, code);
    assert_int_equal(code < 0, r->err.msg[0] != '\0');
    names_are_good(&r->sample);
    return code;
}

static size_t put(char *at, size_t cap, char key, uint64_t v)
{
    if (v == BJ_ABSENT)
        return 0;
    return (size_t)snprintf(at, cap, " %c=%" PRIu64, key, v);
}

const char *meter_text(struct meter_rig *r)
{
    static const char *const roles[BJ_ZONE_ROLES] = {
        "cpu", "dram", "gpu", "node", "platform", "part"};
    size_t n = 0, cap = sizeof(r->text);
    r->text[0] = '\0';
    for (size_t i = 0; i < r->sample.n; i++) {
        const struct bj_zone_sample *z = &r->sample.zone[i];
        n += (size_t)snprintf(r->text + n, cap - n, "%s %s", z->name,
                              roles[z->role]);
        n += put(r->text + n, cap - n, 'e', z->energy_uj);
        n += put(r->text + n, cap - n, 'r', z->range_uj);
        n += put(r->text + n, cap - n, 'p', z->power_uw);
        n += put(r->text + n, cap - n, 'l', z->limit_uw);
        n += put(r->text + n, cap - n, 'm', z->max_uw);
        n += (size_t)snprintf(r->text + n, cap - n, "\n");
    }
    return r->text;
}

void meter_expect(struct meter_rig *r, int want, const char *text)
{
    int code = meter_read(r);
    if (code != want)
        print_message("# %s\n", r->err.msg);
    assert_int_equal(code, want);
    assert_string_equal(meter_text(r), text);
}

void meter_write(const char *path, const char *text)
{
    tmp_file(path, text);
}
