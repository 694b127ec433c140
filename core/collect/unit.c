#include "core/collect/unit.h"

#include "core/find/layout.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/sysinfo.h>
#include <unistd.h>

enum { BUF_BYTES = 128 * 1024 };

int bj_cgroup_reader_init(struct bj_cgroup_reader *rd,
                          const struct bj_conf *conf,
                          const struct bj_hiers *hiers, struct bj_fdpool *pool)
{
    *rd = (struct bj_cgroup_reader){.conf = conf, .hiers = hiers, .pool = pool};
    long hz = sysconf(_SC_CLK_TCK);
    rd->tick_usec = 1000000u / (uint64_t)(hz > 0 ? hz : 100);
    rd->watch = epoll_create1(EPOLL_CLOEXEC);
    rd->cap = BUF_BYTES;
    rd->buf = malloc(rd->cap);
    bj_numa_read(&rd->numa, conf->sysfs);
    return rd->buf ? 0 : -ENOMEM;
}

void bj_cgroup_reader_fini(struct bj_cgroup_reader *rd)
{
    if (!rd->conf)
        return;
    free(rd->buf);
    free(rd->changed);
    bj_numa_free(&rd->numa);
    bj_close_fd(&rd->watch);
    *rd = (struct bj_cgroup_reader){0};
}

static bool has_changed(const struct bj_cgroup_reader *rd, int fd)
{
    return rd->changed[fd / 8] & 1u << fd % 8;
}

static void note_change(struct bj_cgroup_reader *rd, int fd, bool changed)
{
    unsigned char bit = (unsigned char)(1u << fd % 8);
    if ((size_t)fd / 8 >= rd->changed_bytes)
        return;
    if (changed)
        rd->changed[fd / 8] |= bit;
    else
        rd->changed[fd / 8] &= (unsigned char)~bit;
}

void bj_cgroup_reader_begin(struct bj_cgroup_reader *rd)
{
    enum { SOME = 64 };
    struct epoll_event e[SOME];
    struct sysinfo info;
    int n;
    rd->swapless = sysinfo(&info) == 0 && info.totalswap == 0;
    do {
        n = epoll_wait(rd->watch, e, SOME, 0);
        for (int i = 0; i < n; i++)
            note_change(rd, e[i].data.fd, true);
    } while (n == SOME);
}

static bool make_room(struct bj_cgroup_reader *rd, int fd)
{
    size_t want = (size_t)fd / 8 + 1;
    if (want <= rd->changed_bytes)
        return true;
    want *= 2;
    unsigned char *more = realloc(rd->changed, want);
    if (!more)
        return false;
    memset(more + rd->changed_bytes, 0, want - rd->changed_bytes);
    rd->changed = more;
    rd->changed_bytes = want;
    return true;
}

/* Let the kernel signal changes of a file.  Cgroups support that for some files
 * (kernel admin-guide/cgroup-v2.rst), a copied tree for none.  Closing the file
 * ends the watch.  If a forked process still has it open, its changes may be
 * signalled for another file with the same descriptor, which costs a read. */
static bool watch(struct bj_cgroup_reader *rd, int fd)
{
    struct epoll_event e = {.events = EPOLLPRI | EPOLLET, .data.fd = fd};
    if (!make_room(rd, fd))
        return false;
    note_change(rd, fd, true);
    return epoll_ctl(rd->watch, EPOLL_CTL_ADD, fd, &e) == 0;
}

void bj_unit_init(struct bj_unit *u)
{
    *u = (struct bj_unit){0};
    memset(&u->use, 0xff, sizeof(u->use)); /* all fields BJ_ABSENT */
    memset(u->ctl, -1, sizeof(u->ctl));
    u->frozen_cpu_usec = BJ_ABSENT;
    for (unsigned i = 0; i < BJ_HIERS; i++)
        u->dir[i] = -1;
    for (unsigned i = 0; i < BJ_KEPT_FILES; i++)
        u->kept[i] = -1;
}

static void close_all(struct bj_unit *u, struct bj_fdpool *pool)
{
    for (unsigned i = 0; i < BJ_HIERS; i++)
        bj_fdpool_close(pool, &u->dir[i]);
    for (unsigned i = 0; i < BJ_KEPT_FILES; i++)
        bj_fdpool_close(pool, &u->kept[i]);
}

void bj_unit_fini(struct bj_unit *u, struct bj_fdpool *pool)
{
    close_all(u, pool);
    free(u->rel[0]);
    free(u->rel[1]);
    free(u->devices);
    free(u->hugetlb);
    free(u->regions);
    free(u->core_usec);
    free(u->cpuset);
    for (unsigned i = 0; i < BJ_CPU_LISTS; i++)
        free(u->cpu_list[i]);
    bj_unit_init(u);
}

/* Choose the hierarchy of each controller: v1 where the unit has a directory,
 * since a controller is bound to one hierarchy and v2 is registered here with
 * all of them. */
static void route(struct bj_unit *u, const struct bj_cgroup_reader *rd)
{
    memset(u->ctl, -1, sizeof(u->ctl));
    for (unsigned version = BJ_CGROUP_V2; version > 0; version--)
        for (unsigned h = 0; h < rd->hiers->n; h++)
            for (unsigned c = 0; c < BJ_CONTROLLERS; c++)
                if ((u->in_hiers & 1u << h) &&
                    rd->hiers->v[h].version == version &&
                    (rd->hiers->v[h].controllers & 1u << c))
                    u->ctl[c] = (int8_t)h;
}

int bj_unit_path(const struct bj_unit *u, const struct bj_cgroup_reader *rd,
                 unsigned h, const char *file, char *buf, size_t cap)
{
    const struct bj_hier *hier = &rd->hiers->v[h];
    const char *rel = u->rel[hier->version - 1];
    int n = snprintf(buf, cap, "%s/%s%s%s", hier->path, rel ? rel : "",
                     *file ? "/" : "", file);
    return n < 0 || (size_t)n >= cap ? -ENAMETOOLONG : 0;
}

int bj_unit_place(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                  unsigned h, const char *rel)
{
    unsigned version = rd->hiers->v[h].version;
    char path[4096];
    if (u->in_hiers & 1u << h)
        return 0;
    if (!u->rel[version - 1] && !(u->rel[version - 1] = strdup(rel)))
        return -ENOMEM;
    int r = bj_unit_path(u, rd, h, "", path, sizeof(path));
    if (r < 0)
        return r;
    bool wanted = rd->hiers->v[h].controllers & rd->needed;
    r = wanted
            ? bj_fdpool_open(rd->pool, AT_FDCWD, path, O_RDONLY | O_DIRECTORY)
            : -EMFILE;
    if (r < 0 && r != -EMFILE)
        return r;
    u->dir[h] = r < 0 ? -1 : r;
    /* No file is read here, or the pool is full and files are opened by path:
     * the directory must exist nevertheless. */
    if (r < 0 && access(path, F_OK) < 0)
        return -errno;
    u->in_hiers |= (uint16_t)(1u << h);
    /* the slow files here have not been read yet */
    u->slow_due_usec = u->rare_due_usec = 0;
    route(u, rd);
    return 0;
}

void bj_unit_lose(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                  unsigned h)
{
    if (!(u->in_hiers & 1u << h))
        return;
    u->in_hiers &= (uint16_t) ~(1u << h);
    bj_fdpool_close(rd->pool, &u->dir[h]);
    if (u->in_hiers == 0)
        close_all(u, rd->pool);
    route(u, rd);
}

/* The place of a file's kept descriptor; NULL: it is not kept. */
static int *slot(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                 const struct bj_cgfile *f)
{
    bool kept = f->keep != BJ_KEPT_NONE && (!f->keep_basic || rd->conf->basic);
    return kept ? &u->kept[f->keep] : NULL;
}

/* Open a file whose descriptor is kept; for writing, too, if that can begin a
 * new peak. */
static int unit_open(struct bj_unit *u, struct bj_cgroup_reader *rd,
                     const struct bj_cgfile *f, unsigned h)
{
    int fd = -EACCES;
    u->begins_peak &= !f->own_peak;
    if (f->own_peak && rd->hiers->v[h].is_kernel && !rd->no_own_peak)
        fd = bj_fdpool_open(rd->pool, u->dir[h], f->name, O_RDWR);
    if (fd == -EACCES || fd == -EPERM || fd == -EROFS)
        fd = bj_fdpool_open(rd->pool, u->dir[h], f->name, O_RDONLY);
    return fd;
}

/* The peak of the last interval is known; begin that of the next.  What rises
 * and falls between reading and writing is missed.  Without the right to write,
 * the write fails and there is none. */
static void unit_begin_peak(struct bj_unit *u, struct bj_cgroup_reader *rd,
                            int fd, unsigned h)
{
    const bool can = fd >= 0 && !rd->no_own_peak && rd->hiers->v[h].is_kernel;
    u->use.mem_recent_peak_bytes =
        can && u->begins_peak ? u->peak_since_bytes : BJ_ABSENT;
    u->begins_peak = can && pwrite(fd, "r", 1, 0) == 1;
    rd->no_own_peak |= can && !u->begins_peak && errno == EINVAL;
}

static int unit_read_file(struct bj_unit *u, struct bj_cgroup_reader *rd,
                          const struct bj_cgfile *f, unsigned h,
                          struct bj_slice *ret)
{
    int dir = u->dir[h];
    int *fd = slot(u, rd, f);
    if (fd) {
        if (*fd < 0 && dir >= 0) {
            *fd = unit_open(u, rd, f, h);
            if (*fd >= 0 && f->notified)
                u->watched = watch(rd, *fd);
        }
        if (*fd >= 0)
            return bj_file_pread(*fd, rd->buf, rd->cap, ret);
        int r = *fd;
        *fd = -1;
        if (r < -1 && r != -EMFILE)
            return r;
    }
    if (dir >= 0)
        return bj_file_read(dir, f->name, rd->buf, rd->cap, ret, NULL);
    char path[4096];
    int r = bj_unit_path(u, rd, h, f->name, path, sizeof(path));
    return r < 0 ? r
                 : bj_file_read(AT_FDCWD, path, rd->buf, rd->cap, ret, NULL);
}

/* Does the cgroup still exist?  Its cgroup.procs disappears with it. */
static bool still_exists(const struct bj_unit *u,
                         const struct bj_cgroup_reader *rd, unsigned h)
{
    char path[4096];
    if (u->dir[h] >= 0)
        return faccessat(u->dir[h], "cgroup.procs", F_OK, 0) == 0;
    return bj_unit_path(u, rd, h, "cgroup.procs", path, sizeof(path)) == 0 &&
           access(path, F_OK) == 0;
}

static void note_failing(struct bj_unit *u, enum bj_collector_id id,
                         uint64_t failing)
{
    uint64_t n = 0;
    u->failing[id] = failing;
    for (unsigned i = 0; i < BJ_CGROUP_COLLECTORS; i++)
        n += (uint64_t)__builtin_popcountll(u->failing[i]);
    u->use.unread_files = n > 0 ? n : BJ_ABSENT;
}

static void handle_error(struct bj_unit *u, struct bj_cgroup_reader *rd,
                         const struct bj_cgroup_collector *c, unsigned i, int r)
{
    const struct bj_cgfile *f = &c->files[i];
    unsigned h = (unsigned)u->ctl[f->ctl];
    if (bj_err_gone(r) && !still_exists(u, rd, h)) {
        bj_unit_lose(u, rd, h);
        return;
    }
    int *fd = slot(u, rd, f);
    if (fd) /* a new descriptor may work */
        bj_fdpool_close(rd->pool, fd);
    /* A file that this kernel lacks, or a controller or PSI that is disabled,
     * is not a fault; it may be enabled later, so it is tried again at the slow
     * interval. */
    if (bj_err_gone(r) || r == -EOPNOTSUPP) {
        u->missing[c->id] |= UINT64_C(1) << i;
        if (f->by_kernel && bj_err_gone(r))
            rd->lacks[c->id] |= UINT64_C(1) << i;
        return;
    }
    rd->faults++;
    bj_err_set(&rd->fault, r, "cgroup %s: %s",
               u->rel[rd->hiers->v[h].version - 1], f->name);
    note_failing(u, c->id, u->failing[c->id] | UINT64_C(1) << i);
}

static uint64_t *field(struct bj_unit *u, const struct bj_cgfile *f)
{
    return (uint64_t *)(void *)((char *)&u->use + f->off);
}

/* Is the last value of the file still valid? */
static bool still_valid(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                        const struct bj_cgfile *f, unsigned which)
{
    if (f->swap && rd->swapless && *field(u, f) == 0)
        return true;
    if (f->zero_slow)
        return !(which & BJ_UNIT_SLOW) && *field(u, f) == 0;
    return f->notified && !(which & BJ_UNIT_ALONE) && u->kept[f->keep] >= 0 &&
           u->watched && !has_changed(rd, u->kept[f->keep]);
}

static bool due(struct bj_unit *u, const struct bj_cgroup_reader *rd,
                const struct bj_cgroup_collector *c, unsigned i, unsigned which)
{
    const struct bj_cgfile *f = &c->files[i];
    int h = u->ctl[f->ctl];
    return h >= 0 && rd->hiers->v[h].version == f->version &&
           (!f->slow || (which & BJ_UNIT_SLOW)) &&
           (!f->rare || (which & BJ_UNIT_RARE)) &&
           !(rd->lacks[c->id] & UINT64_C(1) << i) &&
           (f->basic || !(which & BJ_UNIT_BASIC)) &&
           (!f->job_only || (which & BJ_UNIT_JOB)) &&
           (!f->dmem || rd->hiers->v[h].has_dmem) &&
           (!f->numa || (rd->numa.nodes > 1 && u->numa_local != 0)) &&
           (!(u->missing[c->id] & UINT64_C(1) << i) ||
            (which & BJ_UNIT_SLOW)) &&
           !still_valid(u, rd, f, which);
}

void bj_unit_read(struct bj_unit *u, struct bj_cgroup_reader *rd,
                  const struct bj_cgroup_collector *c, unsigned which)
{
    for (unsigned i = 0; i < c->nfiles; i++) {
        const struct bj_cgfile *f = &c->files[i];
        struct bj_slice text;
        if (!due(u, rd, c, i, which))
            continue;
        int r = unit_read_file(u, rd, f, (unsigned)u->ctl[f->ctl], &text);
        if (r == 0) {
            u->missing[c->id] &= ~(UINT64_C(1) << i);
            if (f->notified && u->kept[f->keep] >= 0)
                note_change(rd, u->kept[f->keep], false);
            r = f->parse(rd, u, f, text);
            if (r == 0 && f->own_peak && (which & BJ_UNIT_RARE))
                unit_begin_peak(u, rd, u->kept[f->keep],
                                (unsigned)u->ctl[f->ctl]);
        }
        if (r < 0)
            handle_error(u, rd, c, i, r);
        else if (u->failing[c->id])
            note_failing(u, c->id, u->failing[c->id] & ~(UINT64_C(1) << i));
    }
}

int bj_parse_number(struct bj_cgroup_reader *rd, struct bj_unit *u,
                    const struct bj_cgfile *f, struct bj_slice text)
{
    (void)rd;
    uint64_t v;
    if (!bj_slice_number(&text, &v))
        return -EINVAL;
    v = f->div ? v / f->div : v * (f->mul ? f->mul : 1);
    *field(u, f) = v;
    return 0;
}

int bj_parse_peak(struct bj_cgroup_reader *rd, struct bj_unit *u,
                  const struct bj_cgfile *f, struct bj_slice text)
{
    const uint64_t before = *field(u, f);
    int r = bj_parse_number(rd, u, f, text);
    if (r == 0 && before != BJ_ABSENT && before > *field(u, f))
        *field(u, f) = before;
    return r;
}
