#include "statsdb/record/record_impl.h"

#include "base/buf.h"
#include "base/file.h"
#include "store/db.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

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
static int list(int fd, unsigned max, struct names *names, const char *dir,
                struct bj_err *err)
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
    int e = list(fd, max_files, &names, dir, err);
    if (e == 0 && names.n > 0)
        e = take_all(r, fd, &names, cluster, ret, ret_why, err);
    bj_buf_free(&names.text);
    return e < 0 ? e : (int)names.n;
}
