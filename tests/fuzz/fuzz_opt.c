/* Options from YAML, single values and command lines: an error message has no
 * control characters, accepted values are within their limits, and all memory
 * is freed.  The first byte chooses the reader. */
#include "base/opt.h"
#include "base/opt_value.h"
#include "tests/fuzz/fuzz.h"

struct conf {
    bool flag;
    uint64_t jobs, timeout, size;
    char *proc, *level;
    struct bj_strv files, listen;
};

#define AT(type, member)                                                       \
    .kind = BJ_OPT_##type, .off = offsetof(struct conf, member)

static const struct bj_opt opts[] = {
    {.name = "web.fast", AT(BOOL, flag), .preset = "true"},
    {.name = "max-jobs", AT(U64, jobs), .lo = 1, .hi = 65536, .preset = "9"},
    {.name = "web.timeout",
     AT(DURATION, timeout),
     .lo = 1000,
     .hi = 3600000000,
     .preset = "15s"},
    {.name = "web.size",
     AT(SIZE, size),
     .lo = 1024,
     .hi = 1 << 30,
     .preset = "64K"},
    {.name = "path.procfs", AT(STR, proc), .preset = "/proc"},
    {.name = "log.level",
     AT(STR, level),
     .preset = "info",
     .choices = "error|warn|info|debug"},
    {.name = "job-files", AT(LIST, files)},
    {.name = "web.listen", AT(LIST, listen), .preset = ":1,:2"},
    {0},
};

static void must_be_good(const struct conf *c)
{
    MUST(c->jobs >= 1 && c->jobs <= 65536);
    MUST(c->timeout >= 1000 && c->timeout <= 3600000000);
    MUST(c->size >= 1024 && c->size <= 1 << 30);
    MUST(c->proc);
    MUST(strcmp(c->level, "error") == 0 || strcmp(c->level, "warn") == 0 ||
         strcmp(c->level, "info") == 0 || strcmp(c->level, "debug") == 0);
    MUST(c->files.n <= BJ_OPT_LIST_MAX && c->listen.n <= BJ_OPT_LIST_MAX);
    for (size_t i = 0; i < c->files.n; i++)
        MUST(c->files.v[i][0]);
    for (size_t i = 0; i < c->listen.n; i++)
        MUST(c->listen.v[i][0]);
}

static void must_explain(const struct bj_err *err, int r)
{
    MUST(r == -ENOENT || r == -EINVAL || r == -ERANGE);
    MUST(err->code == r && err->msg[0]);
    MUST(memchr(err->msg, '\0', sizeof(err->msg)));
    for (const char *p = err->msg; *p; p++)
        MUST((unsigned char)*p >= 0x20 && *p != 0x7f);
}

/* "name=value" */
static int set_value(const struct bj_optset *set, struct bj_slice in,
                     struct bj_err *err)
{
    struct bj_slice name;
    if (!bj_slice_field(&in, '=', &name))
        return 0;
    return bj_opt_set(set, 1, name, in, err);
}

/* Each line is an argument. */
static int set_argv(const struct bj_optset *set, struct bj_slice in,
                    struct bj_err *err)
{
    enum { ARGS = 20 };
    char *argv[ARGS] = {strdup("p")};
    int argc = 1;
    struct bj_slice line;
    while (argc < ARGS && bj_slice_line(&in, &line))
        MUST((argv[argc++] = strndup(line.n ? line.p : "", line.n)));
    int r = bj_opt_argv(set, 1, argc, argv, err);
    while (argc > 0)
        free(argv[--argc]);
    return r;
}

/* An amount that is parsed, written and parsed again is the same. */
static void amounts(struct bj_slice in)
{
    char text[BJ_AMOUNT_MAX];
    uint64_t v, back;
    if (bj_duration_parse(in, &v) == 0)
        MUST(bj_duration_parse(bj_slice_str(bj_duration_text(v, text)),
                               &back) == 0 &&
             back == v);
    if (bj_size_parse(in, &v) == 0)
        MUST(bj_size_parse(bj_slice_str(bj_size_text(v, text)), &back) == 0 &&
             back == v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    char *mem;
    struct bj_slice in = fuzz_exact(data + 1, size - 1, &mem);
    struct conf c = {0};
    struct bj_optset set = {opts, &c};
    struct bj_err err = {0};
    int r;
    MUST(bj_opt_presets(&set, NULL) == 0);
    if (data[0] == 'v')
        r = set_value(&set, in, &err);
    else if (data[0] == 'a')
        r = set_argv(&set, in, &err);
    else
        r = bj_opt_yaml_text(&set, 1, "f", in, &err);
    if (r < 0)
        must_explain(&err, r);
    MUST(bj_opt_finish(&set, NULL) == 0);
    must_be_good(&c);
    amounts(in);
    bj_opt_free(&set);
    free(mem);
    return 0;
}
