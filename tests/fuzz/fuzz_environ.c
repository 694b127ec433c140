/* core/find/environ.c and HTCondor's job ad: an environment is used for a job
 * only if it names the job, and the values taken from it lie inside it. */
#include "core/find/environ.h"
#include "core/find/ident_find.h"
#include "tests/fuzz/fuzz.h"

static const char *const systems[] = {"slurm", "pbs",        "lsf",  "oar",
                                      "flux",  "gridengine", "mine", ""};

static bool lies_in(struct bj_slice s, struct bj_slice text)
{
    return s.n <= text.n && s.p >= text.p && s.p + s.n <= text.p + text.n;
}

/* Does a variable have the id, or the id up to its index, as value?  Does not
 * use the code under test. */
static bool names(struct bj_slice env, struct bj_slice id)
{
    size_t base = 0;
    while (base < id.n && id.p[base] != '[')
        base++;
    for (size_t i = 0; i < env.n; i++) {
        size_t left = env.n - i - 1;
        if (env.p[i] != '=')
            continue;
        for (int whole = 0; whole < 2; whole++) {
            size_t n = whole ? id.n : base;
            if (left >= n && (n == 0 || !memcmp(env.p + i + 1, id.p, n)) &&
                (left == n || env.p[i + 1 + n] == '\0'))
                return true;
        }
    }
    return false;
}

static void one(struct bj_slice env, struct bj_slice system, struct bj_slice id)
{
    struct bj_environ e;
    if (!bj_environ_job(env, system, id, &e))
        return;
    MUST(id.n == 0 || bj_slice_eq(e.f[BJ_ID_JOBID], id));
    MUST(names(env, e.f[BJ_ID_JOBID]));
    MUST(e.f[BJ_ID_UID].n == 0 && e.f[BJ_ID_USER].n == 0);
    for (int i = 0; i < BJ_ID_FIELDS; i++)
        MUST(e.f[i].n == 0 || i == BJ_ID_SYSTEM || i == BJ_ID_JOBID ||
             lies_in(e.f[i], env));
}

static void ad(struct bj_slice text)
{
    char id[48];
    struct bj_slice f[BJ_ID_FIELDS] = {{0}};
    if (bj_condor_parse(text, id, sizeof(id), f) < 0)
        return;
    MUST(f[BJ_ID_JOBID].p == id && strlen(id) == f[BJ_ID_JOBID].n);
    MUST(strspn(id, "0123456789.") == f[BJ_ID_JOBID].n);
    MUST(f[BJ_ID_ACCOUNT].n == 0 || lies_in(f[BJ_ID_ACCOUNT], text));
    MUST(f[BJ_ID_NAME].n == 0 || lies_in(f[BJ_ID_NAME], text));
}

/* The input: number of the batch system, length of the id, the id, the
 * environment. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    const char *system = systems[data[0] % 8];
    size_t n = data[1] % 16;
    if (n > size - 2)
        n = size - 2;
    char *id_mem, *env_mem;
    struct bj_slice id = fuzz_exact(data + 2, n, &id_mem);
    struct bj_slice env = fuzz_exact(data + 2 + n, size - 2 - n, &env_mem);
    one(env, bj_slice_str(system), id);
    ad(env);
    free(id_mem);
    free(env_mem);
    return 0;
}
