/* Counters that continue after a restart are shown only after they were saved,
 * so that none falls after a crash.  Each has two copies: one of the last tick,
 * and one of the last tick that was saved, which is shown.  When the state is
 * saved, all copies change roles at once; if saving fails, none does. */
#ifndef BJ_CORE_COPIES_H
#define BJ_CORE_COPIES_H

enum { BJ_COPIES = 2 };

/* The indices of the two copies: bj_core.copies. */
struct bj_copies {
    unsigned last, shown;
};

/* A tick begins: it writes the copy that is not shown. */
static inline void bj_copies_begin(struct bj_copies *c)
{
    c->last = !c->shown;
}

/* The last tick was saved. */
static inline void bj_copies_show(struct bj_copies *c)
{
    c->shown = c->last;
}

#endif
