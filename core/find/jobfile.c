#include "core/find/jobfile.h"

#include "base/file.h"
#include "core/model/record.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

/* Keys of our format that are not fields of an identity. */
enum { NODELIST = BJ_ID_FIELDS, NUMBERS, START = NUMBERS, LATEST, RESTARTS };

static const struct {
    struct bj_slice key;
    int field;
} keys[] = {
    {{"jobid", 5}, BJ_ID_JOBID},
    {{"sluid", 5}, BJ_ID_SLUID},
    {{"uid", 3}, BJ_ID_UID},
    {{"user", 4}, BJ_ID_USER},
    {{"account", 7}, BJ_ID_ACCOUNT},
    {{"partition", 9}, BJ_ID_PARTITION},
    {{"qos", 3}, BJ_ID_QOS},
    {{"name", 4}, BJ_ID_NAME},
    {{"array_job_id", 12}, BJ_ID_ARRAY_JOB},
    {{"array_task", 10}, BJ_ID_ARRAY_TASK},
    {{"het_job_id", 10}, BJ_ID_HET_JOB},
    {{"het_offset", 10}, BJ_ID_HET_OFFSET},
    {{"nodelist", 8}, NODELIST},
    {{"gpus", 4}, BJ_ID_GPUS},
    {{"start", 5}, START},
    {{"latest_end", 10}, LATEST},
    {{"restarts", 8}, RESTARTS},
};

static bool is_uid(struct bj_slice s)
{
    uint64_t v;
    return bj_slice_u64(s, &v) == 0 && v < UINT32_MAX;
}

/* Decode the escapes of a value in place. */
static struct bj_slice unescape(char *p, size_t n)
{
    size_t out = 0;
    for (size_t in = 0; in < n; in++) {
        bool pair = p[in] == '\\' && in + 1 < n &&
                    (p[in + 1] == 'n' || p[in + 1] == '\\');
        in += pair;
        p[out++] = pair && p[in] == 'n' ? '\n' : p[in];
    }
    return (struct bj_slice){p, out};
}

static uint64_t *jobfile_number_of(struct bj_jobfile *file, int field)
{
    return field == START    ? &file->number.start_sec
           : field == LATEST ? &file->number.latest_sec
                             : &file->number.restarts;
}

static int set_key(struct bj_slice key, struct bj_slice value,
                   struct bj_jobfile *ret, unsigned line, struct bj_err *err)
{
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        int f = keys[i].field;
        if (!bj_slice_eq(key, keys[i].key) || value.n == 0)
            continue;
        if (f >= NUMBERS ? bj_slice_u64(value, jobfile_number_of(ret, f)) < 0
                         : f == BJ_ID_UID && !is_uid(value))
            return bj_err_set(err, -EINVAL, "line %u: %s: expected a number",
                              line, keys[i].key.p);
        if (f == NODELIST)
            ret->nodelist = value;
        else if (f < BJ_ID_FIELDS)
            ret->f[f] = value;
        return 0;
    }
    return 0;
}

static int parse_pairs(char *text, size_t n, struct bj_jobfile *ret,
                       struct bj_err *err)
{
    struct bj_slice rest = {text, n}, s;
    for (unsigned line = 1; bj_slice_line(&rest, &s); line++) {
        if (s.n == 0 || s.p[0] == '#')
            continue;
        const char *eq = memchr(s.p, '=', s.n);
        if (!eq || eq == s.p)
            return bj_err_set(err, -EINVAL, "line %u: expected 'key=value'",
                              line);
        struct bj_slice key = {s.p, (size_t)(eq - s.p)};
        size_t from = (size_t)(eq + 1 - text);
        struct bj_slice value = unescape(text + from, s.n - key.n - 1);
        int r = set_key(key, value, ret, line, err);
        if (r < 0)
            return r;
    }
    return 0;
}

static int parse_words(struct bj_slice text, struct bj_jobfile *ret,
                       struct bj_err *err)
{
    struct bj_slice line, word[3];
    int n = 0;
    if (bj_slice_line(&text, &line))
        while (n < 3 && bj_slice_word(&line, &word[n]))
            n++;
    if (n != 3 || bj_slice_trim(text).n > 0)
        return bj_err_set(
            err, -EINVAL,
            "expected lines 'key=value', or one line 'uid account "
            "nodelist'");
    bool digit = (unsigned char)(word[0].p[0] - '0') <= 9;
    if (digit && !is_uid(word[0]))
        return bj_err_set(err, -EINVAL,
                          "line 1: expected a uid or a user name first");
    ret->f[digit ? BJ_ID_UID : BJ_ID_USER] = word[0];
    ret->f[BJ_ID_ACCOUNT] = word[1];
    ret->nodelist = word[2];
    return 0;
}

/* Is it our format? Then the first line that is not empty or a comment has a
 * '=' before any blank. */
static bool is_pairs(struct bj_slice text)
{
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line))
        if (line.n > 0 && line.p[0] != '#')
            return bj_slice_word(&line, &word) &&
                   memchr(word.p, '=', word.n) != NULL;
    return false;
}

int bj_jobfile_parse(char *text, size_t n, struct bj_jobfile *ret,
                     struct bj_err *err)
{
    struct bj_jobfile file = {.number = bj_ident_no_numbers};
    struct bj_slice all = {text, n};
    int r = is_pairs(all) ? parse_pairs(text, n, &file, err)
                          : parse_words(all, &file, err);
    if (r == 0)
        *ret = file;
    return r;
}

int bj_jobfile_check(const struct bj_jobfile *file,
                     const struct bj_slice f[BJ_ID_FIELDS], struct bj_err *err)
{
    static const struct {
        enum bj_ident_field field;
        const char *name;
    } must[] = {
        {BJ_ID_JOBID, "job"}, {BJ_ID_SLUID, "SLUID"}, {BJ_ID_UID, "uid"}};
    for (size_t i = 0; i < sizeof(must) / sizeof(must[0]); i++) {
        struct bj_slice is = file->f[must[i].field], want = f[must[i].field];
        if (is.n == 0 || want.n == 0 || bj_slice_eq(is, want))
            continue;
        int n = is.n < 64 ? (int)is.n : 64;
        return bj_err_set(err, -EINVAL, "belongs to %s %.*s", must[i].name, n,
                          is.p);
    }
    return 0;
}

/* The name becomes a part of a path, so it must not contain a path. */
static bool file_name(struct bj_slice s, char *dst, size_t cap)
{
    if (s.n == 0 || s.n >= cap || s.p[0] == '.' || memchr(s.p, '/', s.n) ||
        memchr(s.p, '\0', s.n))
        return false;
    memcpy(dst, s.p, s.n);
    dst[s.n] = '\0';
    return true;
}

/* If every user may create files in the directory, a file of root is not
 * trustworthy: it may be a hard link to, or a file moved from, another
 * directory. */
static int check_dir(int fd, struct bj_err *err)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return bj_err_set(err, -errno, "stat");
    if (st.st_mode & S_IWOTH)
        return bj_err_set(err, -EPERM,
                          "not trusted: the directory is writable by everyone");
    return 0;
}

int bj_jobfile_read(const char *dir, struct bj_slice name,
                    const struct bj_slice f[BJ_ID_FIELDS], char *buf,
                    struct bj_jobfile *ret, struct bj_err *err)
{
    char file[NAME_MAX + 1];
    if (!file_name(name, file, sizeof(file)))
        return -ENOENT;
    bj_autoclose int fd = bj_dir_open(AT_FDCWD, dir);
    if (fd < 0)
        return bj_file_fail(err, fd, "open", AT_FDCWD, dir, R_OK | X_OK);
    struct bj_slice text;
    int r = bj_file_read_trusted(fd, file, buf, BJ_JOBFILE_CAP, &text, err);
    if (bj_err_gone(r))
        return -ENOENT;
    if (r == 0)
        r = check_dir(fd, err);
    if (r == 0)
        r = bj_jobfile_parse(buf, text.n, ret, err);
    if (r == 0)
        r = bj_jobfile_check(ret, f, err);
    return r < 0 ? bj_err_wrap(err, r, "%s/%s", dir, file) : 0;
}
