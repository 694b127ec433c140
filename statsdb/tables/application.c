#include "statsdb/tables/application.h"

#include "base/arena.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

#include <ctype.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum {
    PATTERNS = 4096,
    NAME_MAX_BYTES = 64,
    PATTERN_MAX_BYTES = 64,
    PROGRAM_MAX_BYTES = 128,
    FILE_MAX = 256 << 10,
    NAME_IN_WORDS = 4, /* shortest name that is looked for in names of jobs */
    HALF = 2
};

enum kind { APPLICATION, INTERPRETER, IGNORE };

struct pattern {
    const char *glob, *name; /* name NULL: ignored */
    enum kind kind;
};

struct bj_applications {
    struct bj_arena arena;
    struct pattern v[PATTERNS];
    size_t n;
    uint64_t sign;
};

/* Names of programs are those of the applications' manuals. */
static const char *const builtin[] = {
    /* molecules and materials */
    "application gromacs gmx gmx_* mdrun mdrun_*",
    "application lammps lmp lmp_* lammps", "application namd namd2 namd3",
    "application amber sander sander.* pmemd pmemd.* pmemd_*",
    "application charmm charmm", "application desmond desmond gdesmond",
    "application vasp vasp vasp_* vasp.*",
    "application quantum-espresso pw.x cp.x ph.x pp.x neb.x dos.x bands.x"
    " projwfc.x hp.x epw.x",
    "application cp2k cp2k cp2k.*", "application gaussian g09 g16 l[0-9]*.exe",
    "application orca orca orca_*", "application nwchem nwchem",
    "application abinit abinit", "application siesta siesta",
    "application castep castep castep.*",
    "application molpro molpro molpro.exe",
    "application qchem qchem qcprog.exe",
    "application gamess gamess.*.x rungms",
    "application turbomole ridft dscf ricc2 rdgrad jobex",
    "application crystal crystal Pcrystal",
    "application fhi-aims aims.x aims.*.x", "application dftb+ dftb+",
    "application octopus octopus", "application yambo yambo",
    "application wien2k lapw[0-9] lapw[0-9]_mpi lapw[0-9]c*",
    /* flow and structures */
    "application openfoam *Foam snappyHexMesh blockMesh decomposePar"
    " reconstructPar",
    "application ansys-fluent fluent fluent_mpi.* cortex.*",
    "application ansys ansys ansys[0-9]* mapdl",
    "application abaqus abaqus abq[0-9]*",
    "application comsol comsol comsollauncher",
    "application star-ccm+ starccm+ star-ccm+",
    "application ls-dyna lsdyna* ls-dyna* mppdyna*", "application su2 SU2_*",
    "application nek5000 nek5000", "application fds fds fds_*",
    /* climate, earth, astronomy, particles */
    "application wrf wrf.exe real.exe", "application cesm cesm.exe",
    "application icon icon", "application mitgcm mitgcmuv",
    "application nemo nemo nemo.exe",
    "application roms romsM romsS oceanM oceanS",
    "application gadget Gadget* P-Gadget*", "application arepo Arepo",
    "application enzo enzo.exe", "application root root root.exe",
    "application mcnp mcnp5 mcnp6 mcnp6.*", "application openmc openmc",
    "application serpent sss2",
    /* life sciences */
    "application relion relion_*", "application cryosparc cryosparc*",
    "application alphafold run_alphafold*",
    "application blast blastn blastp blastx tblastn tblastx psiblast rpsblast"
    " makeblastdb",
    "application bwa bwa bwa-mem2*", "application samtools samtools bcftools",
    "application bowtie bowtie bowtie2 bowtie2-align-*",
    "application star-aligner STAR STARlong",
    "application hmmer hmmsearch hmmscan jackhmmer nhmmer phmmer",
    "application minimap2 minimap2", "application kraken2 kraken2",
    "application salmon salmon", "application raxml raxmlHPC* raxml-ng*",
    "application iq-tree iqtree iqtree[0-9]*", "application mrbayes mb mb-mpi",
    "application plink plink plink2", "application gatk gatk",
    /* mathematics, benchmarks */
    "application matlab matlab MATLAB",
    "application mathematica WolframKernel MathKernel wolframscript",
    "application octave octave octave-*", "application stata stata stata-*",
    "application sas sas", "application gurobi gurobi_cl",
    "application cplex cplex", "application hpl xhpl", "application hpcg xhpcg",
    "application osu-benchmarks osu_*", "application ior ior",
    "interpreter python python python[0-9]* pypy* ipython* jupyter*",
    "interpreter r R Rscript", "interpreter julia julia",
    "interpreter java java", "interpreter perl perl",
    /* shells, launchers and small tools */
    "ignore sh bash dash zsh csh tcsh ksh sleep env time timeout tee cat cp mv"
    " rm mkdir ls tail head grep sed awk gawk date find xargs make git",
    "ignore srun sbatch salloc slurmstepd slurm_script mpirun mpiexec"
    " mpiexec.hydra hydra_pmi_proxy hydra_bstrap_proxy pmi_proxy orterun orted"
    " prterun prted numactl taskset ssh sshd tmux screen",
    "ignore singularity apptainer starter starter-suid podman enroot", NULL};

/* --- the table -------------------------------------------------------------
 */

static int application_wrong(const char *file, size_t line, struct bj_err *err,
                             const char *what)
{
    return bj_err_set(err, -EINVAL, "%s:%zu: %s", file, line, what);
}

static const char *application_copy(struct bj_applications *a,
                                    struct bj_slice s)
{
    struct bj_slice c = bj_arena_copy(&a->arena, s);
    return a->arena.failed ? NULL : c.p;
}

static int add_line(struct bj_applications *a, const char *file, size_t line,
                    struct bj_slice text, struct bj_err *err)
{
    static const char *const kinds[] = {"application", "interpreter", "ignore"};
    struct bj_slice word;
    size_t kind = 0, n = 0;
    const char *name = NULL;
    if (!bj_slice_word(&text, &word) || word.p[0] == '#')
        return 0;
    while (kind <= IGNORE && !bj_slice_eq(word, bj_slice_str(kinds[kind])))
        kind++;
    if (kind > IGNORE)
        return application_wrong(
            file, line, err, "application, interpreter or ignore is expected");
    if (kind != IGNORE) {
        if (!bj_slice_word(&text, &word) || word.n > NAME_MAX_BYTES ||
            !bj_text_is_utf8(word))
            return application_wrong(file, line, err,
                                     "a name of at most 64 bytes is expected");
        if (!(name = application_copy(a, word)))
            return bj_err_set(err, -ENOMEM, "applications");
    }
    for (; bj_slice_word(&text, &word); n++) {
        if (word.n > PATTERN_MAX_BYTES || memchr(word.p, '/', word.n))
            return application_wrong(
                file, line, err, "a pattern has at most 64 bytes and no '/'");
        if (a->n == PATTERNS)
            return application_wrong(file, line, err,
                                     "there are more than 4096 patterns");
        const char *glob = application_copy(a, word);
        if (!glob)
            return bj_err_set(err, -ENOMEM, "applications");
        a->v[a->n++] = (struct pattern){glob, name, (enum kind)kind};
    }
    return n > 0 ? 0
                 : application_wrong(file, line, err, "a pattern is expected");
}

int bj_applications_text(const char *name, struct bj_slice text,
                         struct bj_applications **ret, struct bj_err *err)
{
    struct bj_applications *a = calloc(1, sizeof(*a));
    struct bj_slice line;
    int r = 0;
    if (!a)
        return bj_err_set(err, -ENOMEM, "applications");
    for (size_t i = 1; r == 0 && bj_slice_line(&text, &line); i++)
        r = add_line(a, name, i, line, err);
    for (size_t i = 0; r == 0 && builtin[i]; i++)
        r = add_line(a, "built-in applications", i + 1,
                     bj_slice_str(builtin[i]), err);
    if (r < 0) {
        bj_applications_free(a);
        return r;
    }
    a->sign = BJ_HASH;
    for (size_t i = 0; i < a->n; i++) {
        a->sign = bj_hash(a->sign, bj_slice_str(a->v[i].glob));
        a->sign = bj_hash(bj_hash_unit(a->sign, a->v[i].kind),
                          bj_slice_str(a->v[i].name));
    }
    *ret = a;
    return 0;
}

int bj_applications_load(const char *path, struct bj_applications **ret,
                         struct bj_err *err)
{
    struct bj_slice text = {NULL, 0};
    if (!path || !path[0])
        return bj_applications_text("", text, ret, err);
    char *buf = malloc(FILE_MAX);
    if (!buf)
        return bj_err_set(err, -ENOMEM, "applications");
    int r = bj_file_read_trusted(AT_FDCWD, path, buf, FILE_MAX, &text, err);
    if (r == 0)
        r = bj_applications_text(path, text, ret, err);
    else
        r = bj_err_wrap(err, r == -ENOENT ? bj_err_recode(err, -EINVAL) : r,
                        "application.file");
    free(buf);
    return r;
}

void bj_applications_free(struct bj_applications *a)
{
    if (!a)
        return;
    bj_arena_free(&a->arena);
    free(a);
}

uint64_t bj_applications_sign(const struct bj_applications *a)
{
    return a->sign;
}

/* --- matching --------------------------------------------------------------
 */

static struct bj_slice base_name(struct bj_slice path)
{
    size_t n = path.n;
    while (n > 0 && path.p[n - 1] != '/')
        n--;
    return n > 0 ? (struct bj_slice){path.p + n, path.n - n} : path;
}

static const struct pattern *application_find(const struct bj_applications *a,
                                              struct bj_slice program)
{
    char name[PROGRAM_MAX_BYTES + 1];
    struct bj_slice base = base_name(program);
    if (base.n == 0 || base.n > PROGRAM_MAX_BYTES || memchr(base.p, 0, base.n))
        return NULL;
    memcpy(name, base.p, base.n);
    name[base.n] = '\0';
    for (size_t i = 0; i < a->n; i++)
        if (fnmatch(a->v[i].glob, name, 0) == 0)
            return &a->v[i];
    return NULL;
}

void bj_application_add(const struct bj_applications *a,
                        struct bj_slice program, int64_t cpu_usec,
                        struct bj_application_programs *to)
{
    const struct pattern *p = application_find(a, program);
    const char *name = p ? p->name : NULL;
    size_t i = 0;
    if ((p && p->kind == IGNORE) || cpu_usec <= 0 ||
        __builtin_add_overflow(to->total_usec, cpu_usec, &to->total_usec))
        return;
    while (i < to->n && to->of[i].name != name)
        i++;
    if (i == BJ_APPLICATION_PROGRAMS)
        return;
    if (i == to->n) {
        to->n++;
        to->of[i].name = name;
        to->of[i].cpu_usec = 0;
        to->of[i].interpreter = p && p->kind == INTERPRETER;
    }
    to->of[i].cpu_usec += cpu_usec; /* at most the total */
}

/* The application with half of the CPU time; NULL: programs that are not in
 * the table used half, or nothing is known. */
static const char *of_programs(const struct bj_application_programs *v,
                               bool *ret_interpreter)
{
    *ret_interpreter = false;
    if (v->total_usec == 0)
        return NULL;
    for (size_t i = 0; i < v->n; i++)
        if (v->of[i].cpu_usec >= v->total_usec - v->of[i].cpu_usec) {
            *ret_interpreter = v->of[i].interpreter;
            return v->of[i].name;
        }
    return BJ_APPLICATION_SEVERAL;
}

/* Cut the next program off a command line: words, also within quotes and after
 * "=", that are no options. */
static bool next_word(struct bj_slice *rest, struct bj_slice *ret)
{
    size_t i = 0, n;
    if (rest->n == 0)
        return false;
    while (i < rest->n && strchr(" \t\n\r'\"=;|&()", rest->p[i]))
        i++;
    n = i;
    while (n < rest->n && rest->p[n] && !strchr(" \t\n\r'\"=;|&()", rest->p[n]))
        n++;
    *ret = (struct bj_slice){rest->p + i, n - i};
    /* a zero byte ends a word, too */
    n += n < rest->n && rest->p[n] == '\0';
    *rest = (struct bj_slice){rest->p + n, rest->n - n};
    return n > i || rest->n > 0;
}

static bool same_letters(struct bj_slice s, const char *name)
{
    size_t i = 0;
    while (i < s.n && name[i] &&
           tolower((unsigned char)s.p[i]) == tolower((unsigned char)name[i]))
        i++;
    return i == s.n && name[i] == '\0';
}

/* Find the name of an application among the words of a text, which are
 * separated by anything but letters and digits. */
static const struct pattern *
application_find_name(const struct bj_applications *a, struct bj_slice text)
{
    for (size_t at = 0; at < text.n;) {
        size_t end = at;
        while (end < text.n && isalnum((unsigned char)text.p[end]))
            end++;
        struct bj_slice word = {text.p + at, end - at};
        for (size_t i = 0; word.n >= NAME_IN_WORDS && i < a->n; i++)
            if (a->v[i].name && same_letters(word, a->v[i].name))
                return &a->v[i];
        at = end + 1;
    }
    return NULL;
}

/* The first application of a command line; an interpreter if there is no other.
 */
static const struct pattern *of_line(const struct bj_applications *a,
                                     struct bj_slice line)
{
    const struct pattern *weak = NULL, *p;
    struct bj_slice word;
    while (next_word(&line, &word)) {
        if (word.n == 0 || word.p[0] == '-')
            continue;
        p = application_find(a, word);
        if (!p || p->kind == IGNORE)
            p = application_find_name(a, base_name(word));
        if (p && p->kind == APPLICATION)
            return p;
        if (p && p->kind == INTERPRETER && !weak)
            weak = p;
    }
    return weak;
}

/* --- batch scripts ---------------------------------------------------------
 */

static bool is_one_of(struct bj_slice word, const char *const *names)
{
    while (*names && !bj_slice_eq(word, bj_slice_str(*names)))
        names++;
    return *names != NULL;
}

/* The applications among the modules that the rest of a line loads. */
static void find_modules(const struct bj_applications *a, struct bj_slice rest,
                         struct bj_application_script *to)
{
    struct bj_slice word;
    while (!to->module && next_word(&rest, &word)) {
        const struct pattern *p = word.n > 0 && word.p[0] != '-'
                                      ? application_find_name(a, word)
                                      : NULL;
        if (p && p->kind == APPLICATION)
            to->module = p->name;
        else if (p && p->kind == INTERPRETER && !to->interpreter)
            to->interpreter = p->name;
    }
}

void bj_application_script_line(const struct bj_applications *a,
                                struct bj_slice line,
                                struct bj_application_script *to)
{
    static const char *const launchers[] = {
        "srun",     "mpirun",   "mpiexec", "mpiexec.hydra", "orterun",
        "prun",     "numactl",  "taskset", "time",          "timeout",
        "nohup",    "exec",     "env",     "apptainer",     "singularity",
        "podman",   "enroot",   "xargs",   "ibrun",         "aprun",
        "parallel", "charmrun", "nice",    "stdbuf",        NULL};
    static const char *const loaders[] = {"module", "ml", "spack", NULL};
    struct bj_slice rest = line, word;
    bool launched = false;
    for (;;) {
        struct bj_slice before = rest;
        if (!bj_slice_word(&rest, &word) || word.p[0] == '#')
            return;
        const struct bj_slice base = base_name(word);
        if (!launched && is_one_of(base, loaders)) {
            find_modules(a, rest, to);
            return;
        }
        const char *equal = memchr(word.p, '=', word.n);
        const char *slash = memchr(word.p, '/', word.n);
        if (!launched && equal && (!slash || equal < slash))
            continue; /* OMP_NUM_THREADS=4 before the program */
        if (is_one_of(base, launchers)) {
            launched = true;
            continue;
        }
        if (launched) {
            const struct pattern *p = of_line(a, before);
            if (p && p->kind == APPLICATION && !to->program)
                to->program = p->name;
            else if (p && p->kind == INTERPRETER && !to->interpreter)
                to->interpreter = p->name;
            return;
        }
        const struct pattern *p = application_find(a, word);
        if (p && p->kind == APPLICATION && !to->program)
            to->program = p->name;
        else if (p && p->kind == INTERPRETER && !to->interpreter)
            to->interpreter = p->name;
        return;
    }
}

const char *bj_application_script_name(const struct bj_application_script *s)
{
    return s->program ? s->program : s->module ? s->module : s->interpreter;
}

/* The pattern of a name that was found before; NULL: it is not in the table any
 * more. */
static const struct pattern *named(const struct bj_applications *a,
                                   struct bj_slice name)
{
    for (size_t i = 0; name.n > 0 && i < a->n; i++)
        if (a->v[i].name && bj_slice_eq(name, bj_slice_str(a->v[i].name)))
            return &a->v[i];
    return NULL;
}

const char *bj_application_of(const struct bj_applications *a,
                              const struct bj_application_evidence *e,
                              enum bj_application_by *ret_by)
{
    struct {
        enum bj_application_by by;
        const char *name;
        bool interpreter;
    } v[] = {{.by = BJ_APPLICATION_BY_EXECUTABLES},
             {.by = BJ_APPLICATION_BY_STEPS},
             {.by = BJ_APPLICATION_BY_SCRIPT},
             {.by = BJ_APPLICATION_BY_SUBMIT_LINE},
             {.by = BJ_APPLICATION_BY_JOB_NAME}};
    enum { WAYS = sizeof(v) / sizeof(v[0]) };
    v[0].name = of_programs(&e->executables, &v[0].interpreter);
    v[1].name = of_programs(&e->steps, &v[1].interpreter);
    const struct pattern *line = of_line(a, e->submit_line);
    const struct pattern *job = application_find_name(a, e->job_name);
    const struct pattern *const of[] = {named(a, e->script), line, job};
    for (size_t i = 2; i < WAYS; i++) {
        v[i].name = of[i - 2] ? of[i - 2]->name : NULL;
        v[i].interpreter = of[i - 2] && of[i - 2]->kind == INTERPRETER;
    }
    size_t best = WAYS;
    for (size_t i = 0; i < WAYS; i++) {
        if (!v[i].name)
            continue;
        /* What an interpreter ran may be named by weaker evidence. */
        if (best == WAYS || (v[best].interpreter && !v[i].interpreter))
            best = i;
        if (!v[best].interpreter)
            break;
    }
    if (best == WAYS)
        return NULL;
    *ret_by = v[best].by;
    return v[best].name;
}
