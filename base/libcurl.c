#include "base/libcurl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <string.h>

/* Variants of one interface: with OpenSSL or as upstream, with GnuTLS (Debian).
 */
static const char *const libraries[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};

#define CALL(call)                                                             \
    {                                                                          \
        "curl_" #call, offsetof(struct bj_libcurl, call)                       \
    }
static const struct {
    const char *name;
    size_t off;
} calls[] = {
    CALL(global_init),     CALL(easy_init),
    CALL(easy_setopt),     CALL(easy_perform),
    CALL(easy_getinfo),    CALL(easy_reset),
    CALL(easy_cleanup),    CALL(easy_strerror),
    CALL(slist_append),    CALL(slist_free_all),
    CALL(getdate),         CALL(easy_pause),
    CALL(multi_init),      CALL(multi_add_handle),
    CALL(multi_setopt),    CALL(multi_remove_handle),
    CALL(multi_info_read), CALL(multi_socket_action),
    CALL(multi_cleanup),
};

int bj_libcurl_load(struct bj_libcurl *ret, struct bj_err *err)
{
    /* libcurl's global state is started once in a process and never stopped:
     * other code may use it too. */
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    void *lib = NULL;
    for (size_t i = 0; !lib && i < sizeof(libraries) / sizeof(libraries[0]);
         i++)
        lib = dlopen(libraries[i], RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!lib)
        return bj_err_set(err, -ENOSYS, "libcurl is not installed");
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        void *call = dlsym(lib, calls[i].name);
        if (!call)
            return bj_err_set(err, -ENOSYS, "libcurl lacks %s", calls[i].name);
        /* POSIX guarantees that a pointer to a function fits. */
        memcpy((char *)ret + calls[i].off, &call, sizeof(call));
    }
    pthread_mutex_lock(&one_at_a_time);
    ret->global_init(CURL_GLOBAL_DEFAULT);
    pthread_mutex_unlock(&one_at_a_time);
    return 0;
}
