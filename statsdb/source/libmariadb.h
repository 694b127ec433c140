/* libmariadb, loaded at run time if Slurm's database is a source of a cluster.
 * Few sites need that, so the build needs neither header nor library.
 *
 * Source: MariaDB Connector/C 3, include/mysql.h; its ABI is that of the
 * library's file name, libmariadb.so.3. */
#ifndef BJ_STATSDB_SOURCE_LIBMARIADB_H
#define BJ_STATSDB_SOURCE_LIBMARIADB_H

#include "base/err.h"

struct bj_mysql;
struct bj_mysql_result;

/* The first members of MYSQL_FIELD; more follow. */
struct bj_mysql_field {
    char *name;
};

/* Values of enum mysql_option that are used. */
enum {
    BJ_MYSQL_CONNECT_TIMEOUT = 0,
    BJ_MYSQL_CHARSET_NAME = 7,
    BJ_MYSQL_LOCAL_INFILE = 8,
    BJ_MYSQL_PROTOCOL = 9,
    BJ_MYSQL_READ_TIMEOUT = 11,
    BJ_MYSQL_WRITE_TIMEOUT = 12,
    BJ_MYSQL_SSL_VERIFY_SERVER_CERT = 21,
    BJ_MYSQL_SSL_CA = 27
};

/* enum mysql_protocol_type. */
enum { BJ_MYSQL_TCP = 1, BJ_MYSQL_SOCKET = 2 };

/* The functions that are used, without the prefix "mysql_". */
struct bj_libmariadb {
    int (*server_init)(int argc, char **argv, char **groups);
    struct bj_mysql *(*init)(struct bj_mysql *m);
    int (*options)(struct bj_mysql *m, int option, const void *arg);
    struct bj_mysql *(*real_connect)(struct bj_mysql *m, const char *host,
                                     const char *user, const char *password,
                                     const char *database, unsigned port,
                                     const char *socket, unsigned long flags);
    int (*real_query)(struct bj_mysql *m, const char *sql, unsigned long n);
    struct bj_mysql_result *(*use_result)(struct bj_mysql *m);
    unsigned (*num_fields)(struct bj_mysql_result *r);
    struct bj_mysql_field *(*fetch_field)(struct bj_mysql_result *r);
    char **(*fetch_row)(struct bj_mysql_result *r);
    unsigned long *(*fetch_lengths)(struct bj_mysql_result *r);
    void (*free_result)(struct bj_mysql_result *r);
    unsigned (*error_number)(struct bj_mysql *m);
    const char *(*error)(struct bj_mysql *m);
    int (*cancel)(struct bj_mysql *m);
    void (*close)(struct bj_mysql *m);
};

/* Load the library, which stays loaded. -ENOSYS: it is missing. */
int bj_libmariadb_load(struct bj_libmariadb *ret, struct bj_err *err);

#endif
