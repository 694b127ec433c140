/* One thread that does one kind of work, a piece at a time, for another one. */
#ifndef BJ_STATSDB_BACKGROUND_H
#define BJ_STATSDB_BACKGROUND_H

struct bj_background;

/* Start a thread that calls work(ctx) for each bj_background_go.  It takes no
 * signals.  0, or -errno when there is no thread to be had. */
int bj_background_new(int (*work)(void *ctx), void *ctx,
                      struct bj_background **ret);

/* Wait for the piece that is being done, and end the thread; NULL is fine. */
void bj_background_free(struct bj_background *w);

/* Begin a piece; none must be under way.  What the caller wrote before is seen
 * by the work, what the work wrote is seen after bj_background_wait. */
void bj_background_go(struct bj_background *w);

/* Wait until no piece is under way: what the last one returned, once; else 0.
 */
int bj_background_wait(struct bj_background *w);

#endif
