/* I/O of a job is conserved: compared with what its processes themselves say
 * they did, through births, deaths and orphans. */
#include "tests/unit/test_process_io.h"

#include "tests/unit/lib/await.h"
#include "tests/unit/lib/rounds.h"

enum { ACTORS = 24, OUTSIDE = -1 };

enum order { NONE, DO_IO, FORK, EXIT, REAP, IGNORE, ADOPT };

/* A process that follows orders.  They come through shared memory, as
 * a pipe would be I/O too. */
struct actor {
    atomic_int pid; /* 0: free, or dead */
    atomic_int order, arg;
    int parent; /* who started it; OUTSIDE: the test */
};

struct stage {
    struct actor actor[ACTORS];
    struct done done;
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

static void actor_fork(int who)
{
    stage->actor[who].order = NONE;
    pid_t pid = fork();
    if (pid == 0)
        actor_main(who);
    atomic_store(&stage->actor[who].pid, pid < 0 ? 0 : pid);
}

static void actor_main(int self)
{
    struct actor *a = &stage->actor[self];
    for (;;) {
        int order = atomic_load(&a->order), arg = atomic_load(&a->arg);
        switch (order) {
        case NONE:
            /* Nobody is to outlive the test. */
            if (kill(stage->test, 0) < 0)
                _exit(1);
            await_random(100);
            continue;
        case DO_IO:
            do_io(&stage->done, (unsigned)arg);
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
static void command(int who, enum order order, int arg)
{
    struct actor *a = &stage->actor[who];
    if (order == FORK) {
        atomic_store(&stage->actor[arg].pid, 0);
        stage->actor[arg].parent = who;
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

/* --- one thing at a time --- */

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

static void see(struct scene *s)
{
    list(&s->r);
    pass(&s->r, &stage->done, 31, s->last);
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
    see(&s);
    assert_int_equal(s.last[0], 1000);
    command(1, DO_IO, 500);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 30);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

static void child_not_seen(void **state)
{
    struct scene s;
    (void)state;
    scene_begin(&s);
    see(&s);
    command(0, FORK, 1);
    command(1, DO_IO, 1000);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

/* Dead and not waited for: no longer listed, but its account is there yet. */
static void child_zombie(void **state)
{
    struct scene s;
    (void)state;
    need_root("child_zombie");
    scene_begin(&s);
    command(0, FORK, 1);
    command(1, DO_IO, 1000);
    see(&s);
    command(1, DO_IO, 700);
    command(1, EXIT, 0);
    command(0, DO_IO, 5000);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    command(0, DO_IO, 5000);
    command(0, REAP, 0);
    exact(&s.r, &stage->done, s.last);
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
    see(&s);
    command(2, DO_IO, 10);
    command(2, EXIT, 0);
    command(1, REAP, 0);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 1);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

/* Children of a parent that ignores SIGCHLD are nobody's. */
static void parent_ignores(void **state)
{
    struct scene s;
    (void)state;
    need_root("parent_ignores");
    scene_begin(&s);
    command(0, IGNORE, 0);
    command(0, FORK, 1);
    command(1, DO_IO, 3000);
    see(&s);
    see(&s);
    command(1, EXIT, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

/* The grandchild is adopted by the root, which is seen before it ends ... */
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
        see(&s); /* long enough to be left alone */
    command(1, EXIT, 0);
    command(0, REAP, 0);
    see(&s);
    command(2, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

/* ... or not ... */
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
    see(&s);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    command(2, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

/* ... and its dead parent may not have been waited for. */
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
        see(&s);
    command(1, EXIT, 0);
    see(&s);
    command(2, EXIT, 0);
    command(0, REAP, 0);
    command(0, DO_IO, 4000);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
    scene_end(&s);
}

/* Adopted outside the job: what it does unseen is lost, nothing else is. */
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
    see(&s);
    command(1, EXIT, 0);
    command(0, REAP, 0);
    see(&s);
    exact(&s.r, &stage->done, s.last);
    command(2, EXIT, 0);
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ;
    command(0, DO_IO, 10);
    list(&s.r);
    exact(&s.r, &stage->done, s.last);
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

static bool has_children(int who)
{
    for (int i = 0; i < ACTORS; i++)
        if (atomic_load(&stage->actor[i].pid) && stage->actor[i].parent == who)
            return true;
    return false;
}

/* Children of that parent have none of ours now. */
static void orphan(int who)
{
    for (int i = 0; i < ACTORS; i++)
        if (stage->actor[i].parent == who)
            stage->actor[i].parent = OUTSIDE;
}

static void random_order(int who, bool orphans)
{
    unsigned what = rnd(100);
    int child = free_actor();
    if (what < 40)
        command(who, DO_IO, (int)rnd(IO_MOST));
    else if (what < 65 && child > 0)
        command(who, FORK, child);
    else if (what < 80)
        command(who, REAP, 0);
    else if (who > 0 && (orphans || !has_children(who))) {
        /* Ended processes become orphans as well. */
        if (!orphans)
            command(who, REAP, 0);
        command(who, EXIT, 0);
        orphan(who);
    }
}

static void play(uint64_t seed, bool orphans, bool adopt, unsigned max_fds)
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
        int who = (int)rnd(ACTORS);
        if (rnd(8) == 0) {
            list(&s.r);
            pass(&s.r, &stage->done, 1 + rnd(40), s.last);
        } else if (atomic_load(&stage->actor[who].pid)) {
            random_order(who, orphans);
        }
    }
    /* The youngest first, so that all are waited for by their parents. */
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
        pass(&s.r, &stage->done, 31, s.last);
    else
        exact(&s.r, &stage->done, s.last);
    scene_end(&s);
    prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void at_random(void **state)
{
    (void)state;
    need_root("at_random");
    for (uint64_t seed = 1; seed <= bj_rounds(6, 2); seed++) {
        play(seed, false, false, 4096);
        play(seed + 100, true, false, 4096);
        play(seed + 200, true, true, 4096);
    }
    play(300, false, false, 7);
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
