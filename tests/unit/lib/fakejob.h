/* Simulated jobs: real processes whose ids are in cgroup.procs files of plain
 * directories, and a resolver that determines their identity. */
#ifndef BJ_TESTS_UNIT_LIB_FAKEJOB_H
#define BJ_TESTS_UNIT_LIB_FAKEJOB_H

#include "core/find/resolver.h"

#include <stdatomic.h>
#include <sys/types.h>

enum { PATH_CAP = 256 };

/* Set by fake_setup. */
extern char fake_root[64];     /* directory of all files of a test */
extern uid_t fake_uid;         /* user of the jobs; never root */
extern char fake_uid_text[16]; /* the same as text */
extern char fake_user[16];     /* its name in fake_users: "u" and the number */

/* Run before and after each test. */
int fake_setup(void **state);
int fake_teardown(void **state); /* also kills all processes */

/* The path of a file below fake_root. */
const char *fake_path(const char *rel, char path[PATH_CAP]);
/* Make a directory and its parents. */
void fake_dir(const char *rel);
/* Append text to a file. */
void fake_append(const char *rel, const char *text);
/* Add a process to a simulated cgroup. */
void fake_join(const char *rel, pid_t pid);

/* Start program with the argument "600", the given argv[0] and environment, and
 * as user uid if the test runs as root.  Returns after its exec. */
pid_t fake_start(const char *program, const char *argv0, uid_t uid,
                 const char *const env[]);
/* Start a process named slurmstepd with this title, as the user of the test. */
pid_t fake_stepd(const char *title);

/* The environment of a process of Slurm job 7, up to NULL. */
extern const char *const fake_env_7[];

/* Threads of resolvers: how many run, and the error with which a start
 * fails. */
struct fake_threads {
    atomic_int running;
    int fail;
};
extern struct fake_threads fake_threads;
/* Wait until no thread of a resolver runs. */
void fake_threads_wait(void);
int fake_thread_start(void *ctx, pthread_t *ret, void *(*fn)(void *), void *arg,
                      const char *name);

/* The name of a user: "u" and the uid. */
int fake_user_name(void *ctx, uid_t uid, char *buf, size_t cap);
extern const struct bj_userdb fake_users;

/* A resolver with the options in fake_conf; it reads prolog files from
 * "jobs". */
struct bj_resolver *fake_resolver(const struct bj_userdb *db);
extern struct bj_conf fake_conf;

/* The fields of a query; dir is relative to fake_root, NULL is absent. */
struct ident_query {
    const char *system, *jobid, *sluid, *uid, *dir, *user;
};
struct bj_ident_request *fake_request(struct bj_resolver *r,
                                      struct ident_query q);
/* Wait for the result and drop the request. */
struct bj_ident *fake_wait(struct bj_resolver *r, struct bj_ident_request *a);
/* Resolve one query with a new resolver, which must count want_faults
 * faults. */
struct bj_ident *fake_resolve(struct ident_query q, uint64_t want_faults);

/* Check the text of a field. */
void fake_check_field(const struct bj_ident *id, enum bj_ident_field f,
                      const char *want);

#endif
