/* core/gpu/fdinfo.c and clients.c: any text of a driver about open files is
 * read safely, names are terminated, and no counter of a job ever falls.  Files
 * are separated by a NUL, readings by two. */
#include "core/gpu/clients.h"
#include "tests/fuzz/fuzz.h"

static struct bj_gpu_set set, before;

static void check(const struct bj_fdinfo *f)
{
    MUST(f->n <= BJ_FDINFO_ENGINES);
    MUST(f->pdev[0] && memchr(f->pdev, '\0', sizeof(f->pdev)));
    MUST(memchr(f->client, '\0', sizeof(f->client)));
    for (unsigned i = 0; i < f->n; i++) {
        MUST(f->engine[i].name[0] &&
             memchr(f->engine[i].name, '\0', BJ_FDINFO_TEXT));
        MUST(f->engine[i].capacity > 0);
    }
}

/* No counter disappears or falls. */
static void end(struct bj_gpu_clients *c)
{
    bj_gpu_clients_end(c);
    bj_gpu_set_copy(&before, &set);
    bj_gpu_set_clear(&set);
    bj_gpu_clients_publish(c, &set);
    for (size_t i = 0; i < before.ntimes && set.ntimes < BJ_GPU_TIMES_MAX;
         i++) {
        bool found = false;
        for (size_t k = 0; k < set.ntimes && !found; k++)
            found = strcmp(before.time[i].engine, set.time[k].engine) == 0 &&
                    strcmp(before.v[before.time[i].gpu].pci,
                           set.v[set.time[k].gpu].pci) == 0 &&
                    before.time[i].busy_usec <= set.time[k].busy_usec;
        MUST(found || set.n == BJ_GPUS_MAX);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bj_gpu_clients *c;
    struct bj_slice text, file;
    uint64_t usec = 1000000;
    char *mem;
    MUST(bj_gpu_clients_new(&c) == 0);
    bj_gpu_set_clear(&set);
    text = fuzz_exact(data, size, &mem);
    bj_gpu_clients_begin(c, usec);
    while (bj_slice_field(&text, '\0', &file)) {
        struct bj_fdinfo f;
        MUST(bj_gpu_clients_job(c, 1));
        if (bj_fdinfo_parse(file, &f)) {
            check(&f);
            bj_gpu_clients_take(c, 1, &f, true);
        } else if (file.n == 0) {
            end(c);
            bj_gpu_clients_begin(c, usec += 5000000);
            MUST(bj_gpu_clients_job(c, 1));
        }
    }
    end(c);
    bj_gpu_clients_free(c);
    free(mem);
    return 0;
}
