/* Load for a real NVIDIA GPU: the processes of jobs in tests/e2e/gpu_nvidia.sh.
 * Needs the driver only: libcuda.so.1 is loaded at run time and compiles the
 * kernels below.
 *
 *   load KIND [MIB [PERCENT]]
 *
 * allocates MIB (64) of device memory, prints "ready", and until SIGTERM works
 * PERCENT (100) of each 100 ms:
 *   idle     not at all
 *   fp32     32-bit multiply-add on all multiprocessors
 *   tensor   16-bit matrix products
 *   tensor64 64-bit matrix products
 *   copy     copies between halves of its memory
 *   upload   copies from the host's memory to its own
 *   fault    writes to an address that it has not allocated (Xid 31)
 *
 * Source: CUDA driver API; PTX ISA 7.0. */
#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PERIOD_MSEC = 100, BLOCKS = 1056, THREADS = 256, ROUNDS = 20000 };

/* Each kernel has the arguments (address, rounds). */
#define BEGIN(name)                                                            \
    ".visible .entry " name "(.param .u64 to, .param .u32 rounds)\n{\n"        \
    ".reg .f32 %f<9>; .reg .b32 %a<5>; .reg .b32 %b<3>; .reg .u32 %r<6>;\n"    \
    ".reg .u64 %d<3>; .reg .f64 %e<5>; .reg .pred %p;\n"                       \
    "ld.param.u64 %d1, [to]; ld.param.u32 %r1, [rounds];\n"                    \
    "mov.u32 %r2, 0; mov.u32 %r3, %tid.x; cvt.rn.f32.u32 %f1, %r3;\n"          \
    "mov.f32 %f2, %f1; mov.f32 %f3, %f1; mov.f32 %f4, %f1;\n"                  \
    "mov.f32 %f5, 0f3F7FFFFF; mov.f32 %f6, 0f3F800001;\n"                      \
    "mov.b32 %a1, %r3; mov.b32 %a2, %r3; mov.b32 %a3, %r3; mov.b32 %a4, "      \
    "%r3;\n"                                                                   \
    "mov.b32 %b1, %r3; mov.b32 %b2, %r3; cvt.rn.f64.u32 %e1, %r3;\n"           \
    "mov.f64 %e2, %e1; mov.f64 %e3, %e1; mov.f64 %e4, %e1;\nAGAIN:\n"
#define END                                                                    \
    "add.u32 %r2, %r2, 1; setp.lt.u32 %p, %r2, %r1; @%p bra AGAIN;\n"          \
    "add.f32 %f1, %f1, %f2; add.f32 %f3, %f3, %f4; add.f32 %f1, %f1, %f3;\n"   \
    "cvt.rn.f32.f64 %f2, %e1; add.f32 %f1, %f1, %f2;\n"                        \
    "mul.wide.u32 %d2, %r3, 4; add.u64 %d1, %d1, %d2;\n"                       \
    "st.global.f32 [%d1], %f1; ret;\n}\n"
#define FMA(x) "fma.rn.f32 " x ", " x ", %f5, %f6;\n"

#define KERNEL(name, body) BEGIN(name) body END

#define TENSOR                                                                 \
    "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4},"  \
    " {%a1, %a2, %a3, %a4}, {%b1, %b2}, {%f1, %f2, %f3, %f4};\n"
#define TENSOR64                                                               \
    "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%e1, %e2}, {%e3}, "      \
    "{%e4}, {%e1, %e2};\n"

static const char kernels[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n" KERNEL(
        "fp32", FMA("%f1") FMA("%f2") FMA("%f3") FMA("%f4"))
        KERNEL("tensor", TENSOR) KERNEL("tensor64", TENSOR64) KERNEL("fault", );

/* Functions of the driver; each returns 0 or an error. */
static int (*init)(unsigned), (*device)(int *, int), (*retain)(void **, int),
    (*current)(void *), (*load)(void **, const void *),
    (*function)(void **, void *, const char *), (*allocate)(uint64_t *, size_t),
    (*set)(uint64_t, unsigned char, size_t),
    (*launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
              unsigned, unsigned, void *, void **, void **),
    (*copy)(uint64_t, uint64_t, size_t, void *), (*pinned)(void **, size_t),
    (*upload)(uint64_t, const void *, size_t, void *), (*wait)(void);

static const struct {
    const char *symbol;
    void *to;
} symbols[] = {
    {"cuInit", &init},
    {"cuDeviceGet", &device},
    {"cuDevicePrimaryCtxRetain", &retain},
    {"cuCtxSetCurrent", &current},
    {"cuModuleLoadData", &load},
    {"cuModuleGetFunction", &function},
    {"cuMemAlloc_v2", &allocate},
    {"cuMemsetD8_v2", &set},
    {"cuLaunchKernel", &launch},
    {"cuMemcpyDtoDAsync_v2", &copy},
    {"cuMemAllocHost_v2", &pinned},
    {"cuMemcpyHtoDAsync_v2", &upload},
    {"cuCtxSynchronize", &wait},
};

static volatile sig_atomic_t ended;

static void end(int signo)
{
    (void)signo;
    ended = 1;
}

static void must(int code, const char *what)
{
    if (code == 0)
        return;
    fprintf(stderr, "load: %s: error %d\n", what, code);
    exit(1);
}

static void resolve(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW);
    if (!lib) {
        fprintf(stderr, "load: %s\n", dlerror());
        exit(1);
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *found = dlsym(lib, symbols[i].symbol);
        must(!found, symbols[i].symbol);
        memcpy(symbols[i].to, &found, sizeof(found));
    }
}

static long long now_msec(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000LL + t.tv_nsec / 1000000;
}

static void rest(long long msec)
{
    struct timespec t = {.tv_nsec = msec * 1000000};
    if (msec > 0)
        nanosleep(&t, NULL);
}

int main(int argc, char **argv)
{
    const char *kind = argc > 1 ? argv[1] : "idle";
    size_t bytes = (size_t)(argc > 2 ? strtol(argv[2], NULL, 10) : 64) << 20;
    long percent = argc > 3 ? strtol(argv[3], NULL, 10) : 100;
    int dev;
    void *context, *module, *kernel = NULL, *host = NULL;
    uint64_t memory;
    unsigned rounds = ROUNDS;
    signal(SIGTERM, end);
    resolve();
    must(init(0), "cuInit");
    must(device(&dev, 0), "cuDeviceGet");
    must(retain(&context, dev), "cuDevicePrimaryCtxRetain");
    must(current(context), "cuCtxSetCurrent");
    must(allocate(&memory, bytes), "cuMemAlloc");
    must(set(memory, 0, bytes), "cuMemsetD8");
    uint64_t to = strcmp(kind, "fault") == 0 ? 4096 : memory;
    void *arguments[] = {&to, &rounds};
    if (strcmp(kind, "idle") == 0)
        percent = 0;
    else if (strcmp(kind, "upload") == 0)
        must(pinned(&host, bytes), "cuMemAllocHost");
    else if (strcmp(kind, "copy") != 0) {
        must(load(&module, kernels), "cuModuleLoadData");
        must(function(&kernel, module, kind), kind);
    }
    must(wait(), "cuCtxSynchronize");
    puts("ready");
    fflush(stdout);
    while (!ended) {
        long long begun = now_msec(),
                  until = begun + PERIOD_MSEC * percent / 100;
        while (!ended && now_msec() < until) {
            if (kernel)
                must(launch(kernel, BLOCKS, 1, 1, THREADS, 1, 1, 0, NULL,
                            arguments, NULL),
                     "cuLaunchKernel");
            else if (host)
                must(upload(memory, host, bytes, NULL), "cuMemcpyHtoD");
            else
                must(copy(memory, memory + bytes / 2, bytes / 2, NULL),
                     "cuMemcpyDtoD");
            must(wait(), "cuCtxSynchronize");
        }
        rest(begun + PERIOD_MSEC - now_msec());
    }
    return 0;
}
