#include "statsdb/record/record.h"

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"
#include "sched/final_record.h"
#include "statsdb/tables/dict.h"
#include "statsdb/tables/fragment.h"
#include "statsdb/tables/job_number.h"
#include "statsdb/tables/record_month.h"
#include "statsdb/tables/record_rows.h"
#include "store/db.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    BJ_RECORD_HOST,
    BJ_RECORD_HOST_ADD,
    BJ_RECORD_CLUSTER,
    BJ_RECORD_STATEMENTS
};

struct bj_records {
    struct bj_store *store;
    struct bj_dicts *dicts;
    struct bj_arena arena; /* per record */
    char cluster[256];     /* name and batch system of the last cluster */
    size_t cluster_bytes;
    int64_t cluster_id;
    bool follow;              /* are numbers computed from records? */
    struct bj_record_key key; /* of the record that is stored */
    struct bj_record_months months;
    struct bj_record_rows *rows;
    struct bj_st *st[BJ_RECORD_STATEMENTS];
    struct bj_st *add[BJ_MONTHS];
    char text[BJ_RECORD_BYTES];
};

/* Names of files, as offsets into one text. */
struct names {
    struct bj_buf text;
    unsigned n;
};

static bool is_record_name(const char *name)
{
    size_t n = strlen(name);
    return name[0] != '.' && n > 5 && strcmp(name + n - 5, ".json") == 0;
}

/* List the names first: files that appear meanwhile wait for the next import.
 */
static int record_list(int fd, unsigned max, struct names *names,
                       const char *dir, struct bj_err *err)
{
    int copy = dup(fd);
    DIR *d = copy < 0 ? NULL : fdopendir(copy);
    if (!d) {
        int e = -errno;
        if (copy >= 0)
            close(copy);
        e = bj_err_set(err, e, "%s", dir);
        return bj_store_other_error(err, e);
    }
    const struct dirent *entry;
    while (names->n < max && (entry = readdir(d)) != NULL) {
        if (!is_record_name(entry->d_name))
            continue;
        bj_buf_put(&names->text, entry->d_name, strlen(entry->d_name) + 1);
        names->n++;
    }
    closedir(d);
    return names->text.failed ? bj_err_set(err, -ENOMEM, "%s", dir) : 0;
}

/* Rename the file, so that an administrator can examine it. */
static int set_aside(int fd, const char *name, struct bj_err *err)
{
    char to[NAME_MAX + 1];
    snprintf(to, sizeof(to), "%.*s.bad", NAME_MAX - 4, name);
    if (renameat(fd, name, fd, to) == 0 || errno == ENOENT)
        return 0;
    int e = bj_err_set(err, -errno, "rename %s", name);
    return bj_store_other_error(err, e);
}

static int remove_all(int fd, const struct names *names,
                      const unsigned char *done, struct bj_err *err)
{
    const char *name = names->text.p;
    for (unsigned i = 0; i < names->n; i++) {
        if (done[i] && unlinkat(fd, name, 0) < 0 && errno != ENOENT) {
            int e = bj_err_set(err, -errno, "remove %s", name);
            return bj_store_other_error(err, e);
        }
        name += strlen(name) + 1;
    }
    return 0;
}

/* Is it an error of one file?  A file that cannot be opened (EACCES) usually
 * means that the program is in the wrong group for the whole spool. */
static bool of_file(int e)
{
    return e == -EINVAL || e == -EPERM || e == -EFBIG || e == -ELOOP ||
           e == -ENXIO;
}

/* Import one file: 1 remove it after the commit, 0 keep it, or an error that
 * ends the import. */
static int import_file(struct bj_records *r, int fd, const char *name,
                       struct bj_slice cluster, struct bj_records_counts *n,
                       struct bj_err *ret_why, struct bj_err *err)
{
    struct bj_slice text;
    struct bj_err why = {0};
    int e =
        bj_file_read_spooled(fd, name, r->text, sizeof(r->text), &text, &why);
    if (e == -ENOENT)
        return 0;
    e = bj_store_other_error(&why, e);
    if (e == 0)
        e = bj_record_put(r, cluster, name, text, &why);
    if (e == 0) {
        n->taken++;
        return 1;
    }
    if (!of_file(e)) {
        if (err)
            *err = why;
        return e;
    }
    if (n->bad++ == 0 && ret_why)
        *ret_why = why;
    return set_aside(fd, name, err);
}

static int take_all(struct bj_records *r, int fd, const struct names *names,
                    struct bj_slice cluster, struct bj_records_counts *n,
                    struct bj_err *ret_why, struct bj_err *err)
{
    const char *name = names->text.p;
    unsigned char *done = calloc(names->n, 1);
    int e =
        done ? bj_records_begin(r, err) : bj_err_set(err, -ENOMEM, "records");
    for (unsigned i = 0; e >= 0 && i < names->n; i++) {
        e = import_file(r, fd, name, cluster, n, ret_why, err);
        done[i] = e > 0;
        name += strlen(name) + 1;
    }
    if (e >= 0)
        e = bj_records_commit(r, err);
    if (e < 0)
        bj_records_rollback(r);
    if (e == 0)
        e = remove_all(fd, names, done, err);
    free(done);
    return e;
}

int bj_records_collect(struct bj_records *r, struct bj_slice cluster,
                       const char *dir, unsigned max_files,
                       struct bj_records_counts *ret, struct bj_err *ret_why,
                       struct bj_err *err)
{
    struct names names = {0};
    *ret = (struct bj_records_counts){0};
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, dir);
    if (fd < 0) {
        int e = bj_file_fail(err, fd, "", AT_FDCWD, dir, R_OK | X_OK);
        return bj_store_other_error(err, e);
    }
    int e = record_list(fd, max_files, &names, dir, err);
    if (e == 0 && names.n > 0)
        e = take_all(r, fd, &names, cluster, ret, ret_why, err);
    bj_buf_free(&names.text);
    return e < 0 ? e : (int)names.n;
}

/* Fields with a column of the same name; those of the key come first. */
enum kind {
    CLUSTER,
    ID,
    HOST,
    SLURM_NODE,
    START,
    COUNT,
    FLAG,
    HELD_FLAG, /* false where a record of held memory does not have it */
    WORD,
    NAME,
    ACCOUNT,
    DOUBTS, /* an array of names of BJ_GPU_DOUBTS */
    TIMES   /* an object: name to CPU time */
};

static const struct {
    const char *field, *column;
    enum kind kind;
} fields[] = {
    {"cluster", "cluster", CLUSTER},
    {"jobid", "jobid", ID},
    {"host", "host", HOST},
    {"slurm_node", "slurm_node", SLURM_NODE},
    {"start", "start", START},
    {"end", "\"end\"", COUNT},
    {"sluid", "sluid", WORD},
    {"user", "user", NAME},
    {"uid", "uid", COUNT},
    {"account", "account", ACCOUNT},
    {"identity_source", "identity_source", WORD},
    {"cpus", "cpus", COUNT},
    {"cpu_usec", "cpu_usec", COUNT},
    {"cpu_user_usec", "cpu_user_usec", COUNT},
    {"cpu_system_usec", "cpu_system_usec", COUNT},
    {"cpu_throttled_usec", "cpu_throttled_usec", COUNT},
    {"suspended_usec", "suspended_usec", COUNT},
    {"memory_remote_ppm", "memory_remote_ppm", COUNT},
    {"memory_held_peak_bytes", "memory_held_peak_bytes", COUNT},
    {"memory_held_peak_charged", "memory_held_peak_charged", HELD_FLAG},
    {"memory_charged_peak_bytes", "memory_charged_peak_bytes", COUNT},
    {"memory_limit_bytes", "memory_limit_bytes", COUNT},
    {"memory_limit_hits", "memory_limit_hits", COUNT},
    {"oom_kills", "oom_kills", COUNT},
    {"processes_seen", "processes_seen", COUNT},
    {"io_read_bytes", "io_read_bytes", COUNT},
    {"io_write_bytes", "io_write_bytes", COUNT},
    {"io_read_operations", "io_read_operations", COUNT},
    {"io_write_operations", "io_write_operations", COUNT},
    {"io_storage_read_bytes", "io_storage_read_bytes", COUNT},
    {"io_storage_write_bytes", "io_storage_write_bytes", COUNT},
    {"energy_policy", "energy_policy", WORD},
    {"energy_source", "energy_source", WORD},
    {"energy_quality", "energy_quality", WORD},
    {"energy_static", "energy_static", WORD},
    {"energy_gap", "energy_gap", FLAG},
    {"complete", "complete", FLAG},
    {"gpu_conflicts", "gpu_conflicts", DOUBTS},
    {"executables", "executables", TIMES},
};

enum { FIELDS = sizeof(fields) / sizeof(fields[0]), KEYS = 5 };
enum { TIMES_MAX = 16, TIME_NAME = 128 /* bytes */ };

static const char *const texts[BJ_RECORD_STATEMENTS] = {
    [BJ_RECORD_CLUSTER] = "SELECT id FROM cluster WHERE name = ?1",
    [BJ_RECORD_HOST] = "SELECT id FROM host WHERE name = ?1",
    [BJ_RECORD_HOST_ADD] = "INSERT INTO host(name) VALUES(?1)",
};

/* Parameters after those of the fields, if numbers are computed from records.
 */
enum { NUMBER = FIELDS + 1, FIRST, LAST };

/* " AND " between conditions on the columns of the key. */
static void record_put_key(struct bj_buf *sql, const char *value)
{
    for (int i = 0; i < KEYS; i++) {
        bj_buf_printf(sql, "%snode_record.%s = ", i ? " AND " : "",
                      fields[i].column);
        if (value)
            bj_buf_printf(sql, "%s.%s", value, fields[i].column);
        else
            bj_buf_printf(sql, "?%d", i + 1);
    }
}

/* SQL for the number of the record if it exists, else for its new number. */
static void record_put_number(struct bj_buf *sql, const char *table)
{
    bj_buf_printf(sql, ", coalesce((SELECT id FROM %s AS node_record WHERE ",
                  table);
    record_put_key(sql, NULL);
    bj_buf_printf(sql, " AND id BETWEEN ?%d AND ?%d), ?%d)", FIRST, LAST,
                  NUMBER);
}

/* Make the statement; it returns one row with the number, or none if another
 * record has the number.  partition: NULL, or the record's partition if numbers
 * are computed from records, because PostgreSQL would plan a statement of the
 * whole table again for each record. */
static void put_sql(struct bj_buf *sql, const char *partition)
{
    bj_buf_str(sql, "INSERT INTO ");
    if (partition)
        bj_buf_printf(sql, "%s AS ", partition);
    bj_buf_str(sql, "node_record(");
    for (int i = 0; i < FIELDS; i++)
        bj_buf_printf(sql, "%s%s", i ? ", " : "", fields[i].column);
    bj_buf_printf(sql, "%s) VALUES(", partition ? ", id" : "");
    for (int i = 0; i < FIELDS; i++)
        bj_buf_printf(sql, "%s?%d", i ? ", " : "", i + 1);
    if (partition)
        record_put_number(sql, partition);
    bj_buf_printf(sql, ") ON CONFLICT(%s) DO UPDATE SET ",
                  partition ? "id" : "cluster, jobid, host, slurm_node, start");
    for (int i = KEYS; i < FIELDS; i++)
        bj_buf_printf(sql, "%s%s = coalesce(excluded.%s, node_record.%s)",
                      i > KEYS ? ", " : "", fields[i].column, fields[i].column,
                      fields[i].column);
    if (partition) {
        bj_buf_str(sql, " WHERE ");
        record_put_key(sql, "excluded");
    }
    bj_buf_str(sql, " RETURNING id");
}

/* The statement that adds records of a month; 0 for all with SQLite. */
static int prepare_add(struct bj_records *r, int month, struct bj_err *err)
{
    char partition[BJ_MONTH_NAME];
    struct bj_buf sql = {0};
    if (r->follow)
        bj_month_partition("node_record", month, partition);
    put_sql(&sql, r->follow ? partition : NULL);
    return bj_db_prepare_buf(bj_store_db(r->store), &sql, &r->add[month], err);
}

int bj_records_new(struct bj_store *s, struct bj_records **ret,
                   struct bj_err *err)
{
    struct bj_records *r = calloc(1, sizeof(*r));
    if (!r)
        return bj_err_set(err, -ENOMEM, "records");
    struct bj_db *db = bj_store_db(s);
    r->store = s;
    r->follow = bj_job_numbers_follow(db);
    int e = bj_dicts_new(db, &r->dicts, err);
    for (int i = 0; e == 0 && i < BJ_RECORD_STATEMENTS; i++)
        e = bj_db_prepare(db, texts[i], &r->st[i], err);
    if (e == 0)
        e = bj_record_rows_new(db, &r->rows, err);
    if (e == 0 && !r->follow)
        e = prepare_add(r, 0, err);
    if (e < 0) {
        bj_records_free(r);
        return e;
    }
    *ret = r;
    return 0;
}

void bj_records_free(struct bj_records *r)
{
    if (!r)
        return;
    for (int i = 0; i < BJ_RECORD_STATEMENTS; i++)
        bj_st_finalize(r->st[i]);
    for (int i = 0; i < BJ_MONTHS; i++)
        bj_st_finalize(r->add[i]);
    bj_record_rows_free(r->rows);
    bj_dicts_free(r->dicts);
    bj_arena_free(&r->arena);
    free(r);
}

static int host_id(struct bj_records *r, struct bj_slice name, int64_t *ret,
                   struct bj_err *err)
{
    struct bj_st *find = r->st[BJ_RECORD_HOST];
    bj_st_bind_filled(find, 1, name);
    int e = bj_st_int(find, ret, err);
    if (e == 0) {
        bj_st_bind_filled(r->st[BJ_RECORD_HOST_ADD], 1, name);
        e = bj_st_insert(r->st[BJ_RECORD_HOST_ADD], ret, err);
    }
    return e < 0 ? e : 0;
}

static int64_t record_count(const struct bj_json *v)
{
    return bj_sql_u64(bj_json_u64_or(v, BJ_ABSENT));
}

/* The number of a text in the dictionary of its kind. */
static int entry(struct bj_records *r, enum kind kind, struct bj_slice text,
                 int64_t *ret, struct bj_err *err)
{
    enum bj_dict_id which = kind == NAME      ? BJ_DICT_USER
                            : kind == ACCOUNT ? BJ_DICT_ACCOUNT
                                              : BJ_DICT_WORD;
    return text.n > 0 ? bj_dict_text(r->dicts, which, text, ret, err) : 0;
}

/* The number of a cluster, usually that of the previous record. */
static int cluster_id(struct bj_records *r, struct bj_slice name,
                      struct bj_slice system, int64_t *ret, struct bj_err *err)
{
    char key[sizeof(r->cluster)];
    size_t n = name.n + 1 + system.n;
    if (n > sizeof(key))
        return bj_dict_cluster(r->dicts, name, system, ret, err);
    memcpy(key, name.p ? name.p : "", name.n);
    key[name.n] = '\0';
    memcpy(key + name.n + 1, system.p ? system.p : "", system.n);
    if (n == r->cluster_bytes && memcmp(key, r->cluster, n) == 0) {
        *ret = r->cluster_id;
        return 0;
    }
    int e = bj_dict_cluster(r->dicts, name, system, ret, err);
    memcpy(r->cluster, key, n);
    r->cluster_bytes = e == 0 ? n : 0;
    r->cluster_id = *ret;
    return e;
}

/* Write an object of names with times again, with what is valid in it; empty if
 * there is none. */
static int times_text(const struct bj_json *v, struct bj_arena *arena,
                      struct bj_slice *ret, struct bj_err *err)
{
    struct bj_buf buf = {0};
    struct bj_json_out out = {.to = &buf};
    unsigned n = 0;
    bj_json_put_object(&out, NULL);
    BJ_JSON_EACH(time, v)
    {
        struct bj_slice name = bj_json_key(time);
        int64_t usec = record_count(time);
        if (usec < 0 || name.n == 0 || name.n > TIME_NAME || n == TIMES_MAX)
            continue;
        bj_json_put_key(&out, name);
        bj_json_put_i64(&out, NULL, usec);
        n++;
    }
    bj_json_put_end(&out);
    int r = bj_json_out_end(&out);
    *ret = n > 0 ? bj_arena_copy(arena, (struct bj_slice){buf.p, buf.len})
                 : (struct bj_slice){NULL, 0};
    bj_buf_free(&buf);
    return r < 0 || arena->failed ? bj_err_set(err, -ENOMEM, "records") : 0;
}

/* An array of names as bits; BJ_SQL_NULL: none that is known. */
static int64_t doubts_of(const struct bj_json *v)
{
    static const struct {
        int64_t bit;
        const char *name;
    } names[] = {
#define NAME(bit, name) {bit, name},
        BJ_GPU_DOUBTS(NAME)
#undef NAME
    };
    int64_t bits = 0;
    BJ_JSON_EACH(doubt, v)
    {
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (bj_slice_eq(bj_json_text(doubt), bj_slice_str(names[i].name)))
                bits |= names[i].bit;
    }
    return bits != 0 ? bits : BJ_SQL_NULL;
}

/* Bind one field of a record. */
static int bind(struct bj_records *r, struct bj_st *st, int i,
                const struct bj_json *doc, struct bj_slice cluster,
                struct bj_err *err)
{
    const struct bj_json *v = bj_json_get(doc, fields[i].field);
    struct bj_slice text = bj_json_text(v);
    int64_t n = BJ_SQL_NULL;
    bool flag;
    int e = 0;
    switch (fields[i].kind) {
    case CLUSTER:
        e = cluster_id(r, text.n > 0 ? text : cluster,
                       bj_json_text(bj_json_get(doc, "batch_system")), &n, err);
        r->key.cluster = n;
        break;
    case HOST:
        e = host_id(r, text, &n, err);
        r->key.host = n;
        break;
    case ID:
        r->key.jobid = text;
        bj_st_bind_jobid(st, i + 1, text);
        return 0;
    case SLURM_NODE:
        r->key.slurm_node = text.n ? text : BJ_SLICE("");
        bj_st_bind_text(st, i + 1, r->key.slurm_node);
        return 0;
    case START:
        n = r->key.start_sec;
        break;
    case COUNT:
        n = record_count(v);
        break;
    case FLAG:
        if (bj_json_bool(v, &flag) == 0)
            n = flag;
        break;
    case HELD_FLAG:
        if (bj_json_bool(v, &flag) == 0)
            n = flag;
        else if (record_count(bj_json_get(doc, "memory_held_peak_bytes")) > 0)
            n = 0;
        break;
    case DOUBTS:
        n = doubts_of(v);
        break;
    case WORD:
    case NAME:
    case ACCOUNT:
        e = entry(r, fields[i].kind, text, &n, err);
        break;
    case TIMES:
        e = times_text(v, &r->arena, &text, err);
        bj_st_bind_filled(st, i + 1, text);
        return e;
    }
    bj_st_bind_i64(st, i + 1, n);
    return e;
}

static int record_put_energy(struct bj_records *r, int64_t id,
                             const struct bj_json *energy, struct bj_err *err)
{
    int e = 0;
    BJ_JSON_EACH(policy, energy)
    {
        BJ_JSON_EACH(part, policy)
        {
            int64_t p = BJ_SQL_NULL, c = BJ_SQL_NULL, uj = record_count(part);
            e = entry(r, WORD, bj_json_key(policy), &p, err);
            if (e == 0)
                e = entry(r, WORD, bj_json_key(part), &c, err);
            if (e < 0)
                return e;
            if (uj == BJ_SQL_NULL || p == BJ_SQL_NULL || c == BJ_SQL_NULL)
                continue;
            bj_record_rows_i64(r->rows, BJ_RECORD_ENERGY, id);
            bj_record_rows_i64(r->rows, BJ_RECORD_ENERGY, p);
            bj_record_rows_i64(r->rows, BJ_RECORD_ENERGY, c);
            bj_record_rows_i64(r->rows, BJ_RECORD_ENERGY, uj);
            e = bj_record_rows_put(r->rows, BJ_RECORD_ENERGY, err);
            if (e < 0)
                return e;
        }
    }
    return 0;
}

/* Append the counts of one row, from the fields with these names. */
static void put_counts(struct bj_records *r, enum bj_record_table table,
                       const struct bj_json *doc, const char *const *name)
{
    for (; *name; name++)
        bj_record_rows_i64(r->rows, table,
                           record_count(bj_json_get(doc, *name)));
}

static int put_devices(struct bj_records *r, int64_t id,
                       const struct bj_json *devices, struct bj_err *err)
{
    static const char *const names[] = {"read_bytes", "write_bytes",
                                        "read_operations", "write_operations",
                                        NULL};
    BJ_JSON_EACH(device, devices)
    {
        if (bj_json_key(device).n == 0)
            continue;
        bj_record_rows_i64(r->rows, BJ_RECORD_DEVICE, id);
        bj_record_rows_text(r->rows, BJ_RECORD_DEVICE, bj_json_key(device));
        put_counts(r, BJ_RECORD_DEVICE, device, names);
        int e = bj_record_rows_put(r->rows, BJ_RECORD_DEVICE, err);
        if (e < 0)
            return e;
    }
    return 0;
}

/* The number of a fault; BJ_SQL_NULL: none, or a name that is not known. */
static int64_t fault_of(struct bj_slice name)
{
    static const char *const names[] = {
#define NAME(n, name) [n] = name,
        BJ_GPU_FAULTS(NAME)
#undef NAME
    };
    for (size_t i = 1; i < sizeof(names) / sizeof(names[0]); i++)
        if (bj_slice_eq(name, bj_slice_str(names[i])))
            return (int64_t)i;
    return BJ_SQL_NULL;
}

static void put_fault(struct bj_records *r, const struct bj_json *gpu)
{
    static const char *const names[] = {"fault_xid", "fault_time", NULL};
    const struct bj_slice how =
        bj_json_text(bj_json_get(gpu, "fault_evidence"));
    bj_record_rows_i64(r->rows, BJ_RECORD_GPU,
                       fault_of(bj_json_text(bj_json_get(gpu, "fault"))));
    put_counts(r, BJ_RECORD_GPU, gpu, names);
    bj_record_rows_i64(r->rows, BJ_RECORD_GPU,
                       bj_slice_eq(how, BJ_SLICE("process"))  ? 1
                       : bj_slice_eq(how, BJ_SLICE("holder")) ? 0
                                                              : BJ_SQL_NULL);
}

static int record_put_gpu(struct bj_records *r, int64_t id,
                          const struct bj_json *gpu, struct bj_err *err)
{
    static const char *const names[] = {
        "held_usec",         "idle_usec", "busy_ppm", "sm_active_ppm",
        "memory_peak_bytes", "energy_uj", NULL};
    int64_t model = BJ_SQL_NULL, source = BJ_SQL_NULL;
    bool estimated;
    int e =
        entry(r, WORD, bj_json_text(bj_json_get(gpu, "model")), &model, err);
    if (e == 0)
        e = entry(r, WORD, bj_json_text(bj_json_get(gpu, "source")), &source,
                  err);
    if (e < 0)
        return e;
    bj_record_rows_i64(r->rows, BJ_RECORD_GPU, id);
    bj_record_rows_text(r->rows, BJ_RECORD_GPU, bj_json_key(gpu));
    bj_record_rows_text(r->rows, BJ_RECORD_GPU,
                        bj_json_text(bj_json_get(gpu, "index")));
    bj_record_rows_i64(r->rows, BJ_RECORD_GPU, model);
    bj_record_rows_i64(r->rows, BJ_RECORD_GPU, source);
    put_counts(r, BJ_RECORD_GPU, gpu, names);
    e = bj_json_bool(bj_json_get(gpu, "estimated"), &estimated);
    bj_record_rows_i64(r->rows, BJ_RECORD_GPU,
                       e == 0 ? estimated : BJ_SQL_NULL);
    put_fault(r, gpu);
    return bj_record_rows_put(r->rows, BJ_RECORD_GPU, err);
}

static int record_put_gpus(struct bj_records *r, int64_t id,
                           const struct bj_json *gpus, struct bj_err *err)
{
    int e = 0;
    BJ_JSON_EACH(gpu, gpus)
    {
        if (bj_json_key(gpu).n > 0 && bj_json_kind(gpu) == BJ_JSON_OBJECT)
            e = record_put_gpu(r, id, gpu, err);
        if (e < 0)
            return e;
    }
    return 0;
}

int bj_record_read(struct bj_records *r, const char *name, struct bj_slice text,
                   const struct bj_json **ret, struct bj_err *err)
{
    const struct bj_json_limits limits = {
        .bytes = BJ_RECORD_BYTES, .values = 20000, .depth = 8};
    bj_arena_reset(&r->arena);
    int e = bj_json_parse(&r->arena, text, name, &limits, ret, err);
    if (e == -EFBIG)
        e = err ? (err->code = -EINVAL) : -EINVAL;
    if (e == 0)
        e = bj_final_record_check(*ret, name, err);
    return e < 0 ? e
                 : bj_final_record_bounds(
                       *ret, name, (int64_t)(bj_clock_wall_usec() / 1000000),
                       err);
}

/* Insert or change a row: 1 with its number; 0: another record has the number.
 */
static int record_add(struct bj_st *st, int64_t *ret, struct bj_err *err)
{
    int e = bj_st_row(st, err);
    bool there = e > 0;
    if (there)
        *ret = bj_st_get_i64(st, 0);
    /* The row is written only after the statement has run to its end. */
    while (e > 0)
        e = bj_st_row(st, err);
    return e < 0 ? e : there;
}

/* Insert or change a row under the first free number of its second, or its
 * existing number. */
static int add_numbered(struct bj_records *r, struct bj_st *st, int64_t *ret,
                        struct bj_err *err)
{
    const int64_t first = bj_record_number_of(&r->key);
    int64_t number = first;
    int e = 0;
    bj_st_bind_i64(st, FIRST, bj_job_number_first(r->key.start_sec));
    bj_st_bind_i64(st, LAST, bj_job_number_last(r->key.start_sec));
    while (e == 0) {
        bj_st_bind_i64(st, NUMBER, number);
        e = record_add(st, ret, err);
        number = bj_job_number_next(number);
        if (e == 0 && number == first)
            e = bj_err_set(err, -E2BIG, "too many records of one second");
    }
    return e;
}

static int put_record(struct bj_records *r, struct bj_slice cluster,
                      const struct bj_json *doc, int64_t *ret,
                      struct bj_err *err)
{
    int64_t start = record_count(bj_json_get(doc, "start"));
    r->key.start_sec = start == BJ_SQL_NULL ? 0 : start;
    int month =
        r->follow ? bj_month_of(bj_job_number_first(r->key.start_sec)) : 0;
    int e = bj_record_months_add(&r->months, month, err);
    if (e == 0 && !r->add[month])
        e = prepare_add(r, month, err);
    struct bj_st *st = r->add[month];
    for (int i = 0; e == 0 && i < FIELDS; i++)
        e = bind(r, st, i, doc, cluster, err);
    if (e < 0)
        return e;
    e = r->follow ? add_numbered(r, st, ret, err) : record_add(st, ret, err);
    return e < 0 ? e : 0;
}

int bj_record_store(struct bj_records *r, struct bj_slice cluster,
                    const char *name, const struct bj_json *doc,
                    struct bj_err *err)
{
    int64_t id = 0;
    int e = put_record(r, cluster, doc, &id, err);
    if (e == 0)
        e = record_put_energy(r, id, bj_json_get(doc, "energy_uj"), err);
    if (e == 0)
        e = put_devices(r, id, bj_json_get(doc, "devices"), err);
    if (e == 0)
        e = record_put_gpus(r, id, bj_json_get(doc, "gpus"), err);
    return e < 0 ? bj_err_wrap(err, e, "%s", name) : 0;
}

int bj_record_put(struct bj_records *r, struct bj_slice cluster,
                  const char *name, struct bj_slice text, struct bj_err *err)
{
    const struct bj_json *doc;
    int e = bj_record_read(r, name, text, &doc, err);
    return e < 0 ? e : bj_record_store(r, cluster, name, doc, err);
}

int bj_records_begin(struct bj_records *r, struct bj_err *err)
{
    bj_record_months_begin(&r->months, bj_store_db(r->store));
    return bj_store_begin(r->store, err);
}

int bj_records_have_cluster(struct bj_records *r, struct bj_slice name,
                            struct bj_err *err)
{
    struct bj_st *st = r->st[BJ_RECORD_CLUSTER];
    bj_st_bind_filled(st, 1, name);
    int e = bj_st_row(st, err);
    bj_st_reset(st);
    return e;
}

int bj_records_commit(struct bj_records *r, struct bj_err *err)
{
    int e = bj_record_rows_flush(r->rows, err);
    return e < 0 ? e : bj_store_commit(r->store, err);
}

void bj_records_rollback(struct bj_records *r)
{
    bj_store_rollback(r->store);
    bj_record_rows_forget(r->rows);
    bj_dicts_clear(r->dicts);
    r->cluster_bytes = 0;
}
