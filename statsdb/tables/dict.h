/* Dictionaries: repeated texts are stored once and referenced by a small
 * number. Each has a cache of limited size. */
#ifndef BJ_STATSDB_TABLES_DICT_H
#define BJ_STATSDB_TABLES_DICT_H

#include "base/err.h"
#include "base/slice.h"

#include <stdbool.h>
#include <stdint.h>

struct bj_db;

enum bj_dict_id {
    BJ_DICT_USER,
    BJ_DICT_ACCOUNT,
    BJ_DICT_PARTITION,
    BJ_DICT_QOS,
    BJ_DICT_JOBNAME,
    BJ_DICT_HOSTS,
    BJ_DICT_TRES,
    BJ_DICT_WORD,
    BJ_DICT_TEXTS, /* dictionaries above contain texts, those below combinations
                    */
    BJ_DICT_OWNER = BJ_DICT_TEXTS,
    BJ_DICT_ASSOC,
    BJ_DICTS
};

/* Longest text of an entry; longer ones are cut. */
enum { BJ_DICT_TEXT_MAX = 16384 };

struct bj_dicts;

/* For the writer of the store; not thread-safe. */
int bj_dicts_new(struct bj_db *db, struct bj_dicts **ret, struct bj_err *err);
void bj_dicts_free(struct bj_dicts *d);

/* Drop the caches, after a rollback. */
void bj_dicts_clear(struct bj_dicts *d);

/* Look up many texts by one request (PostgreSQL): while this is on, the
 * functions below return a preliminary, negative number for an entry that is
 * not in the cache. bj_dicts_settle finds or adds all these entries; then
 * bj_dicts_settled returns their final numbers, until the next preliminary
 * number is returned. */
void bj_dicts_defer(struct bj_dicts *d, bool on);
int bj_dicts_settle(struct bj_dicts *d, struct bj_err *err);

/* Return the final number for a preliminary one; other numbers are returned
 * unchanged. */
int64_t bj_dicts_settled(const struct bj_dicts *d, int64_t number);

/* Return the number of a text; a new text is added. The empty text is an entry,
 * too. */
int bj_dict_text(struct bj_dicts *d, enum bj_dict_id which,
                 struct bj_slice text, int64_t *ret, struct bj_err *err);

/* Return the number of a job's owner; uid and gid may be BJ_SQL_NULL. */
int bj_dict_owner(struct bj_dicts *d, int64_t uid, int64_t gid,
                  struct bj_slice group, int64_t *ret, struct bj_err *err);

/* Return the number of a combination of cluster, account, user and partition.
 */
int bj_dict_assoc(struct bj_dicts *d, const int64_t of[4], int64_t *ret,
                  struct bj_err *err);

/* Return the number of a cluster, which is added if it is new; stores its batch
 * system when that becomes known.  Not cached. */
int bj_dict_cluster(struct bj_dicts *d, struct bj_slice name,
                    struct bj_slice system, int64_t *ret, struct bj_err *err);

#endif
