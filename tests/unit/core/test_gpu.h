/* Simulated GPUs: the fake library (tests/gpu/fake_nvml.c) and its script, a
 * file in the directory of the test (tmp_make). */
#ifndef BJ_TESTS_UNIT_CORE_TEST_GPU_H
#define BJ_TESTS_UNIT_CORE_TEST_GPU_H

#include "core/gpu/gpu.h"
#include "tests/unit/lib/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The path of a fake library, which lies beside this program's directory. The
 * next call overwrites it. */
static inline const char *fake_lib(const char *name)
{
    static char path[4200];
    char exe[4096];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    assert_true(n > 0);
    exe[n] = '\0';
    for (int i = 0; i < 2; i++)
        *strrchr(exe, '/') = '\0';
    snprintf(path, sizeof(path), "%s/gpu/%s", exe, name);
    return path;
}

static inline const char *fake_nvml(void)
{
    return fake_lib("libnvidia-ml.so.1");
}

/* Replace the script that an environment variable names; it lies in the
 * directory of tmp_make. */
static inline void fake_script_of(const char *variable, const char *dir,
                                  const char *text)
{
    char path[256], path2[256];
    tmp_file("script.new", text);
    snprintf(path, sizeof(path), "%s/script.new", dir);
    snprintf(path2, sizeof(path2), "%s/script", dir);
    assert_int_equal(rename(path, path2), 0);
    setenv(variable, path2, 1);
}

/* Whether a call of the fake library hangs. */
static inline bool fake_hangs(const char *dir)
{
    char path[256];
    snprintf(path, sizeof(path), "%s/script.hangs", dir);
    return access(path, F_OK) == 0;
}

static inline void fake_script(const char *dir, const char *text)
{
    fake_script_of("FAKE_NVML", dir, text);
}

/* The fake library, opened, and the values of a reading. */
struct gpu_rig {
    const char *dir;
    struct bj_gpu_env env;
    void *source;
    struct bj_gpu_set set;
    struct bj_gpu_xids xids;
    struct bj_err err;
};

static inline void gpu_begin(struct gpu_rig *r, const char *script)
{
    memset(r, 0, sizeof(*r));
    r->dir = tmp_make();
    r->env = (struct bj_gpu_env){.procfs = r->dir,
                                 .sysfs = r->dir,
                                 .nvml = fake_nvml(),
                                 .xids = &r->xids};
    fake_script(r->dir, script);
}

static inline int gpu_open(struct gpu_rig *r)
{
    r->err = (struct bj_err){0};
    return bj_gpu_nvml.open(&r->env, &r->source, &r->err);
}

static inline int gpu_read(struct gpu_rig *r)
{
    r->err = (struct bj_err){0};
    bj_gpu_set_clear(&r->set);
    return bj_gpu_nvml.read(r->source, &r->set, &r->err);
}

static inline void gpu_end(struct gpu_rig *r)
{
    if (r->source)
        bj_gpu_nvml.close(r->source);
    tmp_gone();
    unsetenv("FAKE_NVML");
}

#define GPU_A                                                                  \
    "driver 550.54.15\n"                                                       \
    "gpu 0 uuid GPU-6f0f0e3c-1111-2222-3333-444455556666\n"                    \
    "gpu 0 name NVIDIA_A100-SXM4-40GB\n"                                       \
    "gpu 0 pci 00000000:07:00.0\n"                                             \
    "gpu 0 minor 2\n"
#define GPU_B                                                                  \
    "gpu 1 uuid GPU-7f0f0e3c-1111-2222-3333-444455556666\n"                    \
    "gpu 1 pci 00000000:0F:00.0\n"                                             \
    "gpu 1 minor 3\n"

#endif
