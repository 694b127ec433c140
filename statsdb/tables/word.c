#include "statsdb/tables/word.h"

#define WORD(table, column)                                                    \
    {                                                                          \
        "SELECT " column " FROM \"" table "\" WHERE id = ?1",                  \
            "SELECT id FROM \"" table "\" WHERE " column " = ?1"               \
    }

const struct bj_word_sql bj_word_sql[BJ_WORDS] = {
    [BJ_WORD_CLUSTER] = WORD("cluster", "name"),
    [BJ_WORD_SYSTEM] = WORD("cluster", "system"),
    [BJ_WORD_USER] = WORD("user", "name"),
    [BJ_WORD_ACCOUNT] = WORD("account", "name"),
    [BJ_WORD_PARTITION] = WORD("partition", "name"),
    [BJ_WORD_QOS] = WORD("qos", "name"),
    [BJ_WORD_NAME] = WORD("jobname", "text"),
    [BJ_WORD_HOSTS] = WORD("hosts", "text"),
    [BJ_WORD_TRES] = WORD("tres", "text"),
    [BJ_WORD_STATE] = WORD("state", "name"),
    [BJ_WORD_OTHER] = WORD("word", "text"),
    [BJ_WORD_UID] = {.text = "SELECT uid FROM owner WHERE id = ?1"},
    [BJ_WORD_GROUP] = {.text = "SELECT nullif(grp, '') FROM owner "
                               "WHERE id = ?1"},
    [BJ_WORD_GID] = {.text = "SELECT gid FROM owner WHERE id = ?1"},
};
