/* The dictionaries of the store: tables of numbers and texts. */
#ifndef BJ_STATSDB_TABLES_WORD_H
#define BJ_STATSDB_TABLES_WORD_H

enum bj_word {
    BJ_WORD_CLUSTER,
    BJ_WORD_SYSTEM, /* of a cluster */
    BJ_WORD_USER,
    BJ_WORD_ACCOUNT,
    BJ_WORD_PARTITION,
    BJ_WORD_QOS,
    BJ_WORD_NAME,
    BJ_WORD_HOSTS,
    BJ_WORD_TRES,
    BJ_WORD_STATE,
    BJ_WORD_OTHER,
    /* Ids of an owner, as digits. There is no query by text for these. */
    BJ_WORD_UID,
    BJ_WORD_GROUP,
    BJ_WORD_GID,
    BJ_WORDS
};

/* Queries with one parameter: text by number, and number by text. */
struct bj_word_sql {
    const char *text, *find;
};

extern const struct bj_word_sql bj_word_sql[BJ_WORDS];

#endif
