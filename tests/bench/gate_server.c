/* A server whose responses cost nothing: the same JSON text of BYTES bytes for
 * every request.
 *
 * gate_server BYTES
 *
 * Prints its port, and serves until its standard input ends. */
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *body;
static size_t bytes;

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c,
                                  const char *path, const char *method,
                                  const char *version, const char *upload,
                                  size_t *n, void **slot)
{
    static int seen;
    (void)ctx, (void)path, (void)method, (void)version, (void)upload;
    if (!*slot || *n > 0) {
        *slot = &seen;
        *n = 0;
        return MHD_YES;
    }
    struct MHD_Response *r =
        MHD_create_response_from_buffer(bytes, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(r, "Content-Type", "application/json");
    enum MHD_Result ok = MHD_queue_response(c, 200, r);
    MHD_destroy_response(r);
    return ok;
}

int main(int argc, char **argv)
{
    bytes = argc == 2 ? strtoul(argv[1], NULL, 10) : 0;
    body = bytes > 2 ? malloc(bytes) : NULL;
    if (!body)
        return 1;
    memset(body, ' ', bytes);
    memcpy(body, "{}", 2);
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL,
                         on_request, NULL, MHD_OPTION_END);
    if (!d)
        return 1;
    printf("%d\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    while (getchar() != EOF)
        ;
    MHD_stop_daemon(d);
    free(body);
    return 0;
}
