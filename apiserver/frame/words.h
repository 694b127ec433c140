/* Looks up texts in the store's dictionaries by number, with a cache of limited
 * size, which is dropped when the store changes. */
#ifndef BJ_APISERVER_FRAME_WORDS_H
#define BJ_APISERVER_FRAME_WORDS_H

#include "apiserver/frame/reader.h"
#include "base/slice.h"
#include "statsdb/tables/word.h"

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
