/* The minimum cost of a proxy with the same libraries in one thread, without
 * users, limits, a parser and a log: libmicrohttpd and libcurl's multi handle
 * in one loop, so that a slow server does not delay other clients.  Each
 * response is kept until it is complete.
 *
 * gate_floor_loop URL
 *
 * Prints its port, and serves until its standard input ends. */
#include "base/buf.h"

#include <curl/curl.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

/* One connection of a client, which may send many requests. */
struct client {
    struct MHD_Connection *mhd;
    CURL *curl;
    struct bj_buf form, body;
    bool sent, done;
};

static const char *server;
static CURLM *multi;

static size_t on_body(char *p, size_t size, size_t n, void *ctx)
{
    bj_buf_put(ctx, p, size * n);
    return size * n;
}

static void on_connection(void *ctx, struct MHD_Connection *mhd, void **slot,
                          enum MHD_ConnectionNotificationCode code)
{
    struct client *c = *slot;
    (void)ctx;
    if (code == MHD_CONNECTION_NOTIFY_STARTED) {
        c = calloc(1, sizeof(*c));
        if (!c)
            exit(1);
        c->mhd = mhd;
        c->curl = curl_easy_init();
        curl_easy_setopt(c->curl, CURLOPT_WRITEFUNCTION, on_body);
        curl_easy_setopt(c->curl, CURLOPT_WRITEDATA, &c->body);
        curl_easy_setopt(c->curl, CURLOPT_PRIVATE, c);
        curl_easy_setopt(c->curl, CURLOPT_NOSIGNAL, 1L);
        *slot = c;
        return;
    }
    curl_easy_cleanup(c->curl);
    bj_buf_free(&c->form);
    bj_buf_free(&c->body);
    free(c);
}

static void send_on(struct client *c, const char *path)
{
    char url[512];
    snprintf(url, sizeof(url), "%s%s", server, path);
    curl_easy_setopt(c->curl, CURLOPT_URL, url);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDSIZE, (long)c->form.len);
    curl_easy_setopt(c->curl, CURLOPT_POSTFIELDS, c->form.p ? c->form.p : "");
    curl_multi_add_handle(multi, c->curl);
    MHD_suspend_connection(c->mhd);
}

static enum MHD_Result answer(struct client *c)
{
    struct MHD_Response *r = MHD_create_response_from_buffer(
        c->body.len, c->body.p, MHD_RESPMEM_MUST_FREE);
    enum MHD_Result ok = MHD_queue_response(c->mhd, 200, r);
    MHD_destroy_response(r);
    c->body = (struct bj_buf){0};
    c->form.len = 0;
    c->sent = c->done = false;
    return ok;
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *mhd,
                                  const char *path, const char *method,
                                  const char *version, const char *upload,
                                  size_t *n, void **slot)
{
    struct client *c =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
            ->socket_context;
    (void)ctx, (void)method, (void)version;
    if (!*slot) {
        *slot = c;
    } else if (*n > 0) {
        bj_buf_put(&c->form, upload, *n);
        *n = 0;
    } else if (c->done) {
        return answer(c);
    } else if (!c->sent) {
        c->sent = true;
        send_on(c, path);
    }
    return MHD_YES;
}

static void resume_answered(void)
{
    int left;
    for (CURLMsg *m; (m = curl_multi_info_read(multi, &left));) {
        char *private = NULL;
        CURL *curl = m->easy_handle;
        curl_easy_getinfo(curl, CURLINFO_PRIVATE, &private);
        struct client *c = (struct client *)(void *)private;
        curl_multi_remove_handle(multi, curl);
        c->done = true;
        MHD_resume_connection(c->mhd);
    }
}

static void serve(struct MHD_Daemon *d)
{
    struct curl_waitfd wait[] = {
        {.fd = MHD_get_daemon_info(d, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
         .events = CURL_WAIT_POLLIN},
        {.fd = 0, .events = CURL_WAIT_POLLIN}};
    int n;
    for (;;) {
        MHD_UNSIGNED_LONG_LONG ms;
        bool busy = MHD_get_timeout(d, &ms) == MHD_YES && ms == 0;
        curl_multi_wait(multi, wait, 2, busy ? 0 : 1000, &n);
        if (wait[1].revents && getchar() == EOF)
            return;
        curl_multi_perform(multi, &n);
        resume_answered();
        MHD_run(d);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 1;
    server = argv[1];
    curl_global_init(CURL_GLOBAL_DEFAULT);
    multi = curl_multi_init();
    struct MHD_Daemon *d =
        MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL,
                         NULL, on_request, NULL, MHD_OPTION_NOTIFY_CONNECTION,
                         on_connection, NULL, MHD_OPTION_END);
    if (!d || !multi)
        return 1;
    printf("%d\n", MHD_get_daemon_info(d, MHD_DAEMON_INFO_BIND_PORT)->port);
    fflush(stdout);
    serve(d);
    MHD_stop_daemon(d);
    curl_multi_cleanup(multi);
    return 0;
}
