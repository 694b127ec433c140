#include "standalone/accept.h"

#include "base/accept.h"

/* Three forms match plain text; the most specific one counts. */
enum bj_page_format bj_accept_format(struct bj_slice accept)
{
    struct bj_accept_best text = {0}, open = {0};
    struct bj_accept_item it;
    while (bj_accept_next(&accept, &it)) {
        if (bj_accept_is(it.name, "application/openmetrics-text")) {
            if (it.version.n == 0 || bj_accept_is(it.version, "1.0.0") ||
                bj_accept_is(it.version, "0.0.1"))
                bj_accept_consider(&open, 1, it.weight);
        } else if (bj_accept_is(it.name, "text/plain")) {
            if (it.version.n == 0 || bj_accept_is(it.version, "0.0.4"))
                bj_accept_consider(&text, 3, it.weight);
        } else if (bj_accept_is(it.name, "text/*")) {
            bj_accept_consider(&text, 2, it.weight);
        } else if (bj_accept_is(it.name, "*/*")) {
            bj_accept_consider(&text, 1, it.weight);
        }
    }
    return open.weight > 0 && open.weight >= text.weight ? BJ_PAGE_OPENMETRICS
                                                         : BJ_PAGE_TEXT;
}
