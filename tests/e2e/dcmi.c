/* A BMC with DCMI, for energy_false.sh: preloaded, it answers requests to the
 * device ipmi0 with the watts in the file of that name, or once with those of
 * ipmi0.once. */
#include <fcntl.h>
#include <linux/ipmi.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static char device[1024];
static int bmc = -1;
static long id;
static unsigned char answer[19];
static unsigned short length;

static unsigned watts(void)
{
    char once[1040], used[1040];
    unsigned w = 0;
    snprintf(once, sizeof(once), "%s.once", device);
    snprintf(used, sizeof(used), "%s.used", device);
    FILE *f = fopen(rename(once, used) == 0 ? used : device, "re");
    for (int c = f ? fgetc(f) : EOF; c >= '0' && c <= '9'; c = fgetc(f))
        w = 10 * w + (unsigned)(c - '0');
    if (f)
        fclose(f);
    return w;
}

static int opened(const char *path, int flags, mode_t mode)
{
    const char *end = strrchr(path, '/');
    if (!end || strcmp(end, "/ipmi0") != 0)
        return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
    snprintf(device, sizeof(device), "%s", path);
    bmc = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return bmc;
}

#define OPEN(name)                                                             \
    int name(const char *path, int flags, ...);                                \
    int name(const char *path, int flags, ...)                                 \
    {                                                                          \
        va_list more;                                                          \
        va_start(more, flags);                                                 \
        const mode_t mode =                                                    \
            flags & (O_CREAT | __O_TMPFILE) ? va_arg(more, mode_t) : 0;        \
        va_end(more);                                                          \
        return opened(path, flags, mode);                                      \
    }
OPEN(open)
OPEN(open64)

static int request(const struct ipmi_req *r)
{
    enum { DCMI = 0x2c, READING = 2, UNKNOWN = 0xc1, ACTIVE = 0x40 };
    id = r->msgid;
    memset(answer, 0, sizeof(answer));
    answer[0] = UNKNOWN;
    length = 1;
    if (r->msg.netfn == DCMI && r->msg.cmd == READING) {
        const unsigned w = watts();
        answer[0] = 0;
        answer[1] = 0xdc;
        answer[2] = (unsigned char)w;
        answer[3] = (unsigned char)(w >> 8);
        answer[18] = ACTIVE;
        length = sizeof(answer);
    }
    return eventfd_write(bmc, 1);
}

static int response(struct ipmi_recv *r)
{
    eventfd_t n;
    if (eventfd_read(bmc, &n) < 0)
        return -1;
    r->recv_type = IPMI_RESPONSE_RECV_TYPE;
    r->msgid = id;
    r->msg.data_len = length;
    memcpy(r->msg.data, answer, length);
    return 0;
}

int ioctl(int fd, unsigned long what, ...)
{
    va_list more;
    va_start(more, what);
    void *arg = va_arg(more, void *);
    va_end(more);
    if (fd >= 0 && fd == bmc && what == IPMICTL_SEND_COMMAND)
        return request(arg);
    if (fd >= 0 && fd == bmc && what == IPMICTL_RECEIVE_MSG_TRUNC)
        return response(arg);
    return (int)syscall(SYS_ioctl, fd, what, arg);
}
