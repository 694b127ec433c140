/* The statements of schema.c's steps. */
#ifndef BJ_STATSDB_SCHEMA_SQL_H
#define BJ_STATSDB_SCHEMA_SQL_H

/* NULL at the end. */
extern const char *const bj_schema_accounting[];
extern const char *const bj_schema_measured[];
extern const char *const bj_schema_held[];
extern const char *const bj_schema_mail[];
extern const char *const bj_schema_running[];
extern const char *const bj_schema_site[];
extern const char *const bj_schema_views[];

#endif
