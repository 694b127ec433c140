/* Of report/request_slurm*.c only: the options of a job of Slurm, as they were
 * and as they change. */
#ifndef BJ_REPORT_REQUEST_REQUEST_SLURM_H
#define BJ_REPORT_REQUEST_REQUEST_SLURM_H

#include "report/request/request_impl.h"
#include "sched/sbatch.h"

/* The options that the model knows. */
enum bj_slurm_opt {
#define BJ_SLURM_ENUM(name) name = BJ_SBATCH_##name,
    BJ_SBATCH_AMOUNTS(BJ_SLURM_ENUM)
#undef BJ_SLURM_ENUM
        OPTS
};

enum { UNSET = -1 };

struct bj_slurm {
    struct bj_request_out *out;
    const struct bj_request_job *job;
    const struct bj_request_need *need;
    /* The submit line, and the script where it is known: the option as
       written, its name and its value. */
    struct {
        bool on;
        struct bj_slice word, name, value;
        int64_t n;     /* the value as a number, or bytes */
        unsigned line; /* of the script; 0: it is on the submit line */
    } o[OPTS];
    struct bj_slice gres[2]; /* before and after the number of GPUs */
    bool line, script;       /* as in struct bj_request */
    bool wraps;              /* the command is the value of --wrap */
    bool whole; /* all options of the submit line were read, and a script has
                   more */
    bool script_known;   /* its options are known */
    unsigned reads_line; /* the line of the script being read */
    bool odd;            /* has options that the model cannot read */
    bool shape;
    int64_t tasks, task_cpus; /* that the job requested; UNSET: unknown */
    /* The next request; UNSET: no change. */
    int64_t to[OPTS];
    enum bj_request_part part[OPTS]; /* to which the change belongs */
    bool no_mem;                     /* MEM replaces MEM_CPU or MEM_GPU */
    bool keep; /* the memory must be requested, so that it stays */
    bool one;  /* all on one node */
    bool needs[BJ_REQUEST_PARTS]; /* wanted, but refused */
};

/* Read the submit line, and compare it with accounting: fills o, line, script,
 * odd, shape, tasks and task_cpus. */
void bj_slurm_read(struct bj_slurm *s);

/* Append the changed options to s->out, in the words of the submit line. */
void bj_slurm_write(struct bj_slurm *s);

/* The option that requests memory; OPTS: none on the submit line. */
enum bj_slurm_opt bj_slurm_memory(const struct bj_slurm *s);

#endif
