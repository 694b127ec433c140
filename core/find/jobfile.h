/* Files that a prolog leaves on the node: one for each job, named by its id.
 *
 * Three formats are read:
 *
 *   ours (examples/slurm-prolog.sh): lines "key=value".  Keys are jobid,
 *       sluid, uid, user, account, partition, qos, name, array_job_id,
 *       array_task, het_job_id, het_offset, nodelist, gpus (numbers, as
 *       "0,2-3"), start, latest_end (seconds since 1970) and restarts; others
 *       are ignored.  A value ends with its line; in it "\n" is a
 *       newline and "\\" a backslash.  Lines that start with '#' are ignored.
 *   three words, "uid account nodelist", as prologs for the older batch job
 *       stack write them below /run/slurmjobstat
 *   three words, "user account nodelist", the first not a number: later
 *       versions of that stack
 *
 * More words on such a line, such as the job's directory, are ignored. */
#ifndef BJ_CORE_FIND_JOBFILE_H
#define BJ_CORE_FIND_JOBFILE_H

#include "base/err.h"
#include "core/find/ident.h"

enum { BJ_JOBFILE_CAP = 64 * 1024 }; /* maximum number of bytes read */

/* The content of a file.  The slices point into its text; missing fields are
 * empty, or BJ_ABSENT. */
struct bj_jobfile {
    struct bj_slice f[BJ_ID_FIELDS];
    struct bj_slice nodelist; /* as Slurm writes it */
    struct bj_ident_numbers number;
};

/* Parse n bytes at text; escapes are decoded in place.  -EINVAL, with a message
 * that names the line and what was expected there, if the text has none of the
 * three formats, or a malformed number. */
int bj_jobfile_parse(char *text, size_t n, struct bj_jobfile *ret,
                     struct bj_err *err);

/* Is the file about the job that f describes?  -EINVAL, with a message, when
 * it names another job id, SLUID or uid: it is left over from another job. */
int bj_jobfile_check(const struct bj_jobfile *file,
                     const struct bj_slice f[BJ_ID_FIELDS], struct bj_err *err);

/* Read the file of a job from directory dir (a path): parse and check it. name
 * is the job id or the SLUID.  buf has BJ_JOBFILE_CAP bytes; the slices point
 * into it.
 *   0        *ret is filled
 *   -ENOENT  no file; also for a name that cannot be a file name
 *   -EPERM   not trusted (bj_file_read_trusted), or others may write to dir
 *   -EINVAL  damaged, foreign, or about another job
 * The message names the file. */
int bj_jobfile_read(const char *dir, struct bj_slice name,
                    const struct bj_slice f[BJ_ID_FIELDS], char *buf,
                    struct bj_jobfile *ret, struct bj_err *err);

#endif
