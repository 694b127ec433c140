/* Shared by record.c and record_dir.c only. */
#ifndef BJ_STATSDB_RECORD_RECORD_IMPL_H
#define BJ_STATSDB_RECORD_RECORD_IMPL_H

#include "base/arena.h"
#include "statsdb/record/record.h"
#include "statsdb/tables/dict.h"
#include "statsdb/tables/record_month.h"
#include "statsdb/tables/record_number.h"
#include "statsdb/tables/record_rows.h"

enum {
    BJ_RECORD_HOST,
    BJ_RECORD_HOST_ADD,
    BJ_RECORD_CLUSTER,
    BJ_RECORD_STATEMENTS
};

struct bj_records {
    struct bj_store *store;
    struct bj_dicts *dicts;
    struct bj_arena arena; /* per record */
    char cluster[256];     /* name and batch system of the last cluster */
    size_t cluster_bytes;
    int64_t cluster_id;
    bool follow;              /* are numbers computed from records? */
    struct bj_record_key key; /* of the record that is stored */
    struct bj_record_months months;
    struct bj_record_rows *rows;
    struct bj_st *st[BJ_RECORD_STATEMENTS];
    struct bj_st *add[BJ_MONTHS];
    char text[BJ_RECORD_BYTES];
};

#endif
