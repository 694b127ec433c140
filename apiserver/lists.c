/* Who the asker is, and what there is to choose from. */
#include "apiserver/call.h"

static int on_base(struct bj_call *c)
{
    bj_call_open(c);
    bj_buf_str(&c->reply->body, "[]");
    bj_call_close(c, "");
    return 0;
}

static int on_me(struct bj_call *c)
{
    static const char *const keys[] = {"user", "admin", "coordinator",
                                       "accounts"};
    struct bj_buf accounts = {0};
    struct bj_rows rows;
    for (unsigned i = 0; i < c->who.accounts; i++) {
        bj_buf_str(&accounts, i ? "," : "");
        bj_buf_slice(&accounts, c->who.account[i]);
    }
    bj_call_open(c);
    bj_rows_begin(&rows, &c->reply->body, false, keys, 4);
    bj_row_begin(&rows);
    bj_put_text(&rows, bj_slice_str(c->who.user));
    bj_put_bool(&rows, c->who.admin);
    bj_put_bool(&rows, c->who.accounts > 0);
    bj_put_text(&rows, accounts.len > 0
                           ? (struct bj_slice){accounts.p, accounts.len}
                           : BJ_SLICE(""));
    bj_row_end(&rows);
    bj_rows_end(&rows);
    bj_buf_free(&accounts);
    bj_call_close(c, "");
    return 0;
}

const struct bj_endpoint bj_endpoints_lists[] = {
    {"/api", BJ_HTTP_GET, 0, on_base},
    {"/api/v1", BJ_HTTP_GET, 0, on_base},
    {"/api/v1/me", BJ_HTTP_GET, BJ_NEED_USER, on_me},
    {.path = NULL},
};
