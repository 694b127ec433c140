/* Preloaded into tests: append each SQL text that a batchjob_* program passes
 * to SQLite, and a NUL byte, to the file that SQL_RECORD names. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef int prepare(sqlite3 *, const char *, int, unsigned, sqlite3_stmt **,
                    const char **);
typedef int execute(sqlite3 *, const char *,
                    int (*)(void *, int, char **, char **), void *, char **);

static void record(const char *sql)
{
    const char *path = getenv("SQL_RECORD");
    if (!path || strncmp(program_invocation_short_name, "batchjob_", 9) != 0)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    /* Fails in tests that limit files; other tests record the same SQL. */
    if (fd >= 0) {
        if (write(fd, sql, strlen(sql) + 1) < 0)
            errno = 0;
        close(fd);
    }
}

/* Other programs load SQLite by dlopen(), and RTLD_NEXT does not find it. */
static void *next_of(const char *name)
{
    void *next = dlsym(RTLD_NEXT, name);
    void *library =
        next ? NULL : dlopen("libsqlite3.so.0", RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, name) : next;
}

int sqlite3_prepare_v3(sqlite3 *db, const char *sql, int n, unsigned flags,
                       sqlite3_stmt **ret, const char **tail)
{
    prepare *next = (prepare *)next_of("sqlite3_prepare_v3");
    record(sql);
    return next(db, sql, n, flags, ret, tail);
}

int sqlite3_exec(sqlite3 *db, const char *sql,
                 int (*row)(void *, int, char **, char **), void *ctx,
                 char **message)
{
    execute *next = (execute *)next_of("sqlite3_exec");
    record(sql);
    return next(db, sql, row, ctx, message);
}
