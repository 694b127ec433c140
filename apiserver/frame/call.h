/* A request in the API, and its response. */
#ifndef BJ_APISERVER_FRAME_CALL_H
#define BJ_APISERVER_FRAME_CALL_H

#include "apiserver/access/auth.h"
#include "apiserver/frame/endpoint_list.h"
#include "apiserver/frame/reader.h"
#include "base/err.h"
#include "base/httpd.h"
#include "statsdb/job/rows.h"

struct bj_api_worker;
struct bj_endpoint;
struct bj_gate_job;
struct bj_column;
struct bj_json;

enum { BJ_TAG_BYTES = 24 };

struct bj_texts;

struct bj_call {
    struct bj_api_worker *worker;
    const struct bj_endpoint *endpoint; /* NULL: no endpoint matches */
    const struct bj_http_request *req;
    struct bj_http_reply *reply;
    /* the part of the path that '*' of the endpoint matches */
    struct bj_slice tail;
    /* in a transaction, if the endpoint needs the store */
    struct bj_reader *reader;
    struct bj_identity identity; /* the user, if the endpoint needs one */
    const struct bj_json *body;  /* of a POST, if parsed */
    void *work;                  /* from run to after */
    struct bj_texts *texts;      /* a reference */
    struct bj_gate_job *forward; /* set by run: Prometheus responds */
    char request_id[40];
    char refusal[1200]; /* the sentence of a refusal */
    char about[80]; /* the users or accounts that an admin queried, for the log
                     */
    char next[48];  /* cursor of the next page, sent as a header */
    char tag[BJ_TAG_BYTES]; /* ETag, sent as a header */
    char lag[24];   /* the replica's lag in seconds, or "null"; empty: the store
                       is not a replica */
    char retry[24]; /* seconds until the client may try again, sent as a header
                     */
    char policy[240 + BJ_FRAME_ANCESTORS_MAX]; /* of a page, sent as a header */
    char location[640]; /* of a redirection, sent as a header */
    int64_t now_sec;    /* wall clock */
    struct bj_err err;
};

/* A parameter of an endpoint that reads its parameters itself, for the OpenAPI
 * document. */
struct bj_own_param {
    const char *name, *help;
    const char *schema; /* JSON */
    unsigned bit;       /* in the masks of endpoints */
};

/* What an endpoint needs before it runs. */
enum { BJ_NEED_STORE = 1, BJ_NEED_USER = 2 };

/* Who sees a page in the menu. */
enum bj_menu_for { BJ_MENU_ALL, BJ_MENU_COORDINATORS, BJ_MENU_ADMINS };

/* One path of the API. */
struct bj_endpoint {
    const char *path; /* as in base/httpd.h; may contain '*' */
    unsigned methods;
    unsigned needs;
    bool digit; /* what '*' matches begins with a digit */
    bool quick; /* with few parameters, run needs a millisecond at most and
                   never waits */
    /* Write the response. 0: done; positive: a refusal, as returned by
     * bj_call_refuse; negative: an error of the store, with call->err filled
     * in. For results other than 0, the written response is discarded. */
    int (*run)(struct bj_call *call);
    /* The second part, which runs after run has returned 0, without the store;
     * NULL: none.  It may block, so it uses only work (which it frees), req,
     * reply and err, and the server's room.  Returns the same as run. */
    int (*after)(struct bj_call *call);
    /* Converts the document of a refusal to another form; may be NULL. */
    void (*refused)(struct bj_call *call);
    const char *to_root; /* pages: relative path to the root, "" or "../" */
    const char *menu;    /* pages: the title in the menu; NULL: not there */
    enum bj_menu_for menu_for;
    /* For the OpenAPI document. */
    const char *help;     /* NULL: not listed there */
    const char *type;     /* type of a response without rows; NULL: JSON */
    struct bj_slice file; /* the response of a static file */
    unsigned params;      /* mask of apiserver/frame/params.h */
    const struct bj_own_param *own;  /* NULL, or ends with name NULL */
    unsigned own_params, required;   /* masks of own */
    const struct bj_column *columns; /* of the rows; NULL: no rows */
    bool series; /* and the columns of the metrics of time series */
};

/* Does the endpoint return rows, which may be CSV? */
static inline bool bj_endpoint_has_rows(const struct bj_endpoint *e)
{
    return e->columns;
}

/* The tables of endpoints; each ends with path NULL. */
#define BJ_ENDPOINTS_DECLARED(name)                                            \
    extern const struct bj_endpoint bj_endpoints_##name[];
BJ_ENDPOINT_TABLES(BJ_ENDPOINTS_DECLARED)
#undef BJ_ENDPOINTS_DECLARED

/* All tables of endpoints; NULL at the end. */
extern const struct bj_endpoint *const bj_endpoint_tables[];

/* Write an error document with one sentence. Returns status. */
int bj_call_refuse(struct bj_call *c, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Log the error of the call; about: what failed. */
void bj_call_log(const struct bj_call *c, const char *about);

/* Record for the log which user's or account's jobs an admin queries; s is
 * copied. */
void bj_call_about(struct bj_call *c, struct bj_slice s);

/* Set a header of the response, or replace the one of that name; value must be
 * static or belong to the call. */
void bj_call_header(struct bj_call *c, const char *name, const char *value);

/* The envelope of JSON responses.  bj_call_open writes
 * {"status":"success","data":, then the caller appends the value of data.
 * bj_call_close appends more members, "" or ",\"meta\":{...}", to which it adds
 * the lag of a replica. */
void bj_call_open(struct bj_call *c);
void bj_call_close(struct bj_call *c, const char *more);

/* CSV if the parameter format is "csv", or without it if the header Accept
 * begins with CSV; else objects. */
enum bj_shape bj_call_shape(const struct bj_call *c);

/* Write rows in the shape of bj_call_shape, in JSON with the envelope: begin,
 * put rows, end.  more: see bj_call_close; not used for CSV. */
void bj_call_rows(struct bj_call *c, struct bj_rows *rows,
                  const char *const *key, unsigned keys);
void bj_call_rows_end(struct bj_call *c, struct bj_rows *rows,
                      const char *more);

#endif
