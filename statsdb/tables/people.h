/* Names of users and accounts in the store: rename one, and delete what a job's
 * row says of a person. */
#ifndef BJ_STATSDB_TABLES_PEOPLE_H
#define BJ_STATSDB_TABLES_PEOPLE_H

#include "base/err.h"
#include "statsdb/tables/store.h"

enum bj_people { BJ_PEOPLE_USER, BJ_PEOPLE_ACCOUNT };

/* Give all jobs, final records and daily sums of a name the other one, in one
 * transaction. If the store has both, they are one from then on, with added
 * sums. -ENOENT  no job has the old name -EINVAL  the new name is empty, or the
 * same */
int bj_people_rename(struct bj_store *s, enum bj_people kind, const char *from,
                     const char *to, struct bj_err *err);

/* Remove what the store says of a person: the user's name becomes
 * BJ_PEOPLE_DELETED, the same for all deleted users; ids of user and group,
 * names, directories, command lines and comments of their jobs, and choices and
 * logs of mails, are removed. What the jobs used stays. -ENOENT  no job has
 * that user */
int bj_people_delete(struct bj_store *s, const char *user, struct bj_err *err);

#define BJ_PEOPLE_DELETED "(deleted)"

#endif
