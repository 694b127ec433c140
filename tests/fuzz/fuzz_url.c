/* URLs and headers of base/fetch.h: the shown form of a URL has no credentials,
 * and a header found lies inside the received bytes. */
#include "base/fetch_priv.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char buf[BJ_FETCH_SHOWN];
    char *url = malloc(size + 1);
    MUST(url);
    memcpy(url, data, size);
    url[size] = '\0';
    bj_fetch_show(url, buf);
    MUST(strlen(buf) < sizeof(buf));
    char *slashes = strstr(buf, "://");
    char *path = slashes ? strchr(slashes + 3, '/') : NULL;
    char *at = strchr(buf, '@');
    MUST(!at || (path && at > path)); /* only in the path */
    struct bj_fetch_origin o;
    if (bj_fetch_origin(url, &o) == 0) {
        MUST(o.host.n > 0 && o.host.p >= url && o.port <= 65535);
        MUST(o.host.p + o.host.n <= url + strlen(url));
        MUST(bj_fetch_same_origin(url, url));
    }
    free(url);

    struct bj_fetch_reply reply = {0};
    struct bj_slice rest = {(const char *)data, size}, line;
    while (bj_slice_line(&rest, &line)) {
        struct bj_slice whole = {line.p, (size_t)(rest.p - line.p)};
        MUST(bj_fetch_take_header(&reply, whole) == 0 || size > 65536);
    }
    struct bj_libcurl lib;
    MUST(bj_libcurl_load(&lib, NULL) == 0);
    bj_fetch_read_headers(&reply, lib.getdate);
    MUST(reply.retry_after_usec <= 86400ull * 1000000);
    struct bj_slice tag = bj_fetch_header(&reply, "ETag");
    MUST(!tag.p || (tag.p >= reply.headers.p &&
                    tag.p + tag.n <= reply.headers.p + reply.headers.len));
    bj_fetch_reply_free(&reply);
    return 0;
}
