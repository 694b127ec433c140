/* Counters that continue after a restart are shown once they are saved, so that
 * no crash makes one fall.  Each has two copies: one of the last tick, and one
 * of the last tick that was saved, which is shown.  All change roles at once
 * when the state is saved, and none when that fails. */
#ifndef BJ_CORE_COPIES_H
#define BJ_CORE_COPIES_H

enum { BJ_COPIES = 2 };

/* Which is which: bj_core.copies. */
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
