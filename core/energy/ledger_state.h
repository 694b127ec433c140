/* Shared by writing and loading the state of a ledger as text. */
#ifndef BJ_CORE_ENERGY_LEDGER_STATE_H
#define BJ_CORE_ENERGY_LEDGER_STATE_H

#include "core/energy/ledger_impl.h"

#define BJ_STATE_HEAD "batchjob-ledger 1"

/* WIDE: two words, the high one first. */
enum bj_row_type { BJ_ROW_U64, BJ_ROW_FLAG, BJ_ROW_WIDE };

/* Numbers in a structure: count of them, stride bytes apart. */
struct bj_state_row {
    const char *word; /* NULL after the last row */
    size_t off, count, stride;
    enum bj_row_type type;
};

extern const struct bj_state_row bj_ledger_rows[], bj_account_rows[];

/* The checksum. */
uint64_t bj_state_sum(struct bj_slice s);

/* s as one word without blanks: %xx for all but letters, digits and ._:@/+,-;
 * "%" when it is empty. */
void bj_state_word(struct bj_buf *out, struct bj_slice s);

/* Decode such a word in place; returns the length, or -EINVAL. */
int bj_state_unword(char *s, size_t n);

#endif
