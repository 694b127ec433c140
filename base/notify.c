#include "base/notify.h"

#include "base/slice.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int bj_notify(const char *state, struct bj_err *err)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    struct bj_slice path = bj_slice_str(secure_getenv("NOTIFY_SOCKET"));
    if (path.n == 0)
        return 0;
    if (path.n >= sizeof(a.sun_path) || (path.p[0] != '/' && path.p[0] != '@'))
        return bj_err_set(err, -EINVAL, "NOTIFY_SOCKET is not a path");
    memcpy(a.sun_path, path.p, path.n);
    if (path.p[0] == '@')
        a.sun_path[0] = '\0';
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return bj_err_set(err, -errno, "socket for NOTIFY_SOCKET");
    socklen_t len =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + path.n);
    int r = 0;
    if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (struct sockaddr *)&a,
               len) < 0)
        r = bj_err_set(err, -errno, "send to %s", path.p);
    close(fd);
    return r;
}

uint64_t bj_notify_interval(void)
{
    struct bj_slice usec = bj_slice_str(secure_getenv("WATCHDOG_USEC"));
    struct bj_slice pid = bj_slice_str(secure_getenv("WATCHDOG_PID"));
    uint64_t v = 0, whose = (uint64_t)getpid();
    if (bj_slice_u64(usec, &v) < 0 ||
        (pid.n > 0 && bj_slice_u64(pid, &whose) < 0) ||
        whose != (uint64_t)getpid())
        return 0;
    return v / 2;
}
