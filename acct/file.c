#include "acct/file.h"

#include "base/save.h"

#include <stdlib.h>
#include <sys/stat.h>

int bj_acct_to_file(const char *path,
                    int (*print)(void *ctx, FILE *to, struct bj_err *err),
                    void *ctx, struct bj_err *err)
{
    char *text = NULL;
    size_t n = 0;
    FILE *to = open_memstream(&text, &n);
    int r = to ? print(ctx, to, err) : bj_err_set(err, -ENOMEM, "output");
    if (to && fclose(to) != 0)
        r = bj_err_set(err, -ENOMEM, "output");
    if (r == 0) {
        const mode_t mask = umask(077);
        umask(mask);
        r = bj_save(path, (struct bj_slice){text, n}, 0640 & ~mask, 0, err);
    }
    free(text);
    return r;
}
