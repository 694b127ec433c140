#include "store/libpq.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

#define CALL(member, symbol)                                                   \
    {                                                                          \
        symbol, offsetof(struct bj_libpq, member)                              \
    }

static const struct {
    const char *name;
    size_t off;
} calls[] = {
    CALL(conninfo_parse, "PQconninfoParse"),
    CALL(conninfo_free, "PQconninfoFree"),
    CALL(freemem, "PQfreemem"),
    CALL(connect, "PQconnectdbParams"),
    CALL(finish, "PQfinish"),
    CALL(status, "PQstatus"),
    CALL(transaction, "PQtransactionStatus"),
    CALL(parameter, "PQparameterStatus"),
    CALL(server_version, "PQserverVersion"),
    CALL(error, "PQerrorMessage"),
    CALL(socket, "PQsocket"),
    CALL(notice, "PQsetNoticeProcessor"),
    CALL(get_cancel, "PQgetCancel"),
    CALL(free_cancel, "PQfreeCancel"),
    CALL(cancel, "PQcancel"),
    CALL(send_query, "PQsendQuery"),
    CALL(send_params, "PQsendQueryParams"),
    CALL(send_prepare, "PQsendPrepare"),
    CALL(send_describe, "PQsendDescribePrepared"),
    CALL(send_prepared, "PQsendQueryPrepared"),
    CALL(single_row, "PQsetSingleRowMode"),
    CALL(consume, "PQconsumeInput"),
    CALL(is_busy, "PQisBusy"),
    CALL(get_result, "PQgetResult"),
    CALL(put_copy, "PQputCopyData"),
    CALL(end_copy, "PQputCopyEnd"),
    CALL(get_copy, "PQgetCopyData"),
    CALL(result_status, "PQresultStatus"),
    CALL(result_error, "PQresultErrorMessage"),
    CALL(result_field, "PQresultErrorField"),
    CALL(rows, "PQntuples"),
    CALL(columns, "PQnfields"),
    CALL(column_name, "PQfname"),
    CALL(column_type, "PQftype"),
    CALL(value, "PQgetvalue"),
    CALL(length, "PQgetlength"),
    CALL(is_null, "PQgetisnull"),
    CALL(command, "PQcmdStatus"),
    CALL(changed, "PQcmdTuples"),
    CALL(clear, "PQclear"),
};

static struct bj_libpq lib;
static const char *missing; /* NULL: loaded */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void libpq_load(void)
{
    missing = "libpq is not installed (Debian: libpq5, RHEL: libpq)";
    void *of = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!of)
        return;
    missing = "libpq is older than version 13";
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *call = dlsym(of, calls[i].name);
        if (!call)
            return;
        /* POSIX allows this conversion to a function pointer. */
        memcpy((char *)&lib + calls[i].off, &call, sizeof(call));
    }
    missing = NULL;
}

int bj_libpq_load(const struct bj_libpq **ret, struct bj_err *err)
{
    pthread_once(&once, libpq_load);
    if (missing)
        return bj_err_set(err, -ENOSYS, "PostgreSQL: %s", missing);
    *ret = &lib;
    return 0;
}
