/* The texts of schema.c's steps. */
#ifndef BJ_STATSDB_SCHEMA_SQL_H
#define BJ_STATSDB_SCHEMA_SQL_H

/* Statements, NULL at the end. */
extern const char *const bj_schema_1[];
extern const char *const bj_schema_1_views[];
extern const char *const bj_schema_2[];
extern const char *const bj_schema_2_views[];
extern const char *const bj_schema_3[];
extern const char *const bj_schema_3_views[];

#endif
