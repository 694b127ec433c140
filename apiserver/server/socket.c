#include "apiserver/server/socket.h"

#include "base/file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static int fail(int fd, struct bj_err *err, const char *what, const char *path)
{
    char text[64];
    int why = -errno;
    snprintf(text, sizeof(text), "web.unix-socket: %s", what);
    int r = bj_file_fail(err, why, text, AT_FDCWD, path, W_OK);
    if (fd >= 0)
        close(fd);
    return r;
}

/* Remove the socket of a server that has ended. */
static int remove_stale(int fd, const struct sockaddr_un *a, struct bj_err *err)
{
    struct stat st;
    if (lstat(a->sun_path, &st) < 0)
        return 0;
    if (!S_ISSOCK(st.st_mode))
        return bj_err_set(err, -EINVAL,
                          "web.unix-socket: %s exists and is not a socket",
                          a->sun_path);
    if (connect(fd, (const struct sockaddr *)a, sizeof(*a)) == 0)
        return bj_err_set(err, -EADDRINUSE,
                          "web.unix-socket: another program listens on %s",
                          a->sun_path);
    unlink(a->sun_path);
    return 0;
}

int bj_socket_open(const char *path, struct bj_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(a.sun_path))
        return bj_err_set(err, -ENAMETOOLONG, "web.unix-socket: %s", path);
    memcpy(a.sun_path, path, strlen(path) + 1);
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    int probe = socket(AF_UNIX, type, 0);
    if (probe < 0)
        return fail(probe, err, "socket", path);
    int r = remove_stale(probe, &a, err);
    close(probe);
    if (r < 0)
        return r;
    int fd = socket(AF_UNIX, type, 0);
    if (fd < 0 || bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
        return fail(fd, err, "bind", path);
    if (chmod(path, 0666) < 0 || listen(fd, 128) < 0)
        return fail(fd, err, "listen on", path);
    return fd;
}
