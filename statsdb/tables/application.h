/* Names the application that a job ran, by a table of patterns: the built-in
 * one, before it that of the site (application.file), with lines
 *
 *   application gromacs gmx gmx_*
 *   interpreter python python*
 *   ignore mytool
 *
 * The first word says what the patterns mean, the second of an application or
 * interpreter is its name; patterns are those of a shell, for base names of
 * programs.  The first line with a matching pattern counts. */
#ifndef BJ_STATSDB_TABLES_APPLICATION_H
#define BJ_STATSDB_TABLES_APPLICATION_H

#include "base/err.h"
#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>

/* The evidence that named the application, best first; the numbers are stored.
 */
enum bj_application_by {
    BJ_APPLICATION_BY_EXECUTABLES = 1, /* CPU time by program, final records */
    BJ_APPLICATION_BY_STEPS = 2,       /* names of the scheduler's steps */
    BJ_APPLICATION_BY_SCRIPT = 3, /* programs and modules of the batch script */
    BJ_APPLICATION_BY_SUBMIT_LINE = 4,
    BJ_APPLICATION_BY_JOB_NAME = 5
};

/* "executables", "steps", "script", "submit_line", "job_name" for a number in
 * SQL. */
#define BJ_SQL_APPLICATION_BY(number)                                          \
    "CASE " number " WHEN 1 THEN 'executables' WHEN 2 THEN 'steps' WHEN 3"     \
    " THEN 'script' WHEN 4 THEN 'submit_line' WHEN 5 THEN 'job_name' END"

/* The name where no application used half of the CPU time. */
#define BJ_APPLICATION_SEVERAL "several"

enum { BJ_APPLICATION_PROGRAMS = 64 };

/* Programs of a job with their CPU time; further ones are one sum. */
struct bj_application_programs {
    struct {
        const char *name; /* of the application; NULL: not in the table */
        int64_t cpu_usec;
        bool interpreter;
    } of[BJ_APPLICATION_PROGRAMS];
    size_t n;
    int64_t total_usec; /* of all that are not ignored */
};

struct bj_applications;

/* Load the table; path NULL or empty: only the built-in one.  Messages contain
 * file and line.  -EINVAL: the file is missing or invalid.  -EPERM: other
 * users can write the file.  -ENOMEM. */
int bj_applications_load(const char *path, struct bj_applications **ret,
                         struct bj_err *err);

/* The same with a text; name is the file in messages. */
int bj_applications_text(const char *name, struct bj_slice text,
                         struct bj_applications **ret, struct bj_err *err);
void bj_applications_free(struct bj_applications *a); /* NULL is fine */

/* Identifies the table. */
uint64_t bj_applications_sign(const struct bj_applications *a);

/* Count the CPU time of a program, by its name with or without its path.  Time
 * that is negative counts as 0. */
void bj_application_add(const struct bj_applications *a,
                        struct bj_slice program, int64_t cpu_usec,
                        struct bj_application_programs *to);

/* The application that a batch script names; zero at first. */
struct bj_application_script {
    const char *program, *module, *interpreter; /* the first of each, or NULL */
};

/* Read a line of a batch script.  Programs are those that the line runs, also
 * by a launcher such as srun; what a shell would expand or quote is not
 * interpreted.  Modules are those of "module load". */
void bj_application_script_line(const struct bj_applications *a,
                                struct bj_slice line,
                                struct bj_application_script *to);

/* The name; NULL: none is in the table. */
const char *bj_application_script_name(const struct bj_application_script *s);

/* Everything known about what a job ran. */
struct bj_application_evidence {
    struct bj_application_programs executables, steps;
    struct bj_slice script; /* a name from bj_application_script_name() */
    struct bj_slice submit_line, job_name;
};

/* Name the application.  Returns a name that lives as long as the table, or
 * NULL: nothing in the evidence is in the table. */
const char *bj_application_of(const struct bj_applications *a,
                              const struct bj_application_evidence *e,
                              enum bj_application_by *ret_by);

#endif
