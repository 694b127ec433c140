#include "tests/unit/lib/hungfs.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NODE_0 = 2, SIZE = 4096, REQUEST = 256 * 1024 };

static void reply(int dev, uint64_t unique, int error, const void *data,
                  size_t n)
{
    struct fuse_out_header head = {
        .len = (uint32_t)(sizeof(head) + n), .error = error, .unique = unique};
    struct iovec v[2] = {{&head, sizeof(head)}, {(void *)(uintptr_t)data, n}};
    if (writev(dev, v, n ? 2 : 1) < 0)
        _exit(1);
}

static struct fuse_attr attr(uint64_t node)
{
    return (struct fuse_attr){.ino = node,
                              .mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755
                                                           : S_IFREG | 0644,
                              .nlink = 1,
                              .size = node == FUSE_ROOT_ID ? 0 : SIZE,
                              .blksize = SIZE};
}

static void lookup(int dev, const struct fuse_in_header *in, const char *name)
{
    struct fuse_entry_out out = {.entry_valid = 3600, .attr_valid = 3600};
    if (name[0] >= '0' && name[0] <= '9' && name[1] == 0)
        out.nodeid = NODE_0 + (uint64_t)(name[0] - '0');
    out.attr = attr(out.nodeid);
    reply(dev, in->unique, out.nodeid ? 0 : -ENOENT, &out,
          out.nodeid ? sizeof(out) : 0);
}

static void serve_one(int dev, const struct fuse_in_header *in, int blocked_fd)
{
    static const char zeros[SIZE];
    const struct fuse_init_out init = {
        .major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = SIZE};
    const struct fuse_attr_out attributes = {.attr_valid = 3600,
                                             .attr = attr(in->nodeid)};
    const struct fuse_open_out opened = {.fh = in->nodeid};
    switch (in->opcode) {
    case FUSE_INIT:
        reply(dev, in->unique, 0, &init, sizeof(init));
        break;
    case FUSE_LOOKUP:
        lookup(dev, in, (const char *)(in + 1));
        break;
    case FUSE_GETATTR:
        reply(dev, in->unique, 0, &attributes, sizeof(attributes));
        break;
    case FUSE_OPEN:
        reply(dev, in->unique, 0, &opened, sizeof(opened));
        break;
    case FUSE_READ:
        reply(dev, in->unique, 0, zeros, sizeof(zeros));
        break;
    case FUSE_WRITE:
        if (write(blocked_fd, "", 1) != 1)
            _exit(1);
        break;
    case FUSE_FORGET:
    case FUSE_BATCH_FORGET:
    case FUSE_INTERRUPT:
        break;
    default:
        reply(dev, in->unique, -ENOSYS, NULL, 0);
    }
}

static void serve(int dev, int blocked_fd)
{
    char *buf = malloc(REQUEST);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (buf) {
        ssize_t n = read(dev, buf, REQUEST);
        if (n >= (ssize_t)sizeof(struct fuse_in_header))
            serve_one(dev, (const struct fuse_in_header *)(void *)buf,
                      blocked_fd);
        else if (n >= 0 || (errno != EINTR && errno != ENOENT))
            break;
    }
    _exit(0);
}

static int mount_it(struct hungfs *fs, int dev)
{
    char options[128];
    if (unshare(CLONE_NEWNS) < 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return -errno;
    snprintf(fs->dir, sizeof(fs->dir), "/tmp/bjhungfs.XXXXXX");
    if (!mkdtemp(fs->dir))
        return -errno;
    snprintf(options, sizeof(options),
             "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", dev);
    if (mount("hungfs", fs->dir, "fuse", MS_NOSUID | MS_NODEV, options) == 0)
        return 0;
    int e = -errno;
    rmdir(fs->dir);
    return e;
}

int hungfs_start(struct hungfs *fs)
{
    int blocked_fd[2];
    int dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
    if (dev < 0)
        return -errno;
    int r = mount_it(fs, dev);
    if (r == 0 && pipe2(blocked_fd, O_CLOEXEC) < 0)
        r = -errno;
    if (r < 0) {
        close(dev);
        return r;
    }
    fs->server = fork();
    if (fs->server == 0)
        serve(dev, blocked_fd[1]);
    close(dev);
    close(blocked_fd[1]);
    fs->blocked_fd = blocked_fd[0];
    return fs->server < 0 ? -errno : 0;
}

void hungfs_stop(struct hungfs *fs)
{
    kill(fs->server, SIGKILL);
    waitpid(fs->server, NULL, 0);
    umount2(fs->dir, MNT_DETACH);
    rmdir(fs->dir);
    close(fs->blocked_fd);
}
