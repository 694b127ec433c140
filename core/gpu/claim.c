#include "core/gpu/claim.h"

#include "base/file.h"
#include "core/energy/attr.h"
#include "core/find/environ.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { NVIDIA_MAJOR = 195, DRM_MAJOR = 226 };

static bool has_uuid(struct bj_slice s)
{
    return bj_slice_starts(s, BJ_SLICE("GPU-")) ||
           bj_slice_starts(s, BJ_SLICE("MIG-"));
}

/* Inside a device cgroup the numbers of CUDA_VISIBLE_DEVICES start at 0: always
 * with Slurm.  Other batch systems without such a cgroup write the numbers of
 * the node. */
static bool find_list(struct bj_slice env, struct bj_slice system,
                      struct bj_slice *ret, bool *cudas)
{
    static const struct bj_slice lists_device[] = {{"SLURM_JOB_GPUS", 14},
                                                   {"SLURM_STEP_GPUS", 15}};
    struct bj_slice visible = {0};
    bool known =
        bj_environ_get(env, BJ_SLICE("CUDA_VISIBLE_DEVICES"), &visible);
    if (known && has_uuid(visible)) {
        *ret = visible;
        return true;
    }
    for (size_t i = 0; i < 2; i++)
        if (bj_environ_get(env, lists_device[i], ret) && ret->n > 0)
            return true;
    /* Its numbers, and "all", are those of a container. */
    if (!known &&
        bj_environ_get(env, BJ_SLICE("NVIDIA_VISIBLE_DEVICES"), ret) &&
        has_uuid(*ret))
        return true;
    *ret = visible;
    *cudas = true;
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
    bool cudas = false;
    if (!bj_environ_job(env, system, jobid, &e) ||
        !find_list(env, system, &list, &cudas) || list.n >= sizeof(ret->text))
        return false;
    ret->environ = true;
    ret->step = e.step;
    ret->by_uuid = has_uuid(list);
    ret->cudas = cudas;
    memcpy(ret->text, list.p, list.n);
    ret->text[list.n] = '\0';
    for (size_t i = 0; i < 2; i++)
        ret->shared |= bj_environ_get(env, sharing[i], &value);
    return true;
}

/* The major number of a character device's driver; 0: none. */
static uint64_t major_of(const char *procfs, struct bj_slice driver)
{
    char name[512], buf[8192];
    struct bj_slice text, line, number, word;
    uint64_t major;
    snprintf(name, sizeof(name), "%.400s/devices", procfs);
    if (bj_file_read(AT_FDCWD, name, buf, sizeof(buf), &text, NULL) < 0)
        return 0;
    while (bj_slice_line(&text, &line))
        if (bj_slice_word(&line, &number) && bj_slice_word(&line, &word) &&
            bj_slice_eq(word, driver) && bj_slice_u64(number, &major) == 0)
            return major;
    return 0;
}

/* Does "rwm" let a node be opened? */
static bool lets_open(struct bj_slice access)
{
    return memchr(access.p, 'r', access.n) || memchr(access.p, 'w', access.n);
}

/* Is "c MAJOR:MINOR" in the list? */
static bool lists_device(struct bj_slice text, uint64_t major, uint64_t minor)
{
    struct bj_slice line, type, number, first;
    uint64_t v;
    while (bj_slice_line(&text, &line))
        if (bj_slice_word(&line, &type) && bj_slice_word(&line, &number) &&
            bj_slice_eq(type, BJ_SLICE("c")) && lets_open(line) &&
            bj_slice_field(&number, ':', &first) &&
            bj_slice_u64(first, &v) == 0 && v == major &&
            bj_slice_u64(number, &v) == 0 && v == minor)
            return true;
    return false;
}

/* May the job open the device of "DeviceFileMinor: 21" in that file? */
static bool may_open(int dir, const char *name, struct bj_slice text,
                     uint64_t major)
{
    char buf[512];
    struct bj_slice file, line, key;
    uint64_t minor;
    if (bj_file_read(dir, name, buf, sizeof(buf), &file, NULL) < 0)
        return false;
    while (bj_slice_line(&file, &line))
        if (bj_slice_word(&line, &key) &&
            bj_slice_eq(key, BJ_SLICE("DeviceFileMinor:")) &&
            bj_slice_u64(bj_slice_trim(line), &minor) == 0)
            return lists_device(text, major, minor);
    return false;
}

static void add_cap(struct bj_gpu_claim *c, unsigned minor, unsigned gi,
                    uint32_t ci)
{
    if (c->ncaps < BJ_GPU_CAPS)
        c->cap[c->ncaps++] = (struct bj_gpu_cap){minor, gi, ci};
    c->devices = true;
}

/* capabilities/gpuM/mig/giG/access, and ciC/access below. */
static void find_instances(int mig, unsigned minor, struct bj_slice text,
                           uint64_t major, struct bj_gpu_claim *ret)
{
    enum { MOST = 16 };
    unsigned gi[MOST], ci[MOST];
    char name[48];
    int n = bj_attr_numbers(mig, "gi", "", 10, gi, MOST);
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "gi%u", gi[i]);
        bj_autoclose int dir = bj_dir_open(mig, name);
        if (dir < 0 || !may_open(dir, "access", text, major))
            continue;
        int m = bj_attr_numbers(dir, "ci", "", 10, ci, MOST);
        for (int k = 0; k < m; k++) {
            snprintf(name, sizeof(name), "ci%u/access", ci[k]);
            if (may_open(dir, name, text, major))
                add_cap(ret, minor, gi[i], ci[k]);
        }
        if (m <= 0)
            add_cap(ret, minor, gi[i], UINT32_MAX);
    }
}

static void find_caps(const char *procfs, struct bj_slice text,
                      struct bj_gpu_claim *ret)
{
    enum { MOST = 64 };
    unsigned gpu[MOST];
    char name[512];
    uint64_t major = major_of(procfs, BJ_SLICE("nvidia-caps"));
    snprintf(name, sizeof(name), "%.400s/driver/nvidia/capabilities", procfs);
    bj_autoclose int dir = major ? bj_dir_open(AT_FDCWD, name) : -1;
    int n = dir >= 0 ? bj_attr_numbers(dir, "gpu", "", 10, gpu, MOST) : 0;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "gpu%u/mig", gpu[i]);
        bj_autoclose int mig = bj_dir_open(dir, name);
        if (mig >= 0)
            find_instances(mig, gpu[i], text, major, ret);
    }
}

static void claim_take_node(uint64_t major, uint64_t minor,
                            struct bj_gpu_claim *ret)
{
    /* The highest minor numbers of NVIDIA are control devices. */
    if (major == NVIDIA_MAJOR && minor < BJ_GPU_MINORS - 8) {
        ret->minors[minor / 64] |= UINT64_C(1) << minor % 64;
        ret->devices = true;
    }
    if (major == DRM_MAJOR && minor >= BJ_GPU_RENDER_FIRST &&
        minor < BJ_GPU_RENDER_FIRST + BJ_GPU_RENDERS) {
        ret->renders |= UINT64_C(1) << (minor - BJ_GPU_RENDER_FIRST);
        ret->devices = true;
    }
}

/* "c 195:3 rwm"; "a *:* rwm" is everything. */
static bool take_nodes(struct bj_slice text, struct bj_gpu_claim *ret)
{
    struct bj_slice line, type, number, first;
    uint64_t major, minor;
    while (bj_slice_line(&text, &line)) {
        if (!bj_slice_word(&line, &type) || !bj_slice_word(&line, &number))
            continue;
        if (bj_slice_eq(type, BJ_SLICE("a")))
            return false;
        if (!bj_slice_eq(type, BJ_SLICE("c")) || !lets_open(line) ||
            !bj_slice_field(&number, ':', &first))
            continue;
        if (bj_slice_eq(first, BJ_SLICE("*")))
            return false;
        if (bj_slice_u64(first, &major) < 0)
            continue;
        if (bj_slice_eq(number, BJ_SLICE("*")) &&
            (major == NVIDIA_MAJOR || major == DRM_MAJOR))
            return false;
        if (bj_slice_u64(number, &minor) == 0)
            claim_take_node(major, minor, ret);
    }
    return true;
}

void bj_gpu_claim_devices(struct bj_slice text, const char *procfs,
                          struct bj_gpu_claim *ret)
{
    memset(ret->minors, 0, sizeof(ret->minors));
    ret->renders = 0;
    ret->ncaps = 0;
    ret->devices = false;
    if (!take_nodes(text, ret))
        ret->devices = false;
    else
        find_caps(procfs, text, ret);
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

/* CUDA accepts any unique beginning of a UUID. Here it must be longer than
 * the first group. */
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

/* The number of a device; of an instance, that of its device. */
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
    if (!c->environ || g->split || (c->cudas && c->devices))
        return false;
    while (bj_slice_field(&rest, ',', &word)) {
        word = bj_slice_trim(word);
        if (word.n > 0 && word.p[word.n - 1] == '\\')
            word.n--; /* the hook of PBS escapes commas */
        if (c->by_uuid ? uuid_is(word, g->uuid) || is_old_name(word, g, whole)
                       : is_number(word, g, order))
            return true;
    }
    return false;
}

static bool opens_instance(const struct bj_gpu_claim *c, const struct bj_gpu *g)
{
    for (unsigned i = 0; i < c->ncaps; i++)
        if (c->cap[i].minor == g->use.minor && c->cap[i].gi == g->gi &&
            (c->cap[i].ci == g->ci || c->cap[i].ci == UINT32_MAX))
            return true;
    return false;
}

bool bj_gpu_claim_opens(const struct bj_gpu_claim *c, const struct bj_gpu *g)
{
    uint64_t m = g->use.minor, r = g->render - BJ_GPU_RENDER_FIRST;
    if (!c->devices || g->split)
        return false;
    if (g->parent >= 0)
        return opens_instance(c, g);
    return (m < BJ_GPU_MINORS && (c->minors[m / 64] >> m % 64 & 1) != 0) ||
           (g->render != BJ_ABSENT && r < BJ_GPU_RENDERS &&
            (c->renders >> r & 1) != 0);
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

static bool claim_is_name(const char *name)
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
        if (claim_is_name(e->d_name))
            n += take_notes(dirfd(d), e->d_name, notes + n, max - n);
    closedir(d);
    return (int)n;
}

/* --- which evidence counts ------------------------------------------------*/

__extension__ typedef unsigned __int128 bj_u128;

const char *const bj_gpu_conflict_names[BJ_GPU_CONFLICTS] = {
    "none", "denied", "stray", "double", "unresolved"};

/* Whether the evidence cannot be forged by a user. */
static bool is_verified(const struct bj_gpu_candidate *c)
{
    if (c->evidence & (BJ_GPU_NOTED | BJ_GPU_OPENS | BJ_GPU_ALLOTTED))
        return true;
    return (c->evidence & BJ_GPU_RUNS) &&
           ((c->evidence & BJ_GPU_ENVIRON) || !c->not_allotted) && !c->barred;
}

static bool is_stray(const struct bj_gpu_candidate *c)
{
    return (c->evidence & ~(unsigned)BJ_GPU_ENVIRON) == BJ_GPU_RUNS &&
           (c->barred || (c->evidence == BJ_GPU_RUNS && c->not_allotted));
}

void bj_gpu_decide(struct bj_gpu_candidate *c, size_t n)
{
    bool proved = false, proved_shared = false, all_shared = true;
    size_t holders = 0;
    for (size_t i = 0; i < n; i++) {
        proved |= is_verified(&c[i]);
        proved_shared |= is_verified(&c[i]) && c[i].shared;
    }
    for (size_t i = 0; i < n; i++) {
        bool word = c[i].evidence == BJ_GPU_ENVIRON;
        bool lie = word && proved && !(c[i].shared && proved_shared);
        lie |= word && c[i].barred;
        c[i].holds = c[i].evidence != 0 && !lie;
        c[i].conflict = lie               ? BJ_GPU_DENIED
                        : is_stray(&c[i]) ? BJ_GPU_STRAY
                                          : BJ_GPU_AGREED;
        if (!c[i].holds || c[i].conflict)
            continue;
        holders++;
        all_shared = all_shared && c[i].shared;
    }
    for (size_t i = 0; i < n && holders > 1 && !all_shared; i++)
        if (c[i].holds && !c[i].conflict)
            c[i].conflict = BJ_GPU_DOUBLE;
}

void bj_gpu_divide(uint64_t total, const uint64_t *weight, size_t n,
                   uint64_t *ret)
{
    bj_u128 sum = 0;
    uint64_t given = 0;
    for (size_t i = 0; i < n; i++)
        sum += weight[i];
    bool equal = sum == 0;
    if (equal)
        sum = n;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (uint64_t)((bj_u128)total * (equal ? 1 : weight[i]) / sum);
        given += ret[i];
    }
    /* Fewer than n units are left: add one each to the parts with the largest
     * remainders.  A part that got one exceeds its quotient. */
    for (; n > 0 && given < total; given++) {
        size_t best = n;
        bj_u128 most = 0;
        for (size_t i = 0; i < n; i++) {
            bj_u128 all = (bj_u128)total * (equal ? 1 : weight[i]);
            bool served = ret[i] > (uint64_t)(all / sum);
            if (!served && (best == n || all % sum > most)) {
                best = i;
                most = all % sum;
            }
        }
        ret[best]++;
    }
}
