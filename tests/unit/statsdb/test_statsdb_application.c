/* Which application a job ran: evidence and its order, and tables of sites.
 * Names of programs are those that the applications' manuals give. */
#include "tests/unit/statsdb/test_statsdb_derive.h"

#include "report/job/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* "gmx_mpi 5,bash 90" */
static void add(const struct bj_applications *a, const char *list,
                struct bj_application_programs *to)
{
    struct bj_slice rest = bj_slice_str(list), one, name, number;
    while (bj_slice_field(&rest, ',', &one)) {
        assert_true(bj_slice_word(&one, &name));
        assert_true(bj_slice_word(&one, &number));
        bj_application_add(a, name, strtoll(number.p, NULL, 10), to);
    }
}

static const struct {
    const char *executables, *steps, *line, *name;
    const char *application; /* NULL: not recognised */
    enum bj_application_by by;
} cases[] = {
    {"/opt/gromacs/bin/gmx_mpi 900,bash 5000", "", "", "", "gromacs", 1},
    {"pw.x 100", "lmp 100", "sbatch vasp_std", "cp2k", "quantum-espresso", 1},
    {"gmx_mpi 500,gmx 500,lmp 900", "", "", "", "gromacs", 1},
    {"pw.x 400,lmp 300,vasp_std 300", "", "", "", "several", 1},
    /* programs that are not in the table used most of the time */
    {"a.out 900,gmx 100", "", "", "", NULL, 0},
    {"a.out 900,gmx 100", "vasp_std 10", "", "", "vasp", 2},
    {"a.out 900", "", "sbatch -N 2 --wrap='srun /sw/bin/lmp -in x'", "",
     "lammps", 4},
    {"", "hydra_bstrap_proxy 90,simpleFoam 1", "", "", "openfoam", 2},
    /* what an interpreter ran; else the interpreter */
    {"python3.11 900", "", "", "", "python", 1},
    {"python3.11 900", "", "sbatch run_alphafold.sh", "x", "alphafold", 4},
    {"R 900", "", "sbatch job.sh", "vasp-bands", "vasp", 5},
    {"python3.11 900", "", "sbatch --wrap=python train.py", "", "python", 1},
    {"", "", "sbatch --wrap=\"python3 x.py\"", "", "python", 4},
    /* words of file names and job names */
    {"", "", "sbatch /home/anna/run_gromacs.sh", "", "gromacs", 4},
    {"", "", "", "Gromacs_7", "gromacs", 5},
    {"", "", "", "gromacs7", NULL, 0},
    {"", "", "", "r", NULL, 0}, /* too short to mean the language R */
    {"", "", "sbatch --job-name=x -C gmx run.sh", "", "gromacs", 4},
    {"", "", "sbatch run.sh", "run", NULL, 0},
    {"", "", "", "", NULL, 0},
    /* unknown times are no evidence */
    {"gmx 0,lmp -9223372036854775808", "", "", "", NULL, 0},
    {"bash 900,sleep 1,srun 2", "", "", "", NULL, 0},
};

static void check(const struct bj_applications *a, size_t i)
{
    struct bj_application_evidence e = {0};
    enum bj_application_by by = 0;
    add(a, cases[i].executables, &e.executables);
    add(a, cases[i].steps, &e.steps);
    e.submit_line = bj_slice_str(cases[i].line);
    e.job_name = bj_slice_str(cases[i].name);
    const char *name = bj_application_of(a, &e, &by);
    if (!name != !cases[i].application ||
        (name && strcmp(name, cases[i].application) != 0) || by != cases[i].by)
        fail_msg("case %zu: %s by %d", i, name ? name : "none", (int)by);
}

static void test_cases(void **state)
{
    struct bj_applications *a;
    (void)state;
    assert_int_equal(bj_applications_load(NULL, &a, &err), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        check(a, i);
    bj_applications_free(a);
}

/* What batch scripts name. */
static void test_scripts(void **state)
{
    static const struct {
        const char *script, *application;
    } scripts[] = {
        {"#!/bin/bash\n#SBATCH -J gmx\nmodule load gromacs/2023\n./run.sh\n",
         "gromacs"},
        {"module purge\nmodule load bio/GROMACS/2023.1-foss vasp\n", "gromacs"},
        {"ml load intel VASP/6\nOMP_NUM_THREADS=4 srun -n 4 ./a.out\n", "vasp"},
        /* a program is better evidence than a module */
        {"module load gromacs\nsrun --mpi=pmix /sw/bin/lmp -in x\n", "lammps"},
        {"mpirun -np 4 pw.x < in\n", "quantum-espresso"},
        {"exec env A=b numactl -m 0 cp2k.psmp in\n", "cp2k"},
        {"A=b vasp_std\n", "vasp"},
        /* an interpreter only if there is no other */
        {"module load python\npython3 train.py\nsrun gmx mdrun\n", "gromacs"},
        {"python3 train.py\n", "python"},
        /* comments, files and words are not programs */
        {"# gmx\n#SBATCH --comment=vasp\ncp gmx lmp /tmp\necho vasp_std\n",
         NULL},
        {"", NULL},
    };
    struct bj_applications *a;
    (void)state;
    assert_int_equal(bj_applications_load(NULL, &a, &err), 0);
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        struct bj_application_script s = {0};
        struct bj_slice rest = bj_slice_str(scripts[i].script), line;
        while (bj_slice_line(&rest, &line))
            bj_application_script_line(a, line, &s);
        const char *name = bj_application_script_name(&s);
        if (!name != !scripts[i].application ||
            (name && strcmp(name, scripts[i].application) != 0))
            fail_msg("%s: %s", scripts[i].script, name ? name : "none");
    }
    /* Its place among the evidence: behind steps, before the submit line. */
    struct bj_application_evidence e = {.script = BJ_SLICE("gromacs"),
                                        .submit_line =
                                            BJ_SLICE("sbatch run_vasp.sh")};
    enum bj_application_by by = 0;
    assert_string_equal(bj_application_of(a, &e, &by), "gromacs");
    assert_int_equal(by, BJ_APPLICATION_BY_SCRIPT);
    e.script = BJ_SLICE("python");
    assert_string_equal(bj_application_of(a, &e, &by), "vasp");
    e.script = BJ_SLICE("not in the table");
    assert_string_equal(bj_application_of(a, &e, &by), "vasp");
    add(a, "lmp 5", &e.steps);
    e.script = BJ_SLICE("gromacs");
    assert_string_equal(bj_application_of(a, &e, &by), "lammps");
    bj_applications_free(a);
}

static const char *name_of(const struct bj_applications *a, const char *program)
{
    struct bj_application_evidence e = {0};
    enum bj_application_by by;
    bj_application_add(a, bj_slice_str(program), 1, &e.executables);
    return bj_application_of(a, &e, &by);
}

static void test_site(void **state)
{
    struct bj_applications *a, *b;
    (void)state;
    assert_int_equal(bj_applications_text("f", BJ_SLICE(""), &b, &err), 0);
    assert_int_equal(
        bj_applications_text("f",
                             BJ_SLICE("# ours\n\n"
                                      "application flow solver[0-9] solver_*\n"
                                      "application gromacs-gpu gmx\n"
                                      "ignore wrapper lmp\n"),
                             &a, &err),
        0);
    assert_string_equal(name_of(a, "/x/solver7"), "flow");
    assert_string_equal(name_of(a, "solver_"), "flow");
    assert_null(name_of(a, "solver"));
    assert_string_equal(name_of(a, "gmx"), "gromacs-gpu"); /* site's first */
    assert_string_equal(name_of(a, "gmx_mpi"), "gromacs");
    assert_null(name_of(a, "lmp"));
    assert_string_equal(name_of(b, "gmx"), "gromacs");
    assert_true(bj_applications_sign(a) != bj_applications_sign(b));
    bj_applications_free(a);
    bj_applications_free(b);
}

static void test_errors(void **state)
{
    static const char *const wrong[][2] = {
        {"application\n", "f:1: a name of at most 64 bytes is expected"},
        {"\napplication x\n", "f:2: a pattern is expected"},
        {"ignore\n", "f:1: a pattern is expected"},
        {"gromacs gmx\n",
         "f:1: application, interpreter or ignore is expected"},
        {"application x a/b\n",
         "f:1: a pattern has at most 64 bytes and no '/'"},
        {"application \xff x\n", "f:1: a name of at most 64 bytes is expected"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        struct bj_applications *a;
        assert_int_equal(
            bj_applications_text("f", bj_slice_str(wrong[i][0]), &a, &err),
            -EINVAL);
        assert_string_equal(err.msg, wrong[i][1]);
    }
    struct bj_applications *a;
    assert_int_equal(bj_applications_load("/nonexistent/a", &a, &err), -EINVAL);
    assert_non_null(strstr(err.msg, "application.file"));
}

/* Names come from users: any bytes, any length. */
static void test_hostile(void **state)
{
    struct bj_applications *a;
    uint64_t seed = 5;
    (void)state;
    assert_int_equal(bj_applications_load(NULL, &a, &err), 0);
    for (int i = 0; i < 3000; i++) {
        static const char bytes[] = "gmx_lp.*[]?\\/'\"= -\xff\xc3\n\t|;(";
        char text[400];
        size_t n = 0, want;
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        want = seed >> 33 & 255;
        while (n < want) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[n++] = bytes[(seed >> 33) % sizeof(bytes)]; /* also NUL */
        }
        struct bj_application_evidence e = {0};
        enum bj_application_by by;
        char *exact = malloc(n + 1);
        memcpy(exact, text, n);
        e.submit_line = e.job_name = (struct bj_slice){exact, n};
        bj_application_add(a, e.job_name, INT64_MAX, &e.executables);
        bj_application_add(a, e.job_name, INT64_MAX, &e.executables);
        bj_application_of(a, &e, &by);
        free(exact);
    }
    bj_applications_free(a);
}

/* Evidence from both nodes is added up; a job without measurements has a row
 * for its application, and counts in no sum; another table names it again. */
static void test_application(void **state)
{
    static const char names[] =
        "SELECT j.jobid, v.application, v.application_by FROM job AS j LEFT"
        " JOIN job_use_v AS v ON v.job = j.id ORDER BY j.jobid";
    struct derive_rig w;
    struct bj_sched_job j;
    (void)state;
    derive_rig_open(&w);
    bj_derive_free(w.d);
    OK(bj_applications_text("", BJ_SLICE(""), &w.applications, &err));
    derive_open(&w);
    make_job(&j, "1", 0, 3600);
    put_job(&w, &j);
    put_record(&w, "1", "n1", T0 + 3600,
               ",\"cpu_usec\":9,\"executables\":{\"lmp\":600,\"gmx_mpi\":400}");
    put_record(&w, "1", "n2", T0 + 3600,
               ",\"cpu_usec\":9,\"executables\":{\"gmx_mpi\":400,\"bash\":"
               "9000,\"x\":-1,\"y\":\"z\",\"w\":{\"a\":{}}}");
    make_job(&j, "2", 0, 3600);
    j.submit_line = BJ_SLICE("sbatch --wrap='srun vasp_std'");
    put_job(&w, &j);
    make_job(&j, "3", 0, 3600);
    put_job(&w, &j);
    put_record(&w, "3", "n1", T0 + 3600, ",\"cpu_usec\":9,\"executables\":[1]");
    make_job(&j, "4", 0, 3600);
    j.submit_line = BJ_SLICE("sbatch flow.x");
    put_job(&w, &j);
    derive_all(&w);
    expect(w.s, names, "1|gromacs|executables\n2|vasp|submit_line\n3||\n4||\n");
    expect(w.s,
           "SELECT count(*), sum(counted_assoc IS NOT NULL) FROM job_use AS u"
           " JOIN job AS j ON j.id = u.job WHERE j.jobid IN (2, 4)",
           "1|1\n");
    assert_int_equal(derive_all(&w), 0);
    bj_derive_free(w.d);
    bj_applications_free(w.applications);
    OK(bj_applications_text("", BJ_SLICE("application flow flow.x\n"),
                            &w.applications, &err));
    derive_open(&w);
    derive_all(&w);
    expect(w.s, names,
           "1|gromacs|executables\n2|vasp|submit_line\n3||\n"
           "4|flow|submit_line\n");
    derive_rig_close(&w);
}

static void put_run(struct derive_rig *w, int id, const char *name,
                    uint64_t seconds, uint32_t cpus)
{
    struct bj_sched_job j;
    char text[16];
    snprintf(text, sizeof(text), "%d", id);
    make_job(&j, text, id * 10000, seconds);
    j.name = bj_slice_str(name);
    j.cpus = cpus;
    put_job(w, &j);
}

static void check_slower(struct derive_rig *w, int id, const char *want)
{
    struct bj_report r;
    char sql[64];
    snprintf(sql, sizeof(sql), "SELECT id FROM job WHERE jobid = %d", id);
    assert_int_equal(
        bj_report_read(bj_store_db(w->s), number(w->s, sql), &r, &err), 1);
    const char *got = strstr(r.verdict.wrong.p, "It ran for");
    if (!got != !want || (want && strcmp(got, want) != 0))
        fail_msg("job %d: %s", id, r.verdict.wrong.p);
    bj_report_free(&r);
}

/* A run is compared with the owner's completed runs of the same name and size
 * that began before it; four are too few. */
static void test_usual(void **state)
{
    struct derive_rig w;
    (void)state;
    derive_rig_open(&w);
    for (int i = 1; i <= 4; i++)
        put_run(&w, i, "md", 1000, 4);
    put_run(&w, 5, "md", 9000, 4);  /* the fifth run has four before it */
    put_run(&w, 6, "md", 1500, 4);  /* not more than 1.5 times as long */
    put_run(&w, 7, "md", 1501, 4);  /* after 1000 x 4, 9000, 1500 */
    put_run(&w, 8, "md", 9000, 8);  /* another size */
    put_run(&w, 9, "mdx", 9000, 4); /* another name */
    for (int i = 11; i <= 15; i++)
        put_run(&w, i, "five", 1000, 4);
    put_run(&w, 16, "five", 2000, 4);
    for (int i = 21; i <= 26; i++)
        put_run(&w, i, "short", 100, 4);
    put_run(&w, 27, "short", 599, 4); /* less than ten minutes */
    put_run(&w, 28, "short", 600, 4);
    derive_all(&w);
    check_slower(&w, 5, NULL);
    check_slower(&w, 6, NULL);
    check_slower(&w, 7,
                 "It ran for 00:25:01, slower than usual: the last 6 runs like "
                 "it took 00:16:40 (median).");
    check_slower(&w, 8, NULL);
    check_slower(&w, 9, NULL);
    check_slower(&w, 16,
                 "It ran for 00:33:20, slower than usual: the last 5 runs like "
                 "it took 00:16:40 (median).");
    check_slower(&w, 27, NULL);
    check_slower(&w, 28,
                 "It ran for 00:10:00, slower than usual: the last 7 runs like "
                 "it took 00:01:40 (median).");
    derive_rig_close(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),   cmocka_unit_test(test_scripts),
        cmocka_unit_test(test_site),    cmocka_unit_test(test_errors),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_application),
        cmocka_unit_test(test_usual),
    };
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
