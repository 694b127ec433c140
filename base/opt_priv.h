/* Shared by the readers of options (command line, YAML); private to them. */
#ifndef BJ_BASE_OPT_PRIV_H
#define BJ_BASE_OPT_PRIV_H

#include "base/opt.h"

/* Options (len 0) and sections that one source has named so far.  A section is
 * identified by its first option and the length of its name.  Zero-initialise;
 * free with bj_optseen_free. */
struct bj_optseen {
    struct bj_optseen_row {
        const struct bj_opt *opt;
        size_t len;
    } * v;
    size_t n, cap;
};

/* Record an option or section: 1 if it is new, 0 if it was recorded before,
 * -ENOMEM. */
int bj_optseen_add(struct bj_optseen *seen, const struct bj_opt *opt,
                   size_t len);
void bj_optseen_free(struct bj_optseen *seen);

/* Set an option of the set from text, as bj_opt_set does. */
int bj_opt_assign(const struct bj_optset *set, const struct bj_opt *o,
                  struct bj_slice value, struct bj_err *err);

/* Empty a LIST, so that a source replaces the values of an earlier one. */
void bj_opt_restart(const struct bj_optset *set, const struct bj_opt *o);

#endif
