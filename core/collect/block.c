/* Block I/O of a cgroup, by device.  Read at the slow interval: on a kernel
 * with many CPUs io.stat costs as much as all other files together, except
 * memory.stat. */
#include "base/text.h"
#include "core/collect/unit.h"
#include "core/find/layout.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { DEVICES_MAX = 256 };

static void number_device(struct bj_unit_device *d)
{
    snprintf(d->name, sizeof(d->name), "%u:%u", (unsigned)d->major,
             (unsigned)d->minor);
}

/* The kernel's name of the device, which is the last part of the link
 * /sys/dev/block/MAJ:MIN; its number if there is no link. */
static void name_device(const struct bj_cgroup_reader *rd,
                        struct bj_unit_device *d)
{
    char link[256], target[512];
    number_device(d);
    snprintf(link, sizeof(link), "%.200s/dev/block/%u:%u", rd->conf->sysfs,
             (unsigned)d->major, (unsigned)d->minor);
    ssize_t n = readlink(link, target, sizeof(target) - 1);
    if (n <= 0)
        return;
    target[n] = '\0';
    const char *last = strrchr(target, '/');
    bj_text_clean(bj_slice_str(last ? last + 1 : target), d->name,
                  sizeof(d->name));
}

/* Whether the last device has the name of an earlier one, since it was removed
 * and inserted again.  Prometheus rejects a scrape with two series of one
 * name. */
static bool block_name_taken(const struct bj_unit *u)
{
    const struct bj_unit_device *last = &u->devices[u->ndevices - 1];
    for (const struct bj_unit_device *d = u->devices; d < last; d++)
        if (strcmp(d->name, last->name) == 0)
            return true;
    return false;
}

static struct bj_unit_device *device(const struct bj_cgroup_reader *rd,
                                     struct bj_unit *u, uint64_t major,
                                     uint64_t minor)
{
    for (uint32_t i = 0; i < u->ndevices; i++)
        if (u->devices[i].major == major && u->devices[i].minor == minor)
            return &u->devices[i];
    if (u->ndevices == DEVICES_MAX || major > UINT32_MAX || minor > UINT32_MAX)
        return NULL;
    struct bj_unit_device *more =
        realloc(u->devices, (u->ndevices + 1) * sizeof(*more));
    if (!more)
        return NULL;
    u->devices = more;
    struct bj_unit_device *d = &more[u->ndevices++];
    *d = (struct bj_unit_device){.major = major, .minor = minor};
    d->read_bytes = d->write_bytes = d->read_ops = d->write_ops = BJ_ABSENT;
    name_device(rd, d);
    if (block_name_taken(u))
        number_device(d);
    return d;
}

/* Cut "8:0" from the start of a line. */
static bool cut_device(struct bj_slice *line, uint64_t *major, uint64_t *minor)
{
    struct bj_slice at = *line;
    for (; at.n > 0 && *at.p == ' '; at.n--)
        at.p++;
    if (!bj_slice_number(&at, major) || at.n == 0 || *at.p != ':')
        return false;
    at.p++;
    at.n--;
    if (!bj_slice_number(&at, minor))
        return false;
    *line = at;
    return true;
}

static void pair(struct bj_unit_device *d, struct bj_slice word)
{
    static const struct {
        struct bj_slice key;
        size_t off;
    } keys[] = {
        {{"rbytes", 6}, offsetof(struct bj_unit_device, read_bytes)},
        {{"wbytes", 6}, offsetof(struct bj_unit_device, write_bytes)},
        {{"rios", 4}, offsetof(struct bj_unit_device, read_ops)},
        {{"wios", 4}, offsetof(struct bj_unit_device, write_ops)},
    };
    struct bj_slice key;
    if (!bj_slice_field(&word, '=', &key))
        return;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        if (bj_slice_eq(key, keys[i].key))
            bj_slice_u64(word, (uint64_t *)(void *)((char *)d + keys[i].off));
}

/* "8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6"; a line may end after
 * the device, or contain keys of other policies.  Linux 5.15 to 5.18 write the
 * numbers of devices without I/O in front of the next device, without a new
 * line: "7:1 7:0 8:0 rbytes=1 ...". */
static int parse_v2(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text)
{
    (void)f;
    struct bj_slice line, word;
    while (bj_slice_line(&text, &line)) {
        uint64_t major, minor;
        bool named = false;
        while (cut_device(&line, &major, &minor))
            named = true;
        struct bj_unit_device *d = named ? device(rd, u, major, minor) : NULL;
        while (d && bj_slice_word(&line, &word))
            pair(d, word);
    }
    return 0;
}

/* "8:0 Read 1"; f->off is the field for Read, that for Write follows it. */
static int parse_v1(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text)
{
    struct bj_slice line, op, value;
    while (bj_slice_line(&text, &line)) {
        uint64_t major, minor;
        bool named = cut_device(&line, &major, &minor);
        struct bj_unit_device *d = named ? device(rd, u, major, minor) : NULL;
        if (!d || !bj_slice_word(&line, &op) || !bj_slice_word(&line, &value))
            continue;
        uint64_t *at = (uint64_t *)(void *)((char *)d + f->off);
        if (bj_slice_eq(op, BJ_SLICE("Read")))
            bj_slice_u64(value, at);
        else if (bj_slice_eq(op, BJ_SLICE("Write")))
            bj_slice_u64(value, at + 1);
    }
    return 0;
}

#define BLOCK(file, ver, fn, field)                                            \
    {                                                                          \
        .name = file, .version = ver, .ctl = BJ_CTL_BLKIO,                     \
        .keep = BJ_KEPT_NONE, .slow = true, .job_only = true, .parse = fn,     \
        .off = offsetof(struct bj_unit_device, field)                          \
    }

static const struct bj_cgfile files[] = {
    BLOCK("io.stat", BJ_CGROUP_V2, parse_v2, read_bytes),
    BLOCK("blkio.throttle.io_service_bytes_recursive", BJ_CGROUP_V1, parse_v1,
          read_bytes),
    BLOCK("blkio.throttle.io_serviced_recursive", BJ_CGROUP_V1, parse_v1,
          read_ops),
};

BJ_CGROUP_COLLECTOR(bj_block_collector, BJ_COLLECT_BLOCK, files);
