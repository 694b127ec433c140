#include "base/trim.h"

#include "base/file.h"

#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

/* Pages of a library whose constants and code are as in its file.  Relocations
 * in code would make them differ; such libraries are rare, but recognizable. */
static bool relocates_code(const struct dl_phdr_info *info)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *d = (const void *)(info->dlpi_addr + p->p_vaddr);
        for (; d->d_tag != DT_NULL; d++)
            if (d->d_tag == DT_TEXTREL ||
                (d->d_tag == DT_FLAGS && d->d_un.d_val & DF_TEXTREL))
                return true;
    }
    return false;
}

static int forget(struct dl_phdr_info *info, size_t size, void *ctx)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    (void)size;
    (void)ctx;
    if (relocates_code(info))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || p->p_flags & PF_W)
            continue;
        uintptr_t from = (info->dlpi_addr + p->p_vaddr) & ~(page - 1);
        uintptr_t to = info->dlpi_addr + p->p_vaddr + p->p_memsz;
        madvise((void *)from, to - from, MADV_DONTNEED);
    }
    return 0;
}

static bool is_traced(void)
{
    char buf[8192];
    struct bj_slice rest, line;
    if (bj_file_read(AT_FDCWD, "/proc/self/status", buf, sizeof(buf), &rest,
                     NULL) < 0)
        return true;
    while (bj_slice_line(&rest, &line))
        if (bj_slice_starts(line, BJ_SLICE("TracerPid:")))
            return !bj_slice_eq(line, BJ_SLICE("TracerPid:\t0"));
    return true;
}

void bj_trim(void)
{
    malloc_trim(0);
    if (!is_traced())
        dl_iterate_phdr(forget, NULL);
}
