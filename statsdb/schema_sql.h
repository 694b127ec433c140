/* The statements of schema.c's steps. */
#ifndef BJ_STATSDB_SCHEMA_SQL_H
#define BJ_STATSDB_SCHEMA_SQL_H

/* SQL of a step is written once, in words that store/postgres_sql.c knows;
 * where the engines differ altogether, both spellings follow each other, each
 * with the word of its engine in front. */
#define BJ_ONLY_SQLITE "/*sqlite*/"
#define BJ_ONLY_POSTGRESQL "/*postgresql*/"

/* In front of a CREATE TABLE: in PostgreSQL it is split by a column that holds
 * numbers of jobs or of final records (statsdb/month.h).  BJ_BY_ID for the
 * tables job and node_record. */
#define BJ_BY_ID "/*by id*/"
#define BJ_BY_JOB "/*by job*/"
#define BJ_BY_RECORD "/*by record*/"

/* A trigger of PostgreSQL for each row: when, on which table, under which
 * condition, and its statement. */
#define BJ_POSTGRESQL_TRIGGER(name, when, table, condition, sql)               \
    BJ_ONLY_POSTGRESQL "CREATE FUNCTION " name "() RETURNS trigger LANGUAGE"   \
                       " plpgsql AS $$ BEGIN " sql "; RETURN NULL; END $$;"    \
                       "CREATE TRIGGER " name " AFTER " when " ON " table      \
                       " FOR EACH ROW WHEN (" condition                        \
                       ") EXECUTE FUNCTION " name "()"

/* NULL at the end. */
extern const char *const bj_schema_accounting[];
extern const char *const bj_schema_measured[];
extern const char *const bj_schema_held[];
extern const char *const bj_schema_mail[];
extern const char *const bj_schema_running[];
extern const char *const bj_schema_site[];
extern const char *const bj_schema_access[];
extern const char *const bj_schema_gpu_model[];
extern const char *const bj_schema_views[];
extern const char *const bj_schema_people[]; /* of PostgreSQL */

#endif
