/* The monitoring process itself. */
#include "core/collect/procstat.h"
#include "core/internal.h"

#include <dirent.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static uint64_t count_fds(void)
{
    DIR *d = opendir("/proc/self/fd");
    if (!d)
        return BJ_ABSENT;
    uint64_t n = 0;
    struct dirent *e;
    while ((e = readdir(d)))
        n += e->d_name[0] != '.';
    closedir(d);
    return n - 1; /* without the descriptor used to count them */
}

/* Open descriptors: the size of the directory since Linux 6.2. */
static uint64_t open_fds(bool count, uint64_t *counted)
{
    struct stat st;
    if (stat("/proc/self/fd", &st) == 0 && st.st_size > 0)
        return (uint64_t)st.st_size;
    if (count)
        *counted = count_fds();
    return *counted;
}

static uint64_t self_usec(struct timeval t)
{
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_usec;
}

static void self_read_memory(struct bj_self *ret)
{
    char buf[256];
    struct bj_slice text = {0}, size, resident;
    uint64_t pages, page = (uint64_t)sysconf(_SC_PAGESIZE);
    ret->vm_bytes = ret->rss_bytes = BJ_ABSENT;
    bj_file_read(-1, "/proc/self/statm", buf, sizeof(buf), &text, NULL);
    if (bj_slice_word(&text, &size) && bj_slice_u64(size, &pages) == 0)
        ret->vm_bytes = pages * page;
    if (bj_slice_word(&text, &resident) && bj_slice_u64(resident, &pages) == 0)
        ret->rss_bytes = pages * page;
}

static uint64_t self_known(rlim_t limit)
{
    return limit == RLIM_INFINITY ? BJ_ABSENT : limit;
}

uint64_t bj_self_start_sec(void)
{
    char buf[2048];
    struct bj_slice line;
    struct bj_procstat stat;
    if (bj_file_read(-1, "/proc/self/stat", buf, sizeof(buf), &line, NULL) <
            0 ||
        bj_procstat_parse(line, &stat) < 0)
        return BJ_ABSENT;
    uint64_t since_boot =
        stat.start_ticks * (1000000u / (uint64_t)sysconf(_SC_CLK_TCK));
    return (bj_clock_wall_usec() - (bj_clock_boot_usec() - since_boot)) /
           1000000;
}

void bj_self_read(struct bj_self *ret, bool count, uint64_t *counted)
{
    struct rusage ru;
    struct rlimit rl;
    ret->cpu_usec = ret->max_fds = ret->vm_max_bytes = BJ_ABSENT;
    if (getrusage(RUSAGE_SELF, &ru) == 0)
        ret->cpu_usec = self_usec(ru.ru_utime) + self_usec(ru.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
        ret->max_fds = self_known(rl.rlim_cur);
    if (getrlimit(RLIMIT_AS, &rl) == 0)
        ret->vm_max_bytes = self_known(rl.rlim_cur);
    ret->open_fds = open_fds(count, counted);
    self_read_memory(ret);
}
