/* Accounting files of PBS, and the runs of jobs in them: jobid, submit time of
 * the key, state, start, end, restarts. */
#ifndef BJ_TESTS_UNIT_STATSDB_PBS_RUNS_H
#define BJ_TESTS_UNIT_STATSDB_PBS_RUNS_H

#define Q(id) "11/20/2026 12:00:00;Q;" id ";user=anna queue=workq ctime=1000\n"
#define S(id, start)                                                           \
    "11/20/2026 12:00:10;S;" id ";user=anna ctime=1000 start=" start "\n"
#define R(id, start, n)                                                        \
    "11/20/2026 12:01:00;R;" id ";user=anna ctime=1000 start=" start           \
    " end=1900 Exit_status=-11 run_count=" n "\n"
#define E(id, start, end, n)                                                   \
    "11/20/2026 12:02:00;E;" id ";user=anna ctime=1000 start=" start           \
    " end=" end " Exit_status=0 resources_used.cput=00:00:05 run_count=" n     \
    "\n"
#define D(id) "11/20/2026 12:03:00;D;" id ";requestor=anna@login1\n"

/* 12:03:00 is 1795176180. */
static const struct {
    const char *what, *text, *want;
} pbs_cases[] = {
    {"a run", Q("1.s") S("1.s", "1500") E("1.s", "1500", "2000", "1"),
     "1.s|1000|4|1500|2000|0\n"},
    {"run again",
     Q("1.s") S("1.s", "1500") R("1.s", "1500", "1") S("1.s", "1950")
         E("1.s", "1950", "2500", "2"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|4|1950|2500|1\n"},
    {"run again, and again",
     S("1.s", "1500") R("1.s", "1500", "1") S("1.s", "1950")
         R("1.s", "1950", "2") S("1.s", "2950") E("1.s", "2950", "3500", "3"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|11|1950|1900|1\n"
     "1.s|1002|4|2950|3500|2\n"},
    {"run again, still running",
     S("1.s", "1500") R("1.s", "1500", "1") S("1.s", "1950"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|2|1950||1\n"},
    {"the end of the first run is never reported",
     S("1.s", "1500") S("1.s", "1950") E("1.s", "1950", "2500", "2"),
     "1.s|1000|11|1500||\n1.s|1001|4|1950|2500|1\n"},
    {"starts that failed count, but are no runs",
     S("1.s", "1500") E("1.s", "1500", "2000", "4"),
     "1.s|1000|4|1500|2000|0\n"},
    {"starts that failed count, and the job is run again",
     S("1.s", "1500") R("1.s", "1500", "4") S("1.s", "1950")
         E("1.s", "1950", "2500", "5"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|4|1950|2500|1\n"},
    {"deleted while it ran",
     Q("1.s") S("1.s", "1500") D("1.s") "11/20/2026 12:03:01;E;1.s;ctime=1000 "
                                        "start=1500 end=2600 Exit_status=271 "
                                        "run_count=1\n",
     "1.s|1000|6|1500|2600|0\n"},
    {"deleted while the third run began: start=0, as OpenPBS 23.06 writes",
     Q("1.s") S("1.s", "1500") R("1.s", "1500", "1") S("1.s", "1950")
         R("1.s", "1950", "2")
             D("1.s") "11/20/2026 12:03:00;E;1.s;user=anna ctime=1000 start=0 "
                      "end=1795176180 Exit_status=265 run_count=3\n",
     "1.s|1000|11|1500|1900|0\n1.s|1001|11|1950|1900|1\n"
     "1.s|1002|6||1795176180|2\n"},
    {"the end of a run that never began is known before those that did",
     "11/20/2026 12:03:00;E;1.s;user=anna ctime=1000 start=0 end=1795176180 "
     "Exit_status=265 run_count=3\n" S("1.s", "1500") R("1.s", "1500", "1")
         S("1.s", "1950") R("1.s", "1950", "2"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|11|1950|1900|1\n"
     "1.s|1002|5||1795176180|2\n"},
    {"the second run waits since the first was requeued",
     S("1.s", "1500") R("1.s", "1500", "1") S("1.s", "1950"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|2|1950||1\n"},
    {"an array is no job, its tasks are",
     Q("1[].s") S("1[].s", "1500") S("1[2].s", "1500")
         E("1[2].s", "1500", "2000", "1") D("1[].s")
             E("1[].s", "1500", "2000", "0"),
     "1[2].s|1000|4|1500|2000|0\n"},
    {"only the end of the second run is reported",
     E("1.s", "1950", "2500", "2"), "1.s|1001|4|1950|2500|1\n"},
    {"no run_count anywhere",
     S("1.s",
       "1500") "11/20/2026 12:01:00;R;1.s;ctime=1000 start=1500 "
               "end=1900\n" S(
                   "1.s",
                   "1950") "11/20/2026 12:02:00;E;1.s;ctime=1000 start=1950 "
                           "end=2500 Exit_status=0\n",
     "1.s|1000|11|1500|1900|\n1.s|1001|4|1950|2500|1\n"},
    {"deleted while it waited", Q("1.s") D("1.s"), "1.s|1000|6||1795176180|\n"},
    {"deleted while it waited to run again",
     Q("1.s") S("1.s", "1500") R("1.s", "1500", "1") D("1.s"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|6||1795176180|1\n"},
    {"an account that imitates a record",
     "11/20/2026 12:02:00;E;1.s;user=anna account=\"x\n"
     "11/20/2026 12:02:00;E;9.s;user=root Exit_status=0\n"
     "y\" project=p ctime=1000 start=1500 end=2000 Exit_status=0 "
     "run_count=1\n",
     "1.s|1000|4|1500|2000|0\n"},
    {"an end without exit status",
     S("1.s", "1500") "11/20/2026 12:02:00;E;1.s;user=anna ctime=1000 "
                      "start=1500 end=2000 run_count=1\n",
     "1.s|1000|0|1500|2000|0\n"},
    {"ids that begin alike",
     E("1.s", "1500", "2000", "1") E("1[2].s", "1500", "2000", "1")
         E("11.s", "1500", "2000", "1"),
     "1.s|1000|4|1500|2000|0\n11.s|1000|4|1500|2000|0\n"
     "1[2].s|1000|4|1500|2000|0\n"},
    {"the runs are reported in the wrong order",
     E("1.s", "1950", "2500", "2") R("1.s", "1500", "1"),
     "1.s|1000|11|1500|1900|0\n1.s|1001|4|1950|2500|1\n"},
    {"three runs in the wrong order: their keys are in that of their starts",
     E("1.s", "2950", "3500", "30") R("1.s", "1500", "9")
         R("1.s", "1950", "20"),
     "1.s|1008|11|1500|1900|8\n1.s|1019|11|1950|1900|19\n"
     "1.s|1029|4|2950|3500|29\n"},
};

#endif
