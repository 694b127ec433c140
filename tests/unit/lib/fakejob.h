/* Jobs to be identified: real processes in directories that look like cgroups,
 * and a resolver that is asked about them. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEJOB_H
#define BJ_TESTS_UNIT_LIB_FAKEJOB_H

#include "core/find/resolver.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { PATH_CAP = 256 };

/* Set by fake_setup. */
extern char fake_root[64];     /* everything of a test lies below it */
extern uid_t fake_uid;         /* a job's user: another one when we are root */
extern char fake_uid_text[16]; /* the same as text */
extern char fake_user[16];     /* its name in fake_users: "u" and the number */

/* Before and after each test. */
int fake_setup(void **state);
int fake_teardown(void **state); /* ends all processes too */

/* The path of what lies below fake_root. */
const char *fake_path(const char *rel, char path[PATH_CAP]);
/* Make a directory and those above it. */
void fake_dir(const char *rel);
/* Add text to a file. */
void fake_append(const char *rel, const char *text);
/* Put a process into a "cgroup". */
void fake_join(const char *rel, pid_t pid);

/* Start program (it gets one argument, "600") with argv[0] and environment, as
 * user uid when we are root; waits until it runs. */
pid_t fake_start(const char *program, const char *argv0, uid_t uid,
                 const char *const env[]);
/* A program of the name slurmstepd, ours, with that title. */
pid_t fake_stepd(const char *title);

/* The environment of a process of Slurm job 7; NULL at the end. */
extern const char *const fake_env_7[];

/* Threads of resolvers: how many run, and the error to give instead. */
struct fake_threads {
    atomic_int running;
    int fail;
};
extern struct fake_threads fake_threads;
/* Wait until none runs. */
void fake_threads_end(void);
int fake_thread(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                const char *name);

/* uids are named "u" and the number. */
int fake_user_name(void *ctx, uid_t uid, char *buf, size_t cap);
extern const struct bj_userdb fake_users;

/* Its options are in fake_conf; prolog files are looked for in "jobs". */
struct bj_resolver *fake_resolver(const struct bj_userdb *db);
extern struct bj_conf fake_conf;

/* What is asked; dir is below fake_root; NULL is nothing. */
struct question {
    const char *system, *jobid, *sluid, *uid, *dir;
};
struct bj_ident_request *fake_ask(struct bj_resolver *r, struct question q);
/* Wait for the answer and drop the question. */
struct bj_ident *fake_wait(struct bj_resolver *r, struct bj_ident_request *a);
/* Ask once with a resolver of its own, which must see so many faults. */
struct bj_ident *fake_ask_once(struct question q, uint64_t want_faults);

/* The field is that text. */
void fake_is(const struct bj_ident *id, enum bj_ident_field f,
             const char *want);

#endif
