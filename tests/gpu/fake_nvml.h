/* Shared by the files of the simulated NVML: fake_nvml.c, which explains the
 * script, and fake_nvml_parts.c. */
#ifndef BJ_TESTS_GPU_FAKE_NVML_H
#define BJ_TESTS_GPU_FAKE_NVML_H

#include "core/gpu/nvml.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GPUS = 16, MIGS = 8, ENTRIES = 4096, WORDS = 7, WORD = 100 };

/* A handle: device, and instance or -1. */
struct bj_nvml_device {
    int gpu, mig;
};
struct bj_nvml_events {
    size_t next_xid; /* Xid lines reported or skipped */
    unsigned gpus;   /* mask */
};
struct bj_nvml_gpm_sample {
    const struct bj_nvml_device *dev;
    int gi;
    struct timespec at;
};

struct fake_script {
    pthread_mutex_t lock;
    struct timespec changed;
    ino_t inode;
    size_t n;
    char line[ENTRIES][WORDS][WORD];
    char driver[WORD]; /* at nvmlInit */
};

extern struct fake_script script;
extern struct bj_nvml_device handles[GPUS][MIGS + 1];

int parse_int(const char *text);
const char *format_int(int n, char text[12]);

/* The word after the given ones, in the last line that begins with them. */
const char *script_value(const char *a, const char *b, const char *c,
                         const char *d);

/* A value of a device or an instance; NULL: not supported. */
const char *get_value(const struct bj_nvml_device *d, const char *key);

/* Begin a call: returns the code that the call must return at once, or 0.
 * Every call ends with end_call(). */
int begin_call(const struct bj_nvml_device *d, const char *symbol);
int end_call(int code);

/* A complete call that returns one value. */
int return_value(const struct bj_nvml_device *d, const char *symbol,
                 const char *key, unsigned *ret);
int return_u64(const struct bj_nvml_device *d, const char *symbol,
               const char *key, unsigned long long *ret);

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                        \
    EXPORT int name(__VA_ARGS__);                                              \
    EXPORT int name(__VA_ARGS__)
#define DEV struct bj_nvml_device *

#endif
