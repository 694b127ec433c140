/* The I/O of a job is complete: it is compared with what the processes did,
 * while they start, end and become orphans. */
#include "tests/unit/core/test_process_io.h"

#include "tests/unit/lib/await.h"
#include "tests/unit/lib/rounds.h"

enum { ACTORS = 24, OUTSIDE = -1 };

enum order { NONE, DO_IO, FORK, EXIT, REAP, IGNORE, ADOPT };

/* A process that follows orders. They are in shared memory, because a pipe
 * would be I/O as well. */
struct actor {
    atomic_int pid; /* 0: free, or ended */
    atomic_int order, arg;
    int parent; /* number of its parent; OUTSIDE: the test */
};

struct stage {
    struct actor actor[ACTORS];
    struct recorded_io recorded_io;
    pid_t test; /* the test itself */
};
static struct stage *stage;

static int setup(void **state)
{
    (void)state;
    stage = shared_memory(sizeof(*stage));
    return 0;
}

static void reap_all(void)
{
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
}

static void actor_main(int self);

static void actor_fork(int number)
{
    stage->actor[number].order = NONE;
    pid_t pid = fork();
    if (pid == 0)
        actor_main(number);
    atomic_store(&stage->actor[number].pid, pid < 0 ? 0 : pid);
}

static void actor_main(int self)
{
    struct actor *a = &stage->actor[self];
    for (;;) {
        int order = atomic_load(&a->order), arg = atomic_load(&a->arg);
        switch (order) {
        case NONE:
            /* Do not outlive the test. */
            if (kill(stage->test, 0) < 0)
                _exit(1);
            await_random(100);
            continue;
        case DO_IO:
            do_io(&stage->recorded_io, (unsigned)arg);
            break;
        case FORK:
            actor_fork(arg);
            break;
        case EXIT:
            _exit(0);
        case REAP:
            reap_all();
            break;
        case IGNORE:
            signal(SIGCHLD, SIG_IGN);
            break;
        case ADOPT:
            prctl(PR_SET_CHILD_SUBREAPER, 1);
            break;
        }
        atomic_store(&a->order, NONE);
    }
}

static bool zombie_or_gone(pid_t pid)
{
    long state = rig_field(pid, STATE);
    return state == 0 || state == 'Z';
}

/* Give an order and wait until it is done. */
static void command(int number, enum order order, int arg)
{
    struct actor *a = &stage->actor[number];
    if (order == FORK) {
        atomic_store(&stage->actor[arg].pid, 0);
        stage->actor[arg].parent = number;
    }
    atomic_store(&a->arg, arg);
    atomic_store(&a->order, order);
    AWAIT(order == EXIT ? zombie_or_gone(a->pid)
                        : atomic_load(&a->order) == NONE);
    if (order == EXIT)
        atomic_store(&a->pid, 0);
}

static void stage_clear(void)
{
    memset(stage, 0, sizeof(*stage));
    stage->test = getpid();
}

static void kill_actors(void)
{
    for (int i = ACTORS - 1; i >= 0; i--)
        if (atomic_load(&stage->actor[i].pid))
            kill(atomic_load(&stage->actor[i].pid), SIGKILL);
    while (waitpid(-1, NULL, 0) > 0)
        ;
}

static void start_root(void)
{
    kill_actors(); /* of a test that failed */
    stage_clear();
    stage->actor[0].parent = OUTSIDE;
    actor_fork(0);
}

static void list(struct rig *r)
{
    pid_t pids[ACTORS];
    int n = 0;
    for (int i = 0; i < ACTORS; i++)
        if (atomic_load(&stage->actor[i].pid))
            pids[n++] = atomic_load(&stage->actor[i].pid);
    rig_procs(r, "", pids, n);
}

/* --- single cases --- */

struct scene {
    struct rig r;
    uint64_t last[4];
};

static void scene_begin(struct scene *s)
{
    memset(s->last, 0, sizeof(s->last));
    rig_init(&s->r);
    start_root();
    list(&s->r);
    rig_start(&s->r, s->r.dir, false);
}

static void scene_pass(struct scene *s)
{
    list(&s->r);
    check_pass(&s->r, &stage->recorded_io, 31, s->last);
}

static void scene_end(struct scene *s)
{
    kill_actors();
    assert_int_equal(bj_proctab_faults(s->r.t), 0);
    rig_stop(&s->r);
}

static void child_seen(void **state)
{
    struct scene s;
    (void)state;
    scene_begin(&s);
    command(0, FORK, 1);
    command(1, DO_IO, 1000);
    scene_pass(&s);
    assert_int_equal(s.last[0], 1000);
    command(1, DO_IO, 500);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 30);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

static void child_not_seen(void **state)
{
    struct scene s;
    (void)state;
    scene_begin(&s);
    scene_pass(&s);
    command(0, FORK, 1);
    command(1, DO_IO, 1000);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

/* A child that has ended and was not waited for is not listed, but its I/O can
 * still be read. */
static void child_zombie(void **state)
{
    struct scene s;
    (void)state;
    need_root("child_zombie");
    scene_begin(&s);
    command(0, FORK, 1);
    command(1, DO_IO, 1000);
    scene_pass(&s);
    command(1, DO_IO, 700);
    command(1, EXIT, 0);
    command(0, DO_IO, 5000);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    command(0, DO_IO, 5000);
    command(0, REAP, 0);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

static void child_and_parent(void **state)
{
    struct scene s;
    (void)state;
    need_root("child_and_parent");
    scene_begin(&s);
    command(0, FORK, 1);
    command(1, FORK, 2);
    command(2, DO_IO, 3000);
    command(1, DO_IO, 200);
    scene_pass(&s);
    command(2, DO_IO, 10);
    command(2, EXIT, 0);
    command(1, REAP, 0);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 1);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

/* The kernel adds the I/O of children to no process if the parent ignores
 * SIGCHLD. */
static void parent_ignores(void **state)
{
    struct scene s;
    (void)state;
    need_root("parent_ignores");
    scene_begin(&s);
    command(0, IGNORE, 0);
    command(0, FORK, 1);
    command(1, DO_IO, 3000);
    scene_pass(&s);
    scene_pass(&s);
    command(1, EXIT, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

/* Actor 0 adopts a grandchild, and a pass sees it before it ends. */
static void orphan_seen(void **state)
{
    struct scene s;
    (void)state;
    need_root("orphan_seen");
    scene_begin(&s);
    command(0, ADOPT, 0);
    command(0, FORK, 1);
    command(1, FORK, 2);
    command(2, DO_IO, 3000);
    for (int i = 0; i < 6; i++)
        scene_pass(&s); /* enough passes that it counts as quiet */
    command(1, EXIT, 0);
    command(0, REAP, 0);
    scene_pass(&s);
    command(2, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

/* The same without a pass between adoption and end. */
static void orphan_not_seen(void **state)
{
    struct scene s;
    (void)state;
    need_root("orphan_not_seen");
    scene_begin(&s);
    command(0, ADOPT, 0);
    command(0, FORK, 1);
    command(1, FORK, 2);
    command(2, DO_IO, 3000);
    scene_pass(&s);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    command(2, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

/* The same when the ended parent was not waited for. */
static void orphan_of_zombie(void **state)
{
    struct scene s;
    (void)state;
    need_root("orphan_of_zombie");
    scene_begin(&s);
    command(0, ADOPT, 0);
    command(0, FORK, 1);
    command(1, FORK, 2);
    command(1, DO_IO, 100);
    command(2, DO_IO, 3000);
    for (int i = 0; i < 6; i++)
        scene_pass(&s);
    command(1, EXIT, 0);
    scene_pass(&s);
    command(2, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
}

/* A grandchild is adopted outside the job: only I/O that no pass saw is
 * lost. */
static void orphan_leaves(void **state)
{
    struct scene s;
    (void)state;
    need_root("orphan_leaves");
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    scene_begin(&s);
    command(0, FORK, 1);
    command(1, FORK, 2);
    command(2, DO_IO, 3000);
    command(1, DO_IO, 200);
    scene_pass(&s);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    scene_pass(&s);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    command(2, EXIT, 0);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    command(0, DO_IO, 10);
    list(&s.r);
    check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

/* --- at random --- */

static uint64_t rng;

static unsigned rnd(unsigned n)
{
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(rng >> 33) % n;
}

static int free_actor(void)
{
    for (int i = 1; i < ACTORS; i++)
        if (!atomic_load(&stage->actor[i].pid))
            return i;
    return -1;
}

static bool has_children(int number)
{
    for (int i = 0; i < ACTORS; i++)
        if (atomic_load(&stage->actor[i].pid) &&
            stage->actor[i].parent == number)
            return true;
    return false;
}

/* The children of that actor are now adopted by a process that is not one. */
static void orphan(int number)
{
    for (int i = 0; i < ACTORS; i++)
        if (stage->actor[i].parent == number)
            stage->actor[i].parent = OUTSIDE;
}

static void random_order(int number, bool orphans)
{
    unsigned what = rnd(100);
    int child = free_actor();
    if (what < 40)
        command(number, DO_IO, (int)rnd(IO_MAX));
    else if (what < 65 && child > 0)
        command(number, FORK, child);
    else if (what < 80)
        command(number, REAP, 0);
    else if (number > 0 && (orphans || !has_children(number))) {
        /* Children that have ended would become orphans as well. */
        if (!orphans)
            command(number, REAP, 0);
        command(number, EXIT, 0);
        orphan(number);
    }
}

static void run_random_orders(uint64_t seed, bool orphans, bool adopt,
                              unsigned max_fds)
{
    struct scene s = {.last = {0}};
    rng = seed;
    print_message("seed %u\n", (unsigned)seed);
    rig_init(&s.r);
    s.r.pool.max = max_fds;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    start_root();
    if (adopt)
        command(0, ADOPT, 0);
    list(&s.r);
    rig_start(&s.r, s.r.dir, false);
    for (int i = 0; i < 700; i++) {
        int number = (int)rnd(ACTORS);
        if (rnd(8) == 0) {
            list(&s.r);
            check_pass(&s.r, &stage->recorded_io, 1 + rnd(40), s.last);
        } else if (atomic_load(&stage->actor[number].pid)) {
            random_order(number, orphans);
        }
    }
    /* Children before their parents, which then wait for them. */
    for (bool any = true; any;) {
        any = false;
        for (int i = ACTORS - 1; i >= 0; i--)
            if (atomic_load(&stage->actor[i].pid)) {
                command(i, REAP, 0);
                if (i > 0 && (orphans || !has_children(i))) {
                    command(i, EXIT, 0);
                    any = true;
                }
            }
    }
    command(0, REAP, 0);
    list(&s.r);
    if (orphans)
        check_pass(&s.r, &stage->recorded_io, 31, s.last);
    else
        check_all_counted(&s.r, &stage->recorded_io, s.last);
    scene_end(&s);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void at_random(void **state)
{
    (void)state;
    need_root("at_random");
    for (uint64_t seed = 1; seed <= bj_rounds(6, 2); seed++) {
        run_random_orders(seed, false, false, 4096);
        run_random_orders(seed + 100, true, false, 4096);
        run_random_orders(seed + 200, true, true, 4096);
    }
    run_random_orders(300, false, false, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(child_seen),      cmocka_unit_test(child_not_seen),
        cmocka_unit_test(child_zombie),    cmocka_unit_test(child_and_parent),
        cmocka_unit_test(parent_ignores),  cmocka_unit_test(orphan_seen),
        cmocka_unit_test(orphan_not_seen), cmocka_unit_test(orphan_of_zombie),
        cmocka_unit_test(orphan_leaves),   cmocka_unit_test(at_random),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
