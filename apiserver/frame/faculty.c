#include "apiserver/frame/faculty.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>

enum { FILE_MOST = 1 << 20 };

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
        bj_buf_slice(out, all);
    free(text);
    return r;
}
