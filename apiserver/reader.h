/* The store as the API reads it: a connection that can do nothing but read,
 * opened again when the file is replaced, with a deadline for every request and
 * statements that are compiled once. */
#ifndef BJ_APISERVER_READER_H
#define BJ_APISERVER_READER_H

#include "base/err.h"
#include "statsdb/sql.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_reader_options {
    const char *path; /* copied */
    bool any_filesystem;
    uint64_t cache_bytes;
    uint64_t query_usec;
};

struct bj_reader;

/* Nothing is opened yet: a store that is not there is no error here. */
int bj_reader_new(const struct bj_reader_options *opt, struct bj_reader **ret,
                  struct bj_err *err);
void bj_reader_free(struct bj_reader *r);

/* Begin a request: what is read until bj_reader_end is of one moment, and must
 * be over within query_usec.  Opens the store, or its successor when the file
 * has been replaced; while there is none, the one that was open goes on.
 * 0 or what bj_store_open says. */
int bj_reader_begin(struct bj_reader *r, struct bj_err *err);
void bj_reader_end(struct bj_reader *r);

/* Close the store, to be opened anew by the next bj_reader_begin. */
void bj_reader_close(struct bj_reader *r);

/* The statement for a text: reset, nothing bound, kept for the next time. It
 * belongs to the reader.  Rows by bj_sql_row, which gives -EINTR when time is
 * up. */
int bj_reader_prepare(struct bj_reader *r, const char *sql,
                      struct sqlite3_stmt **ret, struct bj_err *err);

/* For walks over rows that the filters may not let through: "FILTERS OR
 * bj_late(AT, ID, PART)" of a statement is true for the row at which the time
 * is up that a walk may take, so that it ends there.  It begins with
 * bj_reader_walk, which gives it so many thousandths of the request's time, and
 * each statement within it as much of that as PART, in thousandths, says.  Some
 * rows it always gets. */
void bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part);

/* Was the time up?  *ret is then the row that was come to; the earliest in the
 * order of the walk, where there were several. */
struct bj_reader_row {
    int64_t at, id;
};
bool bj_reader_late(const struct bj_reader *r, struct bj_reader_row *ret);

/* Grows when what was read before may be no longer true: another commit, or
 * another file. */
uint64_t bj_reader_version(const struct bj_reader *r);

/* Would opening the store anew help after this error? */
bool bj_reader_broken(int code);

struct bj_reader_stat {
    bool open;
    uint64_t opened;   /* how often */
    uint64_t timeouts; /* requests that took too long */
};
void bj_reader_stat(const struct bj_reader *r, struct bj_reader_stat *ret);

#endif
