/* The minimum cost of a proxy with the same libraries: a thread for each
 * connection sends the request to a server and copies the response, without
 * users, limits, a parser and a log.
 *
 * gate_floor URL
 *
 * Prints its port, and serves until its standard input ends. */
#include "base/buf.h"
#include "base/libcurl.h"

#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>

static const char *server;
static struct bj_libcurl lib;
static __thread CURL *curl; /* with its connection */

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    bj_buf_put(ctx, p, size * n);
    return size * n;
}

static void fetch(const char *path, const struct bj_buf *form,
                  struct bj_buf *ret)
{
    char url[512];
    snprintf(url, sizeof(url), "%s%s", server, path);
    curl = curl ? curl : lib.easy_init();
    lib.easy_setopt(curl, CURLOPT_URL, url);
    lib.easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    lib.easy_setopt(curl, CURLOPT_POSTFIELDSIZE, (long)form->len);
    lib.easy_setopt(curl, CURLOPT_POSTFIELDS, form->p ? form->p : "");
    lib.easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    lib.easy_setopt(curl, CURLOPT_WRITEDATA, ret);
    lib.easy_perform(curl);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
                                  const char *path, const char *method,
                                  const char *version, const char *upload,
                                  size_t *n, void **slot)
{
    struct bj_buf *form = *slot, body = {0};
    (void)ctx;
    (void)method;
    (void)version;
    if (!form) {
        *slot = calloc(1, sizeof(*form));
        return MHD_YES;
    }
    if (*n > 0) {
        bj_buf_put(form, upload, *n);
        *n = 0;
        return MHD_YES;
    }
    fetch(path, form, &body);
    bj_buf_free(form);
    free(form);
    *slot = NULL;
    struct MHD_Response *r = MHD_create_response_from_buffer(
        body.len, body.p, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result ok = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return ok;
}

int main(int argc, char **argv)
{
    struct bj_err err;
    if (argc != 2 || bj_libcurl_load(&lib, &err) < 0)
        return 1;
    server = argv[1];
    lib.global_init(CURL_GLOBAL_DEFAULT);
    struct MHD_Daemon *d = MHD_start_daemon(
        MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_THREAD_PER_CONNECTION, 0,
        NULL, NULL, on_request, NULL, MHD_OPTION_END);
    if (!d)
        return 1;
    printf("%d\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    MHD_stop_daemon(d);
    return 0;
}
