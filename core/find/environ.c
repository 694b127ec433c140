#include "core/find/environ.h"

#include <stdio.h>

/* Uses of a variable other than a field of the identity. */
enum {
    STEP = BJ_ID_FIELDS, /* not negative: the environment of a step */
    BATCH,               /* "BATCH": below a batch script */
    NODELIST,
    LAST
};

#define S(lit)                                                                 \
    {                                                                          \
        "" lit, sizeof(lit) - 1                                                \
    }

/* Of several rows for one field, the first that has a value counts. */
static const struct row {
    const char *system;
    struct bj_slice variable;
    int what;
} rows[] = {
    {"slurm", S("SLURM_JOB_ID"), BJ_ID_JOBID},
    {"slurm", S("SLURM_JOBID"), BJ_ID_JOBID},
    {"slurm", S("SLURM_JOB_ACCOUNT"), BJ_ID_ACCOUNT},
    {"slurm", S("SLURM_JOB_PARTITION"), BJ_ID_PARTITION},
    {"slurm", S("SLURM_JOB_QOS"), BJ_ID_QOS},
    {"slurm", S("SLURM_JOB_NAME"), BJ_ID_NAME},
    {"slurm", S("SLURM_JOB_SLUID"), BJ_ID_SLUID},
    {"slurm", S("SLURM_ARRAY_JOB_ID"), BJ_ID_ARRAY_JOB},
    {"slurm", S("SLURM_ARRAY_TASK_ID"), BJ_ID_ARRAY_TASK},
    {"slurm", S("SLURM_JOB_NODELIST"), NODELIST},
    {"slurm", S("SLURM_STEP_ID"), STEP},
    {"slurm", S("ENVIRONMENT"), BATCH},
    {"pbs", S("PBS_JOBID"), BJ_ID_JOBID},
    {"pbs", S("PBS_ACCOUNT"), BJ_ID_ACCOUNT},
    {"pbs", S("PBS_QUEUE"), BJ_ID_PARTITION},
    {"pbs", S("PBS_JOBNAME"), BJ_ID_NAME},
    {"pbs", S("PBS_ARRAY_ID"), BJ_ID_ARRAY_JOB},
    {"pbs", S("PBS_ARRAY_INDEX"), BJ_ID_ARRAY_TASK},
    {"lsf", S("LSB_JOBID"), BJ_ID_JOBID},
    {"lsf", S("LSB_PROJECT_NAME"), BJ_ID_ACCOUNT},
    {"lsf", S("LSB_QUEUE"), BJ_ID_PARTITION},
    {"lsf", S("LSB_JOBNAME"), BJ_ID_NAME},
    {"lsf", S("LSB_JOBID"), BJ_ID_ARRAY_JOB},
    {"lsf", S("LSB_JOBINDEX"), BJ_ID_ARRAY_TASK},
    {"oar", S("OAR_JOB_ID"), BJ_ID_JOBID},
    {"oar", S("OAR_JOBID"), BJ_ID_JOBID},
    {"oar", S("OAR_PROJECT_NAME"), BJ_ID_ACCOUNT},
    {"oar", S("OAR_JOB_NAME"), BJ_ID_NAME},
    {"oar", S("OAR_ARRAY_ID"), BJ_ID_ARRAY_JOB},
    {"oar", S("OAR_ARRAY_INDEX"), BJ_ID_ARRAY_TASK},
    {"gridengine", S("JOB_ID"), BJ_ID_JOBID},
    {"gridengine", S("SGE_ACCOUNT"), BJ_ID_ACCOUNT},
    {"gridengine", S("QUEUE"), BJ_ID_PARTITION},
    {"gridengine", S("JOB_NAME"), BJ_ID_NAME},
    {"gridengine", S("JOB_ID"), BJ_ID_ARRAY_JOB},
    {"gridengine", S("SGE_TASK_ID"), BJ_ID_ARRAY_TASK},
    {"flux", S("FLUX_JOB_ID"), BJ_ID_JOBID},
};
enum { NROWS = sizeof(rows) / sizeof(rows[0]) };

/* Split NAME=VALUE; false if it has another form. */
static bool environ_split(struct bj_slice entry, struct bj_slice *name,
                          struct bj_slice *value)
{
    const char *eq = entry.n > 0 ? memchr(entry.p, '=', entry.n) : NULL;
    if (!eq)
        return false;
    *name = (struct bj_slice){entry.p, (size_t)(eq - entry.p)};
    *value = (struct bj_slice){eq + 1, entry.n - name->n - 1};
    return true;
}

bool bj_environ_get(struct bj_slice env, struct bj_slice name,
                    struct bj_slice *ret)
{
    struct bj_slice entry, n, v;
    while (bj_slice_field(&env, '\0', &entry))
        if (environ_split(entry, &n, &v) && bj_slice_eq(n, name)) {
            *ret = v;
            return true;
        }
    return false;
}

/* Whether a value is one that batch systems write for "none". */
static bool is_none(struct bj_slice v)
{
    return v.n == 0 || bj_slice_eq(v, BJ_SLICE("(null)")) ||
           bj_slice_eq(v, BJ_SLICE("undefined"));
}

/* Collect the values of all rows in one go, since an environment may have a
 * hundred thousand variables. */
static void environ_collect(struct bj_slice env, struct bj_slice v[NROWS])
{
    bool seen[NROWS] = {false};
    struct bj_slice entry, name, value;
    while (bj_slice_field(&env, '\0', &entry)) {
        if (!environ_split(entry, &name, &value))
            continue;
        for (int i = 0; i < NROWS; i++)
            if (!seen[i] && bj_slice_eq(name, rows[i].variable)) {
                seen[i] = true;
                v[i] = is_none(value) ? (struct bj_slice){0} : value;
            }
    }
}

static bool of_system(const struct row *row, const char *system)
{
    return strcmp(row->system, system) == 0;
}

/* The value of the first row of that kind. */
static struct bj_slice environ_pick(const struct bj_slice v[NROWS],
                                    const char *system, int what)
{
    for (int i = 0; i < NROWS; i++)
        if (rows[i].what == what && of_system(&rows[i], system) && v[i].n > 0)
            return v[i];
    return (struct bj_slice){0};
}

static bool is_number(struct bj_slice s)
{
    uint64_t v;
    return bj_slice_u64(s, &v) == 0;
}

/* "17[3]" and "17[3].server" are elements of 17: LSF's variable has no index.
 */
static bool same_id(struct bj_slice is, struct bj_slice want)
{
    if (want.n == 0)
        return is_number(is);
    return bj_slice_eq(is, want) ||
           (bj_slice_starts(want, is) && want.p[is.n] == '[');
}

/* Het components, old and new spelling. */
static const struct bj_slice group_id[] = {S("SLURM_JOB_ID_HET_GROUP_"),
                                           S("SLURM_JOB_ID_PACK_GROUP_")};
static const char *const group_suffix[] = {"HET_GROUP_", "PACK_GROUP_"};

/* Find the component with that id.  *ret_spelling is the spelling of the
 * variables. */
static bool group_find(struct bj_slice env, struct bj_slice jobid,
                       struct bj_slice *ret_offset, size_t *ret_spelling)
{
    struct bj_slice entry, name, value;
    while (jobid.n > 0 && bj_slice_field(&env, '\0', &entry)) {
        if (!environ_split(entry, &name, &value) || !bj_slice_eq(value, jobid))
            continue;
        for (size_t s = 0; s < 2; s++) {
            if (!bj_slice_starts(name, group_id[s]))
                continue;
            *ret_spelling = s;
            ret_offset->p = name.p + group_id[s].n;
            ret_offset->n = name.n - group_id[s].n;
            if (ret_offset->n <= 4 && is_number(*ret_offset))
                return true;
        }
    }
    return false;
}

/* The value of VARIABLE_HET_GROUP_n, if there is one. */
static struct bj_slice group_value(struct bj_slice env, struct bj_slice var,
                                   size_t spelling, struct bj_slice offset)
{
    char name[96];
    int n = snprintf(name, sizeof(name), "%.*s_%s%.*s", (int)var.n, var.p,
                     group_suffix[spelling], (int)offset.n, offset.p);
    struct bj_slice v = {0};
    if (n > 0 && (size_t)n < sizeof(name) &&
        bj_environ_get(env, (struct bj_slice){name, (size_t)n}, &v) &&
        !is_none(v))
        return v;
    return (struct bj_slice){0};
}

/* Set the fields of the component itself.  The offset is known to be short. */
static void group_fields(struct bj_slice env, size_t spelling,
                         struct bj_slice offset, struct bj_environ *ret)
{
    static const struct bj_slice id = S("SLURM_JOB_ID");
    for (int i = 0; i < NROWS; i++) {
        int f = rows[i].what;
        if (!of_system(&rows[i], "slurm") || f >= BJ_ID_FIELDS ||
            f == BJ_ID_JOBID)
            continue;
        struct bj_slice v =
            group_value(env, rows[i].variable, spelling, offset);
        if (v.n > 0)
            ret->f[f] = v;
    }
    ret->f[BJ_ID_HET_JOB] =
        group_value(env, id, spelling, (struct bj_slice)S("0"));
    ret->f[BJ_ID_HET_OFFSET] = offset;
}

/* An index without an array, LSF's index 0, and OAR's index 1 mean "not an
 * array task": OAR gives every job an array, so that the first task of an array
 * looks like a job of its own.  The id of PBS's array, "12[].server", is its
 * number, as in the accounting. */
static void check_array(struct bj_slice f[BJ_ID_FIELDS])
{
    static const struct {
        struct bj_slice system, task;
    } single[] = {{S("lsf"), S("0")}, {S("oar"), S("1")}};
    struct bj_slice *const array = &f[BJ_ID_ARRAY_JOB];
    bool is_task = array->n > 0 && f[BJ_ID_ARRAY_TASK].n > 0;
    for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++)
        is_task =
            is_task && !(bj_slice_eq(f[BJ_ID_SYSTEM], single[i].system) &&
                         bj_slice_eq(f[BJ_ID_ARRAY_TASK], single[i].task));
    const char *bracket = is_task ? memchr(array->p, '[', array->n) : NULL;
    if (!is_task)
        *array = f[BJ_ID_ARRAY_TASK] = (struct bj_slice){0};
    else if (bracket && bj_slice_eq(f[BJ_ID_SYSTEM], BJ_SLICE("pbs")))
        array->n = (size_t)(bracket - array->p);
}

/* A batch script has the step id -5 from Slurm 26.05 on, none before. */
static bool is_step(struct bj_slice id)
{
    return id.n > 0 && id.p[0] != '-';
}

static bool try_system(struct bj_slice env, const struct bj_slice v[NROWS],
                       const char *system, struct bj_slice jobid,
                       struct bj_environ *ret)
{
    struct bj_environ e = {0};
    struct bj_slice offset = {0};
    size_t spelling = 0;
    bool group = strcmp(system, "slurm") == 0 &&
                 group_find(env, jobid, &offset, &spelling);
    struct bj_slice id = environ_pick(v, system, BJ_ID_JOBID);
    if (!group && (id.n == 0 || !same_id(id, jobid)))
        return false;
    for (int f = 0; f < BJ_ID_FIELDS; f++)
        e.f[f] = environ_pick(v, system, f);
    e.f[BJ_ID_SYSTEM] = bj_slice_str(system);
    e.step = is_step(environ_pick(v, system, STEP));
    /* srun -J replaces the name of the job by that of the step. */
    if (e.step &&
        bj_slice_eq(environ_pick(v, system, BATCH), BJ_SLICE("BATCH")))
        e.f[BJ_ID_NAME] = (struct bj_slice){0};
    check_array(e.f);
    if (group)
        group_fields(env, spelling, offset, &e);
    else
        e.nodelist = environ_pick(v, system, NODELIST);
    e.f[BJ_ID_JOBID] = jobid.n > 0 ? jobid : id;
    *ret = e;
    return true;
}

bool bj_environ_knows(struct bj_slice system)
{
    for (int i = 0; i < NROWS; i++)
        if (bj_slice_eq(bj_slice_str(rows[i].system), system))
            return true;
    return false;
}

bool bj_environ_gives(struct bj_slice system, enum bj_ident_field field)
{
    for (int i = 0; i < NROWS; i++)
        if (rows[i].what == (int)field &&
            bj_slice_eq(bj_slice_str(rows[i].system), system))
            return true;
    return false;
}

bool bj_environ_job(struct bj_slice env, struct bj_slice system,
                    struct bj_slice jobid, struct bj_environ *ret)
{
    struct bj_slice v[NROWS] = {{0}};
    environ_collect(env, v);
    bool any = !bj_environ_knows(system);
    const char *last = "";
    for (int i = 0; i < NROWS; i++) {
        const char *s = rows[i].system;
        if (strcmp(s, last) == 0)
            continue;
        last = s;
        if ((any || bj_slice_eq(bj_slice_str(s), system)) &&
            try_system(env, v, s, jobid, ret))
            return true;
    }
    return false;
}
