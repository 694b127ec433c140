#include "apiserver/frame/faculty.h"

#include "base/file.h"
#include "base/opt.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FILE_MOST = 1 << 20, NAME_BYTES = 64 };

struct bj_slice bj_faculty_of(struct bj_slice text, struct bj_slice account)
{
    struct bj_slice line, name;
    while (bj_slice_line(&text, &line)) {
        line = bj_slice_trim(line);
        if (line.n == 0 || *line.p == '#' || !bj_slice_word(&line, &name) ||
            !bj_slice_eq(name, account))
            continue;
        line = bj_slice_trim(line);
        if (line.n > 0)
            return line;
    }
    return (struct bj_slice){0};
}

static const char *only_name(const void *ctx, size_t i)
{
    return i == 0 ? ctx : NULL;
}

/* Check an account and its faculty.  A sign between them is a mistake. */
static int check_line(struct bj_slice line, struct bj_err *err)
{
    struct bj_slice word;
    char shown[NAME_BYTES], meant[NAME_BYTES], like[BJ_OPT_SUGGESTION];
    if (!bj_slice_word(&line, &word) || *word.p == '#')
        return 0;
    bool alone = bj_slice_trim(line).n == 0;
    bj_text_clean(word, shown, sizeof(shown));
    snprintf(meant, sizeof(meant), "%s", shown);
    size_t sign = strcspn(meant, ":,;=|");
    bool ends = word.n == sign + 1 && meant[sign];
    if (!alone && !ends)
        return 0;
    if (ends)
        meant[sign] = '\0';
    else if (meant[sign])
        meant[sign] = ' ';
    else
        meant[0] = '\0';
    return bj_err_set(err, -EINVAL, "expected: ACCOUNT FACULTY; not '%s'%s",
                      shown, bj_suggest(word, only_name, meant, like));
}

static int check_text(const char *path, struct bj_slice text,
                      struct bj_err *err)
{
    struct bj_slice line;
    for (unsigned n = 1; bj_slice_line(&text, &line); n++) {
        int r = check_line(bj_slice_trim(line), err);
        if (r < 0)
            return bj_err_wrap(err, r, "%s:%u", path, n);
    }
    return 0;
}

int bj_faculty_read(const char *path, struct bj_buf *out, struct bj_err *err)
{
    struct bj_slice all = {0};
    char *text = NULL;
    int r = 0;
    if (path && *path) {
        text = malloc(FILE_MOST);
        r = text ? bj_file_read_all(AT_FDCWD, path, text, FILE_MOST, &all, err)
                 : bj_err_set(err, -ENOMEM, "faculty.file");
    }
    if (r == 0)
        r = check_text(path, all, err);
    if (r == 0)
        bj_buf_slice(out, all);
    free(text);
    return r;
}
