#include "core/find/hier.h"

#include "base/slice.h"
#include "core/find/layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const struct {
    struct bj_slice name;
    enum bj_controller ctl;
} names[] = {
    {{"cpu", 3}, BJ_CTL_CPU},         {{"cpuacct", 7}, BJ_CTL_CPUACCT},
    {{"cpuset", 6}, BJ_CTL_CPUSET},   {{"memory", 6}, BJ_CTL_MEMORY},
    {{"pids", 4}, BJ_CTL_PIDS},       {{"blkio", 5}, BJ_CTL_BLKIO},
    {{"freezer", 7}, BJ_CTL_FREEZER}, {{"devices", 7}, BJ_CTL_DEVICES},
    {{"hugetlb", 7}, BJ_CTL_HUGETLB}, {{"systemd", 7}, BJ_CTL_NAMED},
};

/* A v1 hierarchy is mounted in a directory named after its controllers. */
static unsigned mask_of(const char *dir)
{
    unsigned mask = 0;
    struct bj_slice rest = bj_slice_str(dir), word;
    while (bj_slice_field(&rest, ',', &word))
        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
            if (bj_slice_eq(word, names[i].name))
                mask |= 1u << names[i].ctl;
    return mask;
}

static bool hier_has(const char *path, const char *file)
{
    char name[4096];
    int n = snprintf(name, sizeof(name), "%s/%s", path, file);
    return n > 0 && (size_t)n < sizeof(name) && access(name, F_OK) == 0;
}

static bool is_unified(const char *path)
{
    return hier_has(path, "cgroup.controllers");
}

/* Add a hierarchy unless it is known already: the name of a controller may be a
 * link to the directory of several. */
static int hier_add(struct bj_hiers *h, const char *path, unsigned version,
                    unsigned mask)
{
    struct stat st;
    if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode) || h->n == BJ_HIERS)
        return 0;
    for (unsigned i = 0; i < h->n; i++)
        if (h->v[i].dev == st.st_dev && h->v[i].ino == st.st_ino)
            return 0;
    struct statfs fs;
    char *copy = strdup(path);
    if (!copy)
        return -ENOMEM;
    h->v[h->n++] = (struct bj_hier){
        .version = version,
        .controllers = mask,
        .has_dmem = version == BJ_CGROUP_V2 && hier_has(path, "dmem.capacity"),
        .is_kernel = version == BJ_CGROUP_V2 && statfs(path, &fs) == 0 &&
                     fs.f_type == CGROUP2_SUPER_MAGIC,
        .path = copy,
        .dev = st.st_dev,
        .ino = st.st_ino};
    return 1;
}

/* Add an entry of the root.  A directory is kept for all controllers in its
 * name, so directories must be added before links to them: see add(). */
static int take_entry(struct bj_hiers *h, const char *root, const char *name)
{
    char path[4096];
    int n = snprintf(path, sizeof(path), "%s/%s", root, name);
    if (n < 0 || (size_t)n >= sizeof(path))
        return 0;
    if (is_unified(path))
        return hier_add(h, path, BJ_CGROUP_V2, ~0u);
    unsigned mask = mask_of(name);
    return mask ? hier_add(h, path, BJ_CGROUP_V1, mask) : 0;
}

int bj_hiers_find(struct bj_hiers *h, const char *root, struct bj_err *err)
{
    if (is_unified(root))
        return hier_add(h, root, BJ_CGROUP_V2, ~0u);
    DIR *d = opendir(root);
    if (!d)
        return bj_err_set(err, -errno, "open cgroup root %s", root);
    int found = 0;
    for (int links = 0; links < 2; links++) {
        rewinddir(d);
        struct dirent *e;
        while (found >= 0 && (e = readdir(d))) {
            if (e->d_name[0] == '.' || (e->d_type == DT_LNK) != (links == 1))
                continue;
            int r = take_entry(h, root, e->d_name);
            found = r < 0 ? r : found + r;
        }
    }
    closedir(d);
    return found < 0 ? bj_err_set(err, found, "cgroup root %s", root) : found;
}

void bj_hiers_free(struct bj_hiers *h)
{
    for (unsigned i = 0; i < h->n; i++)
        free(h->v[i].path);
    h->n = 0;
}
