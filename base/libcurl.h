/* libcurl, loaded on first use: with its dependencies (LDAP, Kerberos, SSH and
 * more) it takes 1.2 MiB of a process that may never send a request. */
#ifndef BJ_BASE_LIBCURL_H
#define BJ_BASE_LIBCURL_H

#include "base/err.h"

#include <curl/curl.h>

/* The functions used, under their names. */
struct bj_libcurl {
    __typeof__(curl_global_init) *global_init;
    __typeof__(curl_easy_init) *easy_init;
    __typeof__(curl_easy_setopt) *easy_setopt;
    __typeof__(curl_easy_perform) *easy_perform;
    __typeof__(curl_easy_getinfo) *easy_getinfo;
    __typeof__(curl_easy_reset) *easy_reset;
    __typeof__(curl_easy_cleanup) *easy_cleanup;
    __typeof__(curl_easy_strerror) *easy_strerror;
    __typeof__(curl_easy_pause) *easy_pause;
    __typeof__(curl_multi_init) *multi_init;
    __typeof__(curl_multi_add_handle) *multi_add_handle;
    __typeof__(curl_multi_remove_handle) *multi_remove_handle;
    __typeof__(curl_multi_setopt) *multi_setopt;
    __typeof__(curl_multi_socket_action) *multi_socket_action;
    __typeof__(curl_multi_info_read) *multi_info_read;
    __typeof__(curl_multi_cleanup) *multi_cleanup;
    __typeof__(curl_slist_append) *slist_append;
    __typeof__(curl_slist_free_all) *slist_free_all;
    __typeof__(curl_getdate) *getdate;
};

/* Load it and start its global state; both stay.  From any thread.  -ENOSYS:
 * not found. */
int bj_libcurl_load(struct bj_libcurl *ret, struct bj_err *err);

#endif
