/* A librocm_smi64.so that plays a script (FAKE_ROCM), for machines without an
 * AMD GPU.  The layouts are those of core/gpu/rsmi.h.
 *
 *   gpu N pci DOMAIN BUS DEVICE FUNCTION
 *   gpu N energy COUNT MICROJOULES
 *   gpu N replays COUNT
 *   ecc N BLOCK CORRECTED UNCORRECTED
 *   proc PID BYTES GPU...
 *   fail SYMBOL CODE, hang SYMBOL MSEC
 *
 * Values that the script lacks are not supported. */
#include "core/gpu/rsmi.h"
#include "tests/gpu/fake_script.h"

#define EXPORT __attribute__((visibility("default")))

/* Lock and read the script; returns the code to return at once, or 0. */
static unsigned begin(const char *symbol)
{
    pthread_mutex_lock(&script.lock);
    script_refresh("FAKE_ROCM");
    return script_apply(symbol);
}

static unsigned end(unsigned code)
{
    pthread_mutex_unlock(&script.lock);
    return code;
}

/* The line "gpu N KEY", or "ecc N KEY". */
static char (*of(const char *what, uint32_t n, const char *key))[SCRIPT_WORD]
{
    char number[16];
    snprintf(number, sizeof(number), "%u", n);
    return script_find(what, number, key);
}

#define CALL(name, ...)                                                        \
    EXPORT unsigned name(__VA_ARGS__);                                         \
    EXPORT unsigned name(__VA_ARGS__)

CALL(rsmi_init, uint64_t flags)
{
    return end(begin(flags ? "?" : __func__));
}

CALL(rsmi_shut_down, void)
{
    return end(begin(__func__));
}

CALL(rsmi_num_monitor_devices, uint32_t *n)
{
    unsigned code = begin(__func__);
    *n = 0;
    while (of("gpu", *n, "pci"))
        ++*n;
    return end(code);
}

CALL(rsmi_dev_pci_id_get, uint32_t i, uint64_t *id)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = of("gpu", i, "pci");
    if (l)
        *id = script_number(l[3]) << 32 | script_number(l[4]) << 8 |
              script_number(l[5]) << 3 | script_number(l[6]);
    return end(code ? code : l ? BJ_RSMI_OK : BJ_RSMI_NOT_SUPPORTED);
}

CALL(rsmi_dev_energy_count_get, uint32_t i, uint64_t *count, float *uj,
     uint64_t *ns)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = of("gpu", i, "energy");
    *ns = 1;
    if (l) {
        *count = script_number(l[3]);
        *uj = strtof(l[4], NULL);
    }
    return end(code ? code : l ? BJ_RSMI_OK : BJ_RSMI_NOT_SUPPORTED);
}

CALL(rsmi_dev_ecc_count_get, uint32_t i, uint64_t block,
     struct bj_rsmi_errors *e)
{
    unsigned code = begin(__func__);
    char key[32];
    snprintf(key, sizeof(key), "%llu", (unsigned long long)block);
    char(*l)[SCRIPT_WORD] = of("ecc", i, key);
    if (l) {
        e->corrected = script_number(l[3]);
        e->uncorrected = script_number(l[4]);
    }
    return end(code ? code : l ? BJ_RSMI_OK : BJ_RSMI_NOT_SUPPORTED);
}

CALL(rsmi_dev_pci_replay_counter_get, uint32_t i, uint64_t *n)
{
    unsigned code = begin(__func__);
    char(*l)[SCRIPT_WORD] = of("gpu", i, "replays");
    if (l)
        *n = script_number(l[3]);
    return end(code ? code : l ? BJ_RSMI_OK : BJ_RSMI_NOT_SUPPORTED);
}

CALL(rsmi_compute_process_info_get, struct bj_rsmi_process *p, uint32_t *n)
{
    unsigned code = begin(__func__);
    uint32_t room = *n, have = 0;
    size_t at = 0;
    char(*l)[SCRIPT_WORD];
    while ((l = script_next(&at, "proc", NULL, NULL))) {
        if (have < room)
            p[have] =
                (struct bj_rsmi_process){.pid = (uint32_t)script_number(l[1]),
                                         .vram_bytes = script_number(l[2]),
                                         .occupancy = 50};
        have++;
    }
    *n = have < room ? have : room;
    return end(code ? code : have > room ? BJ_RSMI_TOO_SMALL : BJ_RSMI_OK);
}

CALL(rsmi_compute_process_gpus_get, uint32_t pid, uint32_t *v, uint32_t *n)
{
    unsigned code = begin(__func__);
    char number[16];
    uint32_t have = 0;
    snprintf(number, sizeof(number), "%u", pid);
    char(*l)[SCRIPT_WORD] = script_find("proc", number, NULL);
    for (int i = 3; l && i < SCRIPT_WORDS && l[i][0] && have < *n; i++)
        v[have++] = (uint32_t)script_number(l[i]);
    *n = have;
    return end(code ? code : l ? BJ_RSMI_OK : BJ_RSMI_NOT_FOUND);
}
