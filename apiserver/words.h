/* The store's dictionaries, from number to text, with a bounded cache until the
 * store changes. */
#ifndef BJ_APISERVER_WORDS_H
#define BJ_APISERVER_WORDS_H

#include "apiserver/reader.h"
#include "base/slice.h"
#include "statsdb/word.h"

struct bj_words;

int bj_words_new(struct bj_words **ret, struct bj_err *err);
void bj_words_free(struct bj_words *w); /* NULL is fine */

/* The text of a number, {NULL, 0} for none; valid until the next call. The
 * reader must have begun. 0 or an error of the store. */
int bj_words_text(struct bj_words *w, struct bj_reader *r, enum bj_word which,
                  int64_t id, struct bj_slice *ret, struct bj_err *err);

/* The number of a text; -1: it has none. */
int bj_words_find(struct bj_reader *r, enum bj_word which, struct bj_slice text,
                  int64_t *ret, struct bj_err *err);

#endif
