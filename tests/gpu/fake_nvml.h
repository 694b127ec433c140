/* The script of the made NVML, between its files: fake_nvml.c, which says what
 * a script has, and fake_nvml_parts.c. */
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
    size_t told;   /* of the script's */
    unsigned gpus; /* mask */
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

int num(const char *text);
const char *number(int n, char text[12]);

/* The word behind those given, in the last line that begins with them. */
const char *say(const char *a, const char *b, const char *c, const char *d);

/* A value of a device or an instance; NULL: not supported. */
const char *get(const struct bj_nvml_device *d, const char *key);

/* A call begins: what it must return, 0 when it may go on.  Every call ends
 * with done(). */
int begin(const struct bj_nvml_device *d, const char *symbol);
int done(int code);

/* A whole call that gives one value. */
int give(const struct bj_nvml_device *d, const char *symbol, const char *key,
         unsigned *ret);
int give_u64(const struct bj_nvml_device *d, const char *symbol,
             const char *key, unsigned long long *ret);

#define EXPORT __attribute__((visibility("default")))
#define CALL(name, ...)                                                        \
    EXPORT int name(__VA_ARGS__);                                              \
    EXPORT int name(__VA_ARGS__)
#define DEV struct bj_nvml_device *

#endif
