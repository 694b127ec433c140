#include "core/gpu/claim.h"

#include "base/file.h"
#include "core/find/environ.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NVIDIA_MAJOR = 195 };

static bool has_uuid(struct bj_slice s)
{
    return bj_slice_starts(s, BJ_SLICE("GPU-")) ||
           bj_slice_starts(s, BJ_SLICE("MIG-"));
}

/* The numbers of CUDA_VISIBLE_DEVICES are counted anew inside a device cgroup
 * of Slurm; other batch systems say there what they gave. */
static bool find_list(struct bj_slice env, struct bj_slice system,
                      struct bj_slice *ret)
{
    static const struct bj_slice lists[] = {{"SLURM_JOB_GPUS", 14},
                                            {"SLURM_STEP_GPUS", 15}};
    struct bj_slice visible = {0};
    bool known =
        bj_environ_get(env, BJ_SLICE("CUDA_VISIBLE_DEVICES"), &visible);
    if (known && has_uuid(visible)) {
        *ret = visible;
        return true;
    }
    for (size_t i = 0; i < 2; i++)
        if (bj_environ_get(env, lists[i], ret) && ret->n > 0)
            return true;
    *ret = visible;
    return known && visible.n > 0 && !bj_slice_eq(system, BJ_SLICE("slurm"));
}

bool bj_gpu_claim_environ(struct bj_slice env, struct bj_slice system,
                          struct bj_slice jobid, struct bj_gpu_claim *ret)
{
    static const struct bj_slice sharing[] = {
        {"SLURM_SHARDS_ON_NODE", 20},
        {"CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", 33}};
    struct bj_environ e;
    struct bj_slice list, value;
    if (!bj_environ_job(env, system, jobid, &e) ||
        !find_list(env, system, &list) || list.n >= sizeof(ret->text))
        return false;
    ret->environ = true;
    ret->step = e.step;
    ret->by_uuid = has_uuid(list);
    memcpy(ret->text, list.p, list.n);
    ret->text[list.n] = '\0';
    for (size_t i = 0; i < 2; i++)
        ret->shared |= bj_environ_get(env, sharing[i], &value);
    return true;
}

/* "c 195:3 rwm"; "a *:* rwm" is everything. */
void bj_gpu_claim_devices(struct bj_slice text, struct bj_gpu_claim *ret)
{
    struct bj_slice line, type, number, major;
    uint64_t v;
    memset(ret->minors, 0, sizeof(ret->minors));
    ret->devices = false;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &type) || !bj_slice_word(&line, &number))
            continue;
        if (bj_slice_eq(type, BJ_SLICE("a"))) {
            ret->devices = false;
            return;
        }
        if (!bj_slice_eq(type, BJ_SLICE("c")) ||
            !bj_slice_field(&number, ':', &major) ||
            bj_slice_u64(major, &v) < 0 || v != NVIDIA_MAJOR)
            continue;
        if (bj_slice_eq(number, BJ_SLICE("*"))) {
            ret->devices = false;
            return;
        }
        /* Those at the end are the control devices. */
        if (bj_slice_u64(number, &v) == 0 && v < BJ_GPU_MINORS - 8) {
            ret->minors[v / 64] |= UINT64_C(1) << v % 64;
            ret->devices = true;
        }
    }
}

/* "0", "0-3". */
static bool number_in(struct bj_slice word, uint64_t n)
{
    uint64_t lo, hi;
    if (!bj_slice_number(&word, &lo))
        return false;
    hi = lo;
    if (word.n > 0) {
        if (*word.p != '-')
            return false;
        word.p++;
        word.n--;
        if (bj_slice_u64(word, &hi) < 0)
            return false;
    }
    return n >= lo && n <= hi;
}

/* CUDA takes any beginning of a UUID that only one device has; one that is
 * worth believing has more than the first group. */
static bool uuid_is(struct bj_slice word, const char *uuid)
{
    enum { LEAST = 12 };
    struct bj_slice whole = bj_slice_str(uuid);
    return bj_slice_eq(word, whole) ||
           (word.n >= LEAST && bj_slice_starts(whole, word));
}

enum bj_gpu_order bj_gpu_order_of(const char *name)
{
    return name && strcmp(name, "minor") == 0 ? BJ_GPU_BY_MINOR
           : name && strcmp(name, "mig") == 0 ? BJ_GPU_BY_PLACE
                                              : BJ_GPU_BY_BUS;
}

/* The number of a device, or of the device of an instance. */
static uint64_t own_number(const struct bj_gpu *g, enum bj_gpu_order order)
{
    return order == BJ_GPU_BY_MINOR ? g->use.minor : g->index;
}

/* "0:1" */
static bool is_pair(struct bj_slice word, const struct bj_gpu *g,
                    enum bj_gpu_order order)
{
    struct bj_slice first;
    uint64_t n, nth;
    return g->parent >= 0 && bj_slice_field(&word, ':', &first) &&
           bj_slice_u64(first, &n) == 0 && bj_slice_u64(word, &nth) == 0 &&
           n == own_number(g, order) && nth == g->nth;
}

static bool is_number(struct bj_slice word, const struct bj_gpu *g,
                      enum bj_gpu_order order)
{
    uint64_t n = own_number(g, order);
    if (word.n > 0 && memchr(word.p, ':', word.n))
        return is_pair(word, g, order);
    if (order == BJ_GPU_BY_PLACE)
        return g->place != BJ_ABSENT && number_in(word, g->place);
    return g->parent < 0 && n != BJ_ABSENT && number_in(word, n);
}

/* "MIG-GPU-UUID/GI/CI" */
static bool is_old_name(struct bj_slice word, const struct bj_gpu *g,
                        const struct bj_gpu *whole)
{
    struct bj_slice uuid, gi;
    uint64_t gi_n, ci_n;
    if (!whole || !bj_slice_starts(word, BJ_SLICE("MIG-GPU-")))
        return false;
    word.p += 4;
    word.n -= 4;
    return bj_slice_field(&word, '/', &uuid) &&
           bj_slice_field(&word, '/', &gi) && bj_slice_u64(gi, &gi_n) == 0 &&
           bj_slice_u64(word, &ci_n) == 0 && uuid_is(uuid, whole->uuid) &&
           gi_n == g->gi && ci_n == g->ci;
}

bool bj_gpu_claim_names(const struct bj_gpu_claim *c, const struct bj_gpu *g,
                        const struct bj_gpu *whole, enum bj_gpu_order order)
{
    struct bj_slice rest = bj_slice_str(c->text), word;
    if (!c->environ || g->split)
        return false;
    while (bj_slice_field(&rest, ',', &word)) {
        word = bj_slice_trim(word);
        if (c->by_uuid ? uuid_is(word, g->uuid) || is_old_name(word, g, whole)
                       : is_number(word, g, order))
            return true;
    }
    return false;
}

bool bj_gpu_claim_opens(const struct bj_gpu_claim *c, const struct bj_gpu *g)
{
    uint64_t m = g->use.minor;
    return c->devices && m < BJ_GPU_MINORS &&
           (c->minors[m / 64] >> m % 64 & 1) != 0;
}

/* --- prolog ---------------------------------------------------------------*/

bool bj_gpu_note_is(const char *name, const struct bj_gpu *g,
                    enum bj_gpu_order order)
{
    struct bj_slice rest = bj_slice_str(name), first;
    uint64_t n, gi;
    if (strcmp(name, g->uuid) == 0)
        return true;
    if (!strchr(name, '.'))
        return !g->split && bj_slice_u64(rest, &n) == 0 &&
               is_number(rest, g, order);
    return g->parent >= 0 && bj_slice_field(&rest, '.', &first) &&
           bj_slice_u64(first, &n) == 0 && n == own_number(g, order) &&
           bj_slice_u64(rest, &gi) == 0 && gi == g->gi;
}

static bool is_name(const char *name)
{
    return (*name >= '0' && *name <= '9') || has_uuid(bj_slice_str(name));
}

static size_t take_notes(int dir, const char *name, struct bj_gpu_note *notes,
                         size_t max)
{
    char buf[4096];
    struct bj_slice text, line, word;
    size_t n = 0;
    if (strlen(name) >= BJ_GPU_TEXT ||
        bj_file_read_trusted(dir, name, buf, sizeof(buf), &text, NULL) < 0)
        return 0;
    while (n < max && bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &word) || word.n >= sizeof(notes->jobid))
            continue;
        snprintf(notes[n].name, sizeof(notes[n].name), "%s", name);
        snprintf(notes[n].jobid, sizeof(notes[n].jobid), "%.*s", (int)word.n,
                 word.p);
        n++;
    }
    return n;
}

int bj_gpu_notes_read(const char *dir, struct bj_gpu_note *notes, size_t max)
{
    int fd = bj_dir_open(AT_FDCWD, dir);
    if (fd < 0)
        return fd;
    DIR *d = fdopendir(fd);
    if (!d) {
        int code = -errno;
        close(fd);
        return code;
    }
    size_t n = 0;
    struct dirent *e;
    while (n < max && (e = readdir(d)))
        if (is_name(e->d_name))
            n += take_notes(dirfd(d), e->d_name, notes + n, max - n);
    closedir(d);
    return (int)n;
}
