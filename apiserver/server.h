/* The server: endpoints, what they have in common, and its own figures. */
#ifndef BJ_APISERVER_SERVER_H
#define BJ_APISERVER_SERVER_H

#include "apiserver/call.h"
#include "apiserver/conf.h"
#include "apiserver/words.h"

enum { BJ_API_ENDPOINTS = 48, BJ_API_CLASSES = 6 };

/* Requests of one endpoint, by the first digit of their status. */
struct bj_api_count {
    uint64_t n[BJ_API_CLASSES];
    uint64_t usec;
};

struct bj_api {
    const struct bj_api_conf *conf;
    struct bj_httpd *httpd;
    struct bj_reader *reader;
    struct bj_gate *gate;
    struct bj_words *words;
    struct bj_prompool *prom; /* NULL: none is configured */
    const struct bj_endpoint *endpoint[BJ_API_ENDPOINTS]; /* NULL at the end */
    struct bj_api_count count[BJ_API_ENDPOINTS]; /* the last one: no endpoint */
    struct bj_web_watch watch;
    struct bj_bucket bucket; /* of all requests together */
    bool reload_failed;
    uint64_t started_sec;
    uint64_t requests;   /* for request ids */
    char request_id[40]; /* of the one that runs */
    char next[48];       /* the cursor it ends with */
};

/* Make it; conf must outlive it.  Free it with bj_api_free, whatever was
 * returned. */
int bj_api_init(struct bj_api *a, const struct bj_api_conf *conf,
                struct bj_err *err);
void bj_api_free(struct bj_api *a);

/* Go on with other options.  The old ones stay when the new ones can't be. */
int bj_api_reload(struct bj_api *a, const struct bj_api_conf *conf,
                  struct bj_err *err);

/* Take over what has changed in the files of the web configuration, when it is
 * time to look; what is wrong is told in the log. */
void bj_api_follow(struct bj_api *a, uint64_t now_usec);

#endif
