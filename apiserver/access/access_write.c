#include "apiserver/access/access_write.h"

#include "apiserver/access/access.h"
#include "statsdb/tables/schema.h"
#include "statsdb/tables/store.h"
#include "store/db.h"

static int insert_all(const struct bj_access *a, struct bj_db *db, size_t *ret,
                      struct bj_err *err)
{
    static const char sql[] =
        "INSERT INTO access_rule(user, account) VALUES(?1, ?2)";
    struct bj_slice user, account;
    struct bj_st *st = NULL;
    size_t n = 0;
    int r = bj_db_prepare(db, sql, &st, err);
    for (; r == 0 && bj_access_right(a, n, &user, &account); n++) {
        bj_st_bind_text(st, 1, user);
        bj_st_bind_text(st, 2, account.n > 0 ? account : BJ_SLICE(""));
        r = bj_st_run(st, err);
    }
    bj_st_finalize(st);
    *ret = n;
    return r;
}

static int write_all(const struct bj_access *a, struct bj_db *db, size_t *ret,
                     struct bj_err *err)
{
    bool people = false;
    int r = bj_schema_make_people(db, &people, err);
    if (r == 0 && !people)
        r = bj_err_set(err, -ENOTSUP,
                       "the store has no schema people that belongs to this "
                       "role; examples/postgresql.sql makes one in PostgreSQL");
    if (r == 0)
        r = bj_db_exec(db, "DELETE FROM access_rule", err);
    return r < 0 ? r : insert_all(a, db, ret, err);
}

static int in_transaction(const struct bj_access *a, struct bj_store *s,
                          size_t *ret, struct bj_err *err)
{
    int r = bj_store_begin(s, err);
    if (r < 0)
        return r;
    r = write_all(a, bj_store_db(s), ret, err);
    if (r == 0)
        r = bj_store_commit(s, err);
    if (r < 0)
        bj_store_rollback(s);
    return r;
}

int bj_access_write(const struct bj_api_conf *conf, size_t *ret,
                    struct bj_err *err)
{
    const struct bj_store_options opt = {.path = conf->store,
                                         .any_filesystem = conf->any_filesystem,
                                         .short_writes = true};
    struct bj_access *a = NULL;
    struct bj_store *s = NULL;
    int r = bj_access_new(&conf->admins, &conf->coordinators, conf->access_file,
                          &a, err);
    if (r == 0)
        r = bj_store_open(&opt, &s, err);
    if (r == 0)
        r = in_transaction(a, s, ret, err);
    bj_store_close(s);
    bj_access_free(a);
    return r;
}
