#include "statsdb/source/libmariadb.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define CALL(member, symbol)                                                   \
    {                                                                          \
        symbol, offsetof(struct bj_libmariadb, member)                         \
    }

static const struct {
    const char *name;
    size_t off;
} calls[] = {
    CALL(server_init, "mysql_server_init"),
    CALL(init, "mysql_init"),
    CALL(options, "mysql_options"),
    CALL(real_connect, "mysql_real_connect"),
    CALL(real_query, "mysql_real_query"),
    CALL(use_result, "mysql_use_result"),
    CALL(num_fields, "mysql_num_fields"),
    CALL(fetch_field, "mysql_fetch_field"),
    CALL(fetch_row, "mysql_fetch_row"),
    CALL(fetch_lengths, "mysql_fetch_lengths"),
    CALL(free_result, "mysql_free_result"),
    CALL(error_number, "mysql_errno"),
    CALL(error, "mysql_error"),
    CALL(cancel, "mariadb_cancel"),
    CALL(close, "mysql_close"),
};

int bj_libmariadb_load(struct bj_libmariadb *ret, struct bj_err *err)
{
    void *lib =
        dlopen("libmariadb.so.3", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        return bj_err_set(err, -ENOSYS, "libmariadb is not installed");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *call = dlsym(lib, calls[i].name);
        if (!call)
            return bj_err_set(err, -ENOSYS, "libmariadb lacks %s",
                              calls[i].name);
        /* POSIX allows this conversion to a function pointer. */
        memcpy((char *)ret + calls[i].off, &call, sizeof(call));
    }
    return ret->server_init(-1, NULL, NULL) == 0
               ? 0
               : bj_err_set(err, -ENOSYS, "cannot start libmariadb");
}
