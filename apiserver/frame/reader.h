/* A read-only connection to the store, with a deadline for each request and a
 * cache of statements.  It is opened again after the file was replaced. */
#ifndef BJ_APISERVER_FRAME_READER_H
#define BJ_APISERVER_FRAME_READER_H

#include "base/err.h"
#include "base/slice.h"
#include "statsdb/tables/word.h"
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

/* Does not open the store yet: a missing store is not an error here. */
int bj_reader_new(const struct bj_reader_options *opt, struct bj_reader **ret,
                  struct bj_err *err);
void bj_reader_free(struct bj_reader *r);

/* Begin a request: all reads until bj_reader_end see one state of the store,
 * and end within query_usec.  Opens the store if necessary, also after another
 * file replaced it; if the file is missing, the open one is used.  0, or the
 * errors of bj_store_open. */
int bj_reader_begin(struct bj_reader *r, struct bj_err *err);
void bj_reader_end(struct bj_reader *r);

/* Close the store; the next bj_reader_begin opens it again. */
void bj_reader_close(struct bj_reader *r);

/* Return the statement for a text, reset and without bound values. The reader
 * owns it and keeps it for the next use.  bj_st_row returns -EINTR at the
 * deadline. */
int bj_reader_prepare(struct bj_reader *r, const char *sql, struct bj_st **ret,
                      struct bj_err *err);

/* Return the connection, during a request: its statements end at the deadline,
 * too.  The reader owns it. */
struct bj_db *bj_reader_db(const struct bj_reader *r);

/* Limit the time of walks over many rows of which filters may match few.  In a
 * statement, "FILTERS OR bj_late(AT, ID, PART)" becomes true at the row where
 * the time is over, so that the walk ends there.  bj_reader_walk begins a walk,
 * which ends at part thousandths of the time of the request; a statement of it
 * ends at PART thousandths of the time of the walk.  A walk always reads some
 * rows. */
void bj_reader_walk(struct bj_reader *r, bool ascending, unsigned part);

/* Did the walk end early? *ret is then the row at which it ended; if several
 * statements ended early, the first row in the order of the walk. */
struct bj_reader_row {
    int64_t at, id;
};
bool bj_reader_late(const struct bj_reader *r, struct bj_reader_row *ret);

/* A number that increases when cached data may be outdated, because of a commit
 * or another file. */
uint64_t bj_reader_version(const struct bj_reader *r);

/* Should the store be opened again after this error? */
bool bj_reader_broken(int code);

struct bj_reader_stat {
    bool open;
    uint64_t opened;   /* number of times the store was opened */
    uint64_t timeouts; /* requests that took too long */
};
void bj_reader_stat(const struct bj_reader *r, struct bj_reader_stat *ret);

struct bj_words;

int bj_words_new(struct bj_words **ret, struct bj_err *err);
void bj_words_free(struct bj_words *w); /* NULL is fine */

/* Return the text for a number, {NULL, 0}: none; valid until the next call. The
 * reader must have begun a request. 0 or an error of the store. */
int bj_words_text(struct bj_words *w, struct bj_reader *r, enum bj_word which,
                  int64_t id, struct bj_slice *ret, struct bj_err *err);

/* Return the number of a text; -1: none. */
int bj_words_find(struct bj_reader *r, enum bj_word which, struct bj_slice text,
                  int64_t *ret, struct bj_err *err);

#endif
