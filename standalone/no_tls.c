/* libmicrohttpd is linked with GnuTLS, and sets it up when it is loaded: 0.9
 * MiB of memory and a fifth of the time to start, for a library that has
 * nothing to do here, since this program has no TLS.  The first function is
 * GnuTLS's own switch for that (GNUTLS_SKIP_GLOBAL_INIT in gnutls.h), the other
 * two answer the calls in libmicrohttpd's constructor and destructor.  Whoever
 * adds TLS removes this file. */

#define PUBLIC __attribute__((visibility("default")))

int _gnutls_global_init_skip(void);
int gnutls_global_init(void);
void gnutls_global_deinit(void);

PUBLIC int _gnutls_global_init_skip(void)
{
    return 1;
}

PUBLIC int gnutls_global_init(void)
{
    return 0;
}

PUBLIC void gnutls_global_deinit(void)
{
}
