/* The catalogue of texts: a site may replace any sentence of sentence.c, and
 * any other text of reports, pages and mails (local_texts.c), by a line of a
 * file (report.texts):
 *
 *   # NAME = TEXT
 *   timeout = Der Auftrag erreichte seine Zeitgrenze von {1}.
 *   "Waiting jobs" = Wartende Aufträge
 *
 * A text must have the same placeholders {1} to {9} as the built-in one, in any
 * order.  The texts are in the store, so that all programs use the same ones.
 */
#ifndef BJ_REPORT_MODEL_CATALOGUE_H
#define BJ_REPORT_MODEL_CATALOGUE_H

#include "base/err.h"
#include "base/local.h"
#include "report/model/sentence.h"

struct bj_store;
struct bj_report;
struct bj_rules;
struct bj_db;

/* Efficiencies with levels. */
enum bj_level_of {
    BJ_LEVELS_CPU,
    BJ_LEVELS_MEMORY,
    BJ_LEVELS_GPU,
    BJ_LEVELS_TIME,
    BJ_LEVELS_COUNT
};

/* An efficiency below poor is poor, below fair fair, and above full almost
 * exhausted; in millionths of a percent.  These are thresholds of the rules
 * about the same values. */
struct bj_levels {
    uint64_t poor, fair, full;
};
enum { BJ_LEVEL_OVER = 105000000 }; /* the job used more than was allocated */

struct bj_catalogue {
    struct bj_arena arena;
    struct bj_slice text[BJ_SENTENCE_COUNT]; /* p NULL: the built-in one */
    struct bj_locals locals;                 /* all others */
    /* Numbers of the site for the next request (struct bj_report_next); 0: the
     * built-in ones. */
    int64_t memory_margin, time_margin, memory_of_cpu;
    const struct bj_rules *rules; /* of the site, for levels; NULL: built-in */
};

/* All texts except sentences; NULL at the end. */
extern const char *const bj_local_texts[];

/* Read a file into a zeroed catalogue, which stays empty without a path.
 * -EINVAL with file, line and the expected text, or an error of reading.  Free
 * the catalogue in any case. */
int bj_catalogue_load(const char *path, struct bj_catalogue *ret,
                      struct bj_err *err);
void bj_catalogue_free(struct bj_catalogue *c);

/* Read the content of such a file from a text; name is the file in messages. */
int bj_catalogue_parse(struct bj_slice text, const char *name,
                       struct bj_catalogue *ret, struct bj_err *err);

/* Append all built-in texts in the form of such a file. */
void bj_catalogue_print(struct bj_buf *out);

/* Replace the texts and numbers in the store.  0 or an error of the store. */
int bj_catalogue_write(struct bj_store *s, const struct bj_catalogue *c,
                       struct bj_err *err);

/* Read the texts other than sentences from the store.  0 or an error. */
int bj_catalogue_locals(struct bj_db *db, struct bj_locals *ret,
                        struct bj_err *err);

/* Read the levels of efficiencies from the store, which has those that differ
 * from the built-in ones.  0 or an error. */
int bj_catalogue_levels(struct bj_db *db, struct bj_levels ret[BJ_LEVELS_COUNT],
                        struct bj_err *err);

/* Use the sentences and numbers from the store in a report.  0 or an error of
 * the store. */
int bj_catalogue_use(struct bj_db *db, struct bj_report *r, struct bj_err *err);

#endif
