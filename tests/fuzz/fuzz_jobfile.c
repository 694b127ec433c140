/* core/find/jobfile.c: values taken from any file lie inside it, a uid is a
 * number, and an identity can be made from them. */
#include "core/find/jobfile.h"
#include "core/model/record.h"
#include "tests/fuzz/fuzz.h"

static void must_lie_in(struct bj_slice s, struct bj_slice text)
{
    MUST(s.n <= text.n);
    MUST(s.n == 0 || (s.p >= text.p && s.p + s.n <= text.p + text.n));
}

static void check(const struct bj_jobfile *file, struct bj_slice text)
{
    struct bj_conf conf = {.label_user = true, .label_account = true};
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        must_lie_in(file->f[i], text);
    uint64_t uid;
    struct bj_slice u = file->f[BJ_ID_UID];
    MUST(u.n == 0 || (bj_slice_u64(u, &uid) == 0 && uid < UINT32_MAX));
    MUST(bj_jobfile_check(file, file->f, NULL) == 0);
    struct bj_ident *id = bj_ident_new(file->f, &conf);
    MUST(id && strlen(id->labels.p) == id->labels.n);
    MUST(!memchr(id->labels.p, '\n', id->labels.n));
    bj_ident_unref(id);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *mem;
    struct bj_slice text = fuzz_exact(data, size, &mem);
    struct bj_jobfile file = {.number = {.start_sec = 7}};
    struct bj_err err = {0};
    int r = bj_jobfile_parse(mem, size, &file, &err);
    MUST(r == 0 || (r == -EINVAL && err.msg[0] && file.number.start_sec == 7));
    if (r == 0)
        check(&file, text);
    free(mem);
    return 0;
}
