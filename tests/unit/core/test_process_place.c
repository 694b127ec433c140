/* Open files below configured places. */
#include "tests/unit/core/test_process.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static uint64_t place(const struct rig *r, const char *name)
{
    const struct bj_place_use *v = r->job.places.v;
    for (size_t i = 0; i < r->job.places.n; i++)
        if (bj_slice_eq(v[i].sub.key[0], bj_slice_str(name)))
            return v[i].files;
    return BJ_ABSENT;
}

/* Open the files of a list of paths that ends with NULL. */
static void open_files(void *arg)
{
    const char *const *path = arg;
    for (; *path; path++)
        if (open(*path, O_RDWR | O_CREAT, 0644) < 0)
            _exit(1);
}

static void counted(void **state)
{
    struct rig r;
    char text[4][64], file[5][80];
    (void)state;
    rig_init(&r);
    rig_procs(&r, "a", NULL, 0);
    rig_procs(&r, "ab", NULL, 0);
    snprintf(file[0], sizeof(file[0]), "%s/a/one", r.dir);
    snprintf(file[1], sizeof(file[1]), "%s/a/two", r.dir);
    snprintf(file[2], sizeof(file[2]), "%s/ab/three", r.dir);
    snprintf(file[3], sizeof(file[3]), "%s/a/gone", r.dir);
    snprintf(file[4], sizeof(file[4]), "%s/a/late", r.dir);
    const char *const first[] = {file[0], file[1], file[0], file[3], NULL};
    const char *const second[] = {file[0], file[2], "/dev/null", NULL};
    const char *const third[] = {file[4], NULL};
    pid_t pid[3] = {rig_spawn(open_files, (void *)(uintptr_t)first),
                    rig_spawn(open_files, (void *)(uintptr_t)second),
                    /* Started before the collector has files that it would
                     * inherit. */
                    rig_spawn(open_files, (void *)(uintptr_t)third)};
    unlink(file[3]);
    snprintf(text[0], sizeof(text[0]), "scratch=%s/a/", r.dir);
    snprintf(text[1], sizeof(text[1]), "home=%s/ab", r.dir);
    snprintf(text[2], sizeof(text[2]), "both=%s/a", r.dir);
    snprintf(text[3], sizeof(text[3]), "both=%s/ab", r.dir);
    char none[] = "none=/nonexistent";
    char *entries[] = {text[0], text[1], text[2], text[3], none};
    r.conf.places = (struct bj_strv){entries, COUNT(entries)};
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    assert_int_equal(r.job.places.n, 4);
    assert_int_equal(place(&r, "scratch"), 3); /* one, two, gone */
    assert_int_equal(place(&r, "home"), 1);
    assert_int_equal(place(&r, "both"), 4);
    assert_int_equal(place(&r, "none"), 0);
    const struct bj_place_use *v = r.job.places.v;
    for (size_t i = 1; i < r.job.places.n; i++)
        assert_true(strcmp(v[i - 1].sub.key[0].p, v[i].sub.key[0].p) < 0);
    /* New processes are read after 5 s, known ones after 30 s. */
    rig_procs(&r, "", pid, 3);
    assert_int_equal(rig_pass(&r, 3), 0);
    assert_int_equal(place(&r, "scratch"), 3);
    assert_int_equal(rig_pass(&r, 3), 0);
    assert_int_equal(place(&r, "scratch"), 4);
    /* Links beyond the budget count as refused. */
    uint64_t refused = bj_proctab_refused(r.t);
    bj_proctab_begin(r.t, r.now_usec += 40 * SECOND, UINT64_MAX);
    r.t->links_left = 2;
    assert_int_equal(rig_update(&r), 0);
    assert_int_equal(bj_proctab_refused(r.t), refused + 1);
    for (int i = 0; i < 3; i++)
        rig_kill(pid[i]);
    rig_stop(&r);
}

static void root_is_all(void **state)
{
    struct rig r;
    char entry[] = "all=/";
    char *entries[] = {entry};
    (void)state;
    const char *const files[] = {"/dev/null", "/dev/zero", "/dev/full", NULL};
    rig_init(&r);
    r.conf.places = (struct bj_strv){entries, 1};
    pid_t pid = rig_spawn(open_files, (void *)(uintptr_t)files);
    rig_procs(&r, "", &pid, 1);
    rig_start(&r, r.dir, false);
    assert_int_equal(rig_pass(&r, 2), 0);
    /* Up to three standard files as well. */
    assert_in_range(place(&r, "all"), 3, 6);
    rig_kill(pid);
    rig_stop(&r);
}

/* Open more different files than the initial size of the table. */
static void open_many(void *arg)
{
    const char *dir = arg;
    char path[96];
    for (int i = 0; i < 700; i++) {
        snprintf(path, sizeof(path), "%s/f%d", dir, i);
        if (open(path, O_RDWR | O_CREAT, 0644) < 0)
            _exit(1);
    }
}

static void many(void **state)
{
    struct rig r;
    char entry[80], dup[80], *entries[] = {entry, dup};
    (void)state;
    rig_init(&r);
    snprintf(entry, sizeof(entry), "dir=%s", r.dir);
    snprintf(dup, sizeof(dup), "again=%s", r.dir);
    r.conf.places = (struct bj_strv){entries, 2};
    pid_t pid[2] = {rig_spawn(open_many, r.dir), rig_spawn(open_many, r.dir)};
    rig_procs(&r, "", pid, 2);
    rig_start(&r, r.dir, false);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(rig_pass(&r, 40), 0);
        assert_int_equal(place(&r, "dir"), 700);
        assert_int_equal(place(&r, "again"), 700);
    }
    assert_in_range(r.job.proc.open_fds, 1400, 1450);
    rig_kill(pid[0]);
    rig_kill(pid[1]);
    rig_stop(&r);
}

static void wrong(void **state)
{
    /* A message shows no control characters, and U+FFFD for what is no UTF-8.
     */
    static const struct {
        const char *entry, *shown;
    } bad[] = {{"", ""},
               {"x", "x"},
               {"=/x", "=/x"},
               {"x=", "x="},
               {"x=rel", "x=rel"},
               {"x\n=/y", "x?=/y"},
               {"\xff=/y", "\xef\xbf\xbd=/y"}};
    (void)state;
    for (size_t i = 0; i < COUNT(bad); i++) {
        struct rig r;
        char good[] = "a=/b", entry[16], want[16];
        char *entries[] = {good, entry};
        rig_init(&r);
        snprintf(entry, sizeof(entry), "%s", bad[i].entry);
        snprintf(want, sizeof(want), "place '%s'", bad[i].shown);
        r.conf.places = (struct bj_strv){entries, 2};
        assert_int_equal(bj_proctab_new(&r.conf, NULL, &r.pool, &r.t, &r.err),
                         -EINVAL);
        assert_memory_equal(r.err.msg, want, strlen(want));
        rmdir(r.dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted),
        cmocka_unit_test(root_is_all),
        cmocka_unit_test(many),
        cmocka_unit_test(wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
