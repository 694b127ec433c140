/* libmicrohttpd is linked with GnuTLS and initializes it when it is loaded: 0.9
 * MiB of memory and a fifth of the start time, even without TLS.  This file
 * delays that until base/tls.c configures TLS or another library needs it.  The
 * first function is GnuTLS's own switch (GNUTLS_SKIP_GLOBAL_INIT in gnutls.h);
 * the other two intercept the calls of libmicrohttpd's constructor and
 * destructor and pass on all others. */
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>

#define PUBLIC __attribute__((visibility("default")))

int _gnutls_global_init_skip(void);
int gnutls_global_init(void);
void gnutls_global_deinit(void);

PUBLIC int _gnutls_global_init_skip(void)
{
    return 1;
}

static bool is_microhttpd(void *caller)
{
    Dl_info info;
    return dladdr(caller, &info) != 0 && info.dli_fname &&
           strstr(info.dli_fname, "libmicrohttpd");
}

PUBLIC int gnutls_global_init(void)
{
    int (*real)(void) = NULL;
    if (is_microhttpd(__builtin_return_address(0)))
        return 0;
    void *call = dlsym(RTLD_NEXT, "gnutls_global_init");
    memcpy(&real, &call, sizeof(real)); /* POSIX guarantees the size */
    return real ? real() : -1;
}

PUBLIC void gnutls_global_deinit(void)
{
    void (*real)(void) = NULL;
    if (is_microhttpd(__builtin_return_address(0)))
        return;
    void *call = dlsym(RTLD_NEXT, "gnutls_global_deinit");
    memcpy(&real, &call, sizeof(real));
    if (real)
        real();
}
