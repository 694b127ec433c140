/* A connection to the store that can only read: opened again when the file is
 * replaced, with a deadline for every request and a cache of statements. */
#ifndef BJ_APISERVER_READER_H
#define BJ_APISERVER_READER_H

#include "base/err.h"
#include "store/db.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_reader_options {
    const char *path; /* copied */
    bool any_filesystem;
    uint64_t cache_bytes;
    uint64_t query_usec;
};

struct bj_reader;

/* Opens nothing yet: a missing store is not an error here. */
int bj_reader_new(const struct bj_reader_options *opt, struct bj_reader **ret,
                  struct bj_err *err);
void bj_reader_free(struct bj_reader *r);

/* Begin a request: all reads until bj_reader_end see one state of the store,
 * and end within query_usec.  Opens the store, or the file that has replaced
 * it; while there is none, the open one stays in use.  0, or as bj_store_open.
 */
int bj_reader_begin(struct bj_reader *r, struct bj_err *err);
void bj_reader_end(struct bj_reader *r);

/* Close the store; the next bj_reader_begin opens it again. */
void bj_reader_close(struct bj_reader *r);

/* The statement for a text: reset, nothing bound, kept for the next time. It
 * belongs to the reader.  Rows by bj_st_row, which returns -EINTR at the
 * deadline. */
int bj_reader_prepare(struct bj_reader *r, const char *sql, struct bj_st **ret,
                      struct bj_err *err);

/* The connection itself, during a request: its statements end at the deadline,
 * too.  It belongs to the reader. */
struct bj_db *bj_reader_db(const struct bj_reader *r);

/* For walks over rows of which filters may match few: "FILTERS OR
 * bj_late(AT, ID, PART)" in a statement is true for the row at which the time
 * of the walk is over, so that it ends there.  bj_reader_walk begins a walk and
 * gives it so many thousandths of the time of the request; PART is the share of
 * each statement in that, in thousandths.  A walk always reads some rows. */
void bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part);

/* Did the walk end early? *ret is then the row at which it ended, the first in
 * its order if there are several. */
struct bj_reader_row {
    int64_t at, id;
};
bool bj_reader_late(const struct bj_reader *r, struct bj_reader_row *ret);

/* Increases when cached data may be outdated: another commit, or another file.
 */
uint64_t bj_reader_version(const struct bj_reader *r);

/* May opening the store again help after this error? */
bool bj_reader_broken(int code);

struct bj_reader_stat {
    bool open;
    uint64_t opened;   /* number of times the store was opened */
    uint64_t timeouts; /* requests that took too long */
};
void bj_reader_stat(const struct bj_reader *r, struct bj_reader_stat *ret);

#endif
