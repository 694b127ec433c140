/* A libnvidia-ml.so.1 that plays a script, for machines without a GPU.  The
 * layouts are those of core/gpu/nvml.h; it contains nothing else of ours.
 *
 * FAKE_NVML names the script, which is read again whenever it changes (replace
 * it, do not overwrite it).  Its lines; '#' begins a comment:
 *
 *   driver VERSION
 *   match                        calls fail if VERSION has changed since
 *                                nvmlInit, as those of a library whose driver
 *                                was replaced
 *   code SYMBOL CODE             what a call without device returns
 *   gpu N KEY VALUE              a value of device N (keys below); a device
 *                                exists if it has a uuid
 *   mig N K KEY VALUE            a value of instance K of device N
 *   fail N SYMBOL CODE           what a call returns for device N; SYMBOL may
 *                                be any
 *   hang SYMBOL MSEC             how long a call takes, for any device; the
 *                                file SCRIPT.hangs appears when one begins
 *   proc N LIST PID BYTES GI CI  a process; LIST is compute, graphics or mps;
 *                                -1: no instance, bytes not known
 *   use N PID STAMP SM           a sample of a process; STAMP may be now
 *   field N ID TYPE VALUE        a field value
 *   refuse N ID CODE             what a call fails with that asks for that
 *                                field or GPM metric, among others
 *   xid N NUMBER                 an Xid error: reported once, to event sets
 *                                created before the line was written
 *   gpm N GI ID VALUE CODE       a GPM metric; GI -1: of the device
 *
 * Keys: uuid name pci minor memory_total memory_used memory_reserved busy
 * memory_busy power power_limit energy temperature graphics_clock sm_clock
 * memory_clock video_clock fan cores capability (major * 10 + minor) events (a
 * mask of types) ecc_00 ecc_10 ecc_01 ecc_11 rows_corrected
 * rows_uncorrected rows_pending rows_failed throttle gpm; of instances: uuid
 * name gi ci slices sms memory_total memory_used.  A value that the script
 * lacks is not supported.  "_" in a name stands for a blank. */
#include "tests/gpu/fake_nvml.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

struct bj_nvml_device handles[GPUS][MIGS + 1];

struct fake_script script = {.lock = PTHREAD_MUTEX_INITIALIZER};

int parse_int(const char *text)
{
    return (int)strtol(text, NULL, 0);
}

/* --- the script -----------------------------------------------------------*/

static void read_script(const char *path)
{
    FILE *f = fopen(path, "r");
    char text[WORDS * WORD];
    script.n = 0;
    while (f && script.n < ENTRIES && fgets(text, sizeof(text), f)) {
        char *at = text, *word;
        char(*to)[WORD] = script.line[script.n];
        int n = 0;
        memset(to, 0, sizeof(script.line[0]));
        while (n < WORDS && (word = strsep(&at, " \n")) && *word != '#')
            if (*word)
                snprintf(to[n++], WORD, "%s", word);
        script.n += n > 0;
    }
    if (f)
        fclose(f);
}

static void refresh(void)
{
    const char *path = getenv("FAKE_NVML");
    struct stat st;
    if (!path || stat(path, &st) < 0) {
        script.n = 0;
        return;
    }
    if (st.st_ino == script.inode &&
        st.st_mtim.tv_nsec == script.changed.tv_nsec &&
        st.st_mtim.tv_sec == script.changed.tv_sec)
        return;
    script.inode = st.st_ino;
    script.changed = st.st_mtim;
    read_script(path);
}

const char *script_value(const char *a, const char *b, const char *c,
                         const char *d)
{
    const char *want[] = {a, b, c, d}, *found = NULL;
    for (size_t i = 0; i < script.n; i++) {
        int k = 0;
        while (k < 4 && want[k] && !strcmp(script.line[i][k], want[k]))
            k++;
        if (k == 4 || !want[k])
            found = script.line[i][k];
    }
    return found;
}

const char *format_int(int n, char text[12])
{
    snprintf(text, 12, "%d", n);
    return text;
}

const char *get_value(const struct bj_nvml_device *d, const char *key)
{
    char gpu[12], mig[12];
    return d->mig < 0 ? script_value("gpu", format_int(d->gpu, gpu), key, NULL)
                      : script_value("mig", format_int(d->gpu, gpu),
                                     format_int(d->mig, mig), key);
}

static void create_hangs_file(void)
{
    char path[4200];
    const char *script_path = getenv("FAKE_NVML");
    snprintf(path, sizeof(path), "%s.hangs", script_path ? script_path : "");
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
}

/* Wait for the time in the script, or until the line is removed.  Creates the
 * file SCRIPT.hangs at the start. */
static void hang(const char *symbol)
{
    const struct timespec pause = {0, 50000000};
    const char *msec = script_value("hang", symbol, NULL, NULL);
    if (msec)
        create_hangs_file();
    for (long slept = 0; msec && slept < parse_int(msec); slept += 50) {
        pthread_mutex_unlock(&script.lock);
        nanosleep(&pause, NULL);
        pthread_mutex_lock(&script.lock);
        refresh();
        msec = script_value("hang", symbol, NULL, NULL);
    }
}

static bool replaced(void)
{
    const char *now = script_value("driver", NULL, NULL, NULL);
    return now && script_value("match", NULL, NULL, NULL) && *script.driver &&
           strcmp(now, script.driver) != 0;
}

int begin_call(const struct bj_nvml_device *d, const char *symbol)
{
    char gpu[12];
    pthread_mutex_lock(&script.lock);
    refresh();
    hang(symbol);
    const char *code =
        d ? script_value("fail", format_int(d->gpu, gpu), symbol, NULL)
          : script_value("code", symbol, NULL, NULL);
    if (d && !code)
        code = script_value("fail", format_int(d->gpu, gpu), "any", NULL);
    if (!code && replaced())
        return BJ_NVML_MISMATCH;
    return code ? parse_int(code) : 0;
}

int end_call(int code)
{
    pthread_mutex_unlock(&script.lock);
    return code;
}

int return_u64(const struct bj_nvml_device *d, const char *symbol,
               const char *key, unsigned long long *ret)
{
    int code = begin_call(d, symbol);
    const char *v = code ? NULL : get_value(d, key);
    if (v)
        *ret = strtoull(v, NULL, 0);
    return end_call(code ? code : v ? 0 : BJ_NVML_NOT_SUPPORTED);
}

int return_value(const struct bj_nvml_device *d, const char *symbol,
                 const char *key, unsigned *ret)
{
    unsigned long long v;
    int code = return_u64(d, symbol, key, &v);
    if (code == 0)
        *ret = (unsigned)v;
    return code;
}

static int return_text(const struct bj_nvml_device *d, const char *symbol,
                       const char *key, char *to, unsigned n)
{
    int code = begin_call(d, symbol);
    const char *v = code ? NULL : get_value(d, key);
    if (v && strlen(v) < n) {
        snprintf(to, n, "%s", v);
        for (char *c = to; *c; c++)
            *c = *c == '_' ? ' ' : *c;
    }
    return end_call(code ? code : v ? 0 : BJ_NVML_NOT_SUPPORTED);
}

/* --- library --------------------------------------------------------------*/

CALL(nvmlInit_v2, void)
{
    pthread_mutex_lock(&script.lock);
    refresh();
    const char *now = script_value("driver", NULL, NULL, NULL);
    snprintf(script.driver, WORD, "%s", now ? now : "");
    pthread_mutex_unlock(&script.lock);
    return end_call(begin_call(NULL, "nvmlInit_v2"));
}

CALL(nvmlShutdown, void)
{
    return end_call(begin_call(NULL, "nvmlShutdown"));
}

CALL(nvmlDeviceGetCount_v2, unsigned *n)
{
    int code = begin_call(NULL, "nvmlDeviceGetCount_v2");
    char gpu[12];
    *n = 0;
    while (*n < GPUS &&
           script_value("gpu", format_int((int)*n, gpu), "uuid", NULL))
        ++*n;
    return end_call(code);
}

CALL(nvmlDeviceGetHandleByIndex_v2, unsigned i, DEV *ret)
{
    if (i >= GPUS)
        return 2;
    handles[i][0] = (struct bj_nvml_device){(int)i, -1};
    *ret = &handles[i][0];
    return end_call(begin_call(*ret, "nvmlDeviceGetHandleByIndex_v2"));
}

CALL(nvmlSystemGetDriverVersion, char *to, unsigned n)
{
    int code = begin_call(NULL, "nvmlSystemGetDriverVersion");
    const char *v = script_value("driver", NULL, NULL, NULL);
    snprintf(to, n, "%s", v ? v : "");
    return end_call(code);
}

/* --- values ---------------------------------------------------------------*/

CALL(nvmlDeviceGetUUID, DEV d, char *to, unsigned n)
{
    return return_text(d, "nvmlDeviceGetUUID", "uuid", to, n);
}

CALL(nvmlDeviceGetName, DEV d, char *to, unsigned n)
{
    return return_text(d, "nvmlDeviceGetName", "name", to, n);
}

CALL(nvmlDeviceGetMinorNumber, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetMinorNumber", "minor", ret);
}

CALL(nvmlDeviceGetPciInfo_v3, DEV d, struct bj_nvml_pci *ret)
{
    memset(ret, 0, sizeof(*ret));
    return return_text(d, "nvmlDeviceGetPciInfo_v3", "pci", ret->bus_id,
                       sizeof(ret->bus_id));
}

static int memory(const struct bj_nvml_device *d, const char *symbol,
                  struct bj_nvml_memory2 *ret)
{
    unsigned long long total, used = 0, reserved = 0;
    int code = return_u64(d, symbol, "memory_total", &total);
    if (code)
        return code;
    return_u64(d, symbol, "memory_used", &used);
    return_u64(d, symbol, "memory_reserved", &reserved);
    ret->total = total;
    ret->used = used;
    ret->reserved = reserved;
    ret->free = total - used - reserved;
    return 0;
}

CALL(nvmlDeviceGetMemoryInfo_v2, DEV d, struct bj_nvml_memory2 *ret)
{
    if (ret->version != BJ_NVML_MEMORY2)
        return 25;
    return memory(d, "nvmlDeviceGetMemoryInfo_v2", ret);
}

/* Here used memory includes reserved memory. */
CALL(nvmlDeviceGetMemoryInfo, DEV d, struct bj_nvml_memory *ret)
{
    struct bj_nvml_memory2 two = {.version = 0};
    int code = memory(d, "nvmlDeviceGetMemoryInfo", &two);
    if (!code)
        *ret = (struct bj_nvml_memory){two.total, two.free,
                                       two.used + two.reserved};
    return code;
}

CALL(nvmlDeviceGetUtilizationRates, DEV d, struct bj_nvml_utilization *ret)
{
    static const char me[] = "nvmlDeviceGetUtilizationRates";
    int code = return_value(d, me, "busy", &ret->gpu);
    return code ? code : return_value(d, me, "memory_busy", &ret->memory);
}

CALL(nvmlDeviceGetPowerUsage, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetPowerUsage", "power", ret);
}

CALL(nvmlDeviceGetEnforcedPowerLimit, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetEnforcedPowerLimit", "power_limit",
                        ret);
}

CALL(nvmlDeviceGetTotalEnergyConsumption, DEV d, unsigned long long *ret)
{
    return return_u64(d, "nvmlDeviceGetTotalEnergyConsumption", "energy", ret);
}

CALL(nvmlDeviceGetTemperature, DEV d, int sensor, unsigned *ret)
{
    return sensor ? 2
                  : return_value(d, "nvmlDeviceGetTemperature", "temperature",
                                 ret);
}

CALL(nvmlDeviceGetTemperatureV, DEV d, struct bj_nvml_temperature *t)
{
    unsigned celsius;
    if (t->version != (sizeof(*t) | 1u << 24))
        return 25;
    int code =
        return_value(d, "nvmlDeviceGetTemperatureV", "temperature", &celsius);
    if (code == 0)
        t->celsius = (int32_t)celsius;
    return code;
}

CALL(nvmlDeviceGetClockInfo, DEV d, int type, unsigned *ret)
{
    static const char *const key[] = {"graphics_clock", "sm_clock",
                                      "memory_clock", "video_clock"};
    return type < 0 || type > 3
               ? 2
               : return_value(d, "nvmlDeviceGetClockInfo", key[type], ret);
}

CALL(nvmlDeviceGetFanSpeed, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetFanSpeed", "fan", ret);
}

CALL(nvmlDeviceGetNumGpuCores, DEV d, unsigned *ret)
{
    return return_value(d, "nvmlDeviceGetNumGpuCores", "cores", ret);
}

CALL(nvmlDeviceGetCudaComputeCapability, DEV d, int *major, int *minor)
{
    unsigned both = 0;
    int code = return_value(d, "nvmlDeviceGetCudaComputeCapability",
                            "capability", &both);
    *major = (int)both / 10;
    *minor = (int)both % 10;
    return code;
}

CALL(nvmlDeviceGetTotalEccErrors, DEV d, int type, int counter,
     unsigned long long *ret)
{
    char key[24];
    snprintf(key, sizeof(key), "ecc_%d%d", type, counter);
    return return_u64(d, "nvmlDeviceGetTotalEccErrors", key, ret);
}

CALL(nvmlDeviceGetRemappedRows, DEV d, unsigned *corrected,
     unsigned *uncorrected, unsigned *pending, unsigned *failed)
{
    static const char me[] = "nvmlDeviceGetRemappedRows";
    int code = return_value(d, me, "rows_corrected", corrected);
    if (!code)
        code = return_value(d, me, "rows_uncorrected", uncorrected);
    if (!code)
        code = return_value(d, me, "rows_pending", pending);
    return code ? code : return_value(d, me, "rows_failed", failed);
}

CALL(nvmlDeviceGetCurrentClocksEventReasons, DEV d, unsigned long long *ret)
{
    return return_u64(d, "nvmlDeviceGetCurrentClocksEventReasons", "throttle",
                      ret);
}

static void put_field(struct bj_nvml_field *f, const char *type,
                      const char *value)
{
    f->type = (uint32_t)parse_int(type);
    f->code = 0;
    memset(&f->value, 0, sizeof(f->value));
    if (f->type == BJ_NVML_U32)
        f->value.u32 = (uint32_t)strtoull(value, NULL, 0);
    else if (f->type == BJ_NVML_S32)
        f->value.s32 = parse_int(value);
    else
        f->value.u64 = strtoull(value, NULL, 0);
}

CALL(nvmlDeviceGetFieldValues, DEV d, int n, struct bj_nvml_field *f)
{
    int code = begin_call(d, "nvmlDeviceGetFieldValues");
    for (int i = 0; !code && i < n; i++) {
        f[i].code = BJ_NVML_NOT_SUPPORTED;
        for (size_t k = 0; k < script.n; k++) {
            char(*l)[WORD] = script.line[k];
            if (!strcmp(l[0], "refuse") && parse_int(l[1]) == d->gpu &&
                (uint32_t)parse_int(l[2]) == f[i].id)
                code = parse_int(l[3]);
            if (!strcmp(l[0], "field") && parse_int(l[1]) == d->gpu &&
                (uint32_t)parse_int(l[2]) == f[i].id)
                put_field(&f[i], l[3], l[4]);
        }
    }
    return end_call(code);
}

/* --- processes ------------------------------------------------------------*/

static int list(const struct bj_nvml_device *d, const char *symbol,
                const char *which, unsigned *n, struct bj_nvml_process *to)
{
    int code = begin_call(d, symbol);
    unsigned room = *n, found = 0;
    for (size_t k = 0; !code && k < script.n; k++) {
        char(*l)[WORD] = script.line[k];
        if (strcmp(l[0], "proc") != 0 || parse_int(l[1]) != d->gpu ||
            strcmp(l[2], which) != 0)
            continue;
        if (found < room)
            to[found] = (struct bj_nvml_process){
                (uint32_t)parse_int(l[3]), 0, strtoull(l[4], NULL, 0),
                (uint32_t)parse_int(l[5]), (uint32_t)parse_int(l[6])};
        found++;
    }
    *n = found;
    return end_call(code ? code : found > room ? BJ_NVML_TOO_SMALL : 0);
}

CALL(nvmlDeviceGetComputeRunningProcesses_v3, DEV d, unsigned *n,
     struct bj_nvml_process *to)
{
    return list(d, "nvmlDeviceGetComputeRunningProcesses_v3", "compute", n, to);
}

CALL(nvmlDeviceGetGraphicsRunningProcesses_v3, DEV d, unsigned *n,
     struct bj_nvml_process *to)
{
    return list(d, "nvmlDeviceGetGraphicsRunningProcesses_v3", "graphics", n,
                to);
}

CALL(nvmlDeviceGetMPSComputeRunningProcesses_v3, DEV d, unsigned *n,
     struct bj_nvml_process *to)
{
    return list(d, "nvmlDeviceGetMPSComputeRunningProcesses_v3", "mps", n, to);
}

static unsigned long long stamp_of(const char *text)
{
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return strcmp(text, "now") == 0 ? (unsigned long long)ts.tv_sec * 1000000 +
                                          (unsigned long long)ts.tv_nsec / 1000
                                    : strtoull(text, NULL, 0);
}

CALL(nvmlDeviceGetProcessUtilization, DEV d, struct bj_nvml_process_use *to,
     unsigned *n, unsigned long long since)
{
    int code = begin_call(d, "nvmlDeviceGetProcessUtilization");
    unsigned room = *n, found = 0;
    for (size_t k = 0; !code && k < script.n; k++) {
        char(*l)[WORD] = script.line[k];
        if (strcmp(l[0], "use") != 0 || parse_int(l[1]) != d->gpu ||
            stamp_of(l[3]) <= since)
            continue;
        if (found < room)
            to[found] =
                (struct bj_nvml_process_use){.pid = (uint32_t)parse_int(l[2]),
                                             .stamp_usec = stamp_of(l[3]),
                                             .sm = (uint32_t)parse_int(l[4])};
        found++;
    }
    *n = found;
    return end_call(code           ? code
                    : found > room ? BJ_NVML_TOO_SMALL
                    : found == 0   ? BJ_NVML_NOT_FOUND
                                   : 0);
}
