/* Accounting files of PBS and Torque, and the jobs in them. */
#ifndef BJ_TESTS_UNIT_SCHED_PBS_ACCOUNTS_H
#define BJ_TESTS_UNIT_SCHED_PBS_ACCOUNTS_H

#define E_RECORD                                                               \
    "11/20/2026 11:00:00;E;123.pbs;user=anna group=physics account=\"big "     \
    "grant\" project=prj jobname=run queue=workq ctime=1795170000 "            \
    "qtime=1795170001 etime=1795170002 start=1795170100 "                      \
    "exec_host=n1/0*4+n2/0*4 "                                                 \
    "exec_vnode=(n1:ncpus=4:ngpus=1:mem=4gb)+(n2:ncpus=4:ngpus=1) "            \
    "Resource_List.mem=8gb Resource_List.ncpus=8 Resource_List.nodect=2 "      \
    "Resource_List.place=pack Resource_List.select=2:ncpus=4:ngpus=1 "         \
    "Resource_List.walltime=10:00:00 session=4711 end=1795173700 "             \
    "Exit_status=0 resources_used.cpupercent=390 "                             \
    "resources_used.cput=03:59:00 resources_used.mem=1048576kb "               \
    "resources_used.ncpus=8 resources_used.vmem=2097152kb "                    \
    "resources_used.walltime=01:00:00 run_count=1\n"
#define E_WANT                                                                 \
    "123.pbs completed name=run user=anna group=physics account=big grant "    \
    "project=prj queue=workq exit=0 code=0 signal=0 submit=1795170000 "        \
    "eligible=1795170002 start=1795170100 end=1795173700 elapsed=3600 "        \
    "limit=36000 cpus=8 nodes=2 gpus=2 asked=8589934592 peak=1073741824 "      \
    "cpu_usec=14340000000 restarts=0 on=n[1-2]\n"

/* Times of the lines are an hour ahead of UTC; 1795172400 is 11:00:00. */
static const struct {
    const char *what, *text, *want;
} accounts[] = {
    {"nothing", "", ""},
    {"a job that ended", E_RECORD, E_WANT},
    {"queued, deleted before it started",
     "11/20/2026 12:00:00;Q;7.pbs;queue=workq\n"
     "11/20/2026 12:01:00;D;7.pbs;requestor=anna@login1\n",
     "7.pbs pending queue=workq submit=1795172400\n"
     "7.pbs cancelled submit=1795172400 end=1795172460 reason=deleted by "
     "anna@login1\n"},
    {"deleted while it ran",
     "11/20/2026 12:00:00;Q;7.pbs;queue=workq\n"
     "11/20/2026 12:00:10;S;7.pbs;user=anna start=1795172410\n"
     "11/20/2026 12:01:00;D;7.pbs;requestor=anna@login1\n"
     "11/20/2026 12:01:01;E;7.pbs;user=anna Exit_status=271\n",
     "7.pbs pending queue=workq submit=1795172400\n"
     "7.pbs running user=anna submit=1795172400 start=1795172410\n"
     "7.pbs cancelled submit=1795172400 start=1795172410 end=1795172460 "
     "reason=deleted by anna@login1\n"
     "7.pbs cancelled user=anna exit=271 code=0 signal=15 submit=1795172400 "
     "start=1795172410 end=1795172461\n"},
    {"killed by a signal, not deleted",
     "11/20/2026 12:01:01;E;7.pbs;user=anna Exit_status=265\n",
     "7.pbs failed user=anna exit=265 code=0 signal=9 end=1795172461\n"},
    {"requeued and run again",
     "11/20/2026 12:00:10;S;7.pbs;qtime=1795172400 run_count=1\n"
     "11/20/2026 12:01:00;R;7.pbs;Exit_status=-9 run_count=1\n"
     "11/20/2026 12:02:00;S;7.pbs;qtime=1795172400 run_count=2\n"
     "11/20/2026 12:03:00;E;7.pbs;Exit_status=0 run_count=2\n",
     "7.pbs running submit=1795172400 start=1795172410 restarts=0\n"
     "7.pbs requeued exit=-9 submit=1795172400 start=1795172410 "
     "end=1795172460 restarts=0\n"
     "7.pbs running submit=1795172400 start=1795172520 restarts=1\n"
     "7.pbs completed exit=0 code=0 signal=0 submit=1795172400 "
     "start=1795172520 end=1795172580 restarts=1\n"},
    {"ended by PBS",
     "11/20/2026 12:00:00;E;1.pbs;Exit_status=-29\n"
     "11/20/2026 12:00:00;E;2.pbs;Exit_status=-27\n"
     "11/20/2026 12:00:00;E;3.pbs;Exit_status=-1\n"
     "11/20/2026 12:00:00;A;4.pbs;Job deleted as result of dependency\n",
     "1.pbs timeout exit=-29 end=1795172400\n"
     "2.pbs oom exit=-27 end=1795172400\n"
     "3.pbs failed exit=-1 end=1795172400\n"
     "4.pbs cancelled end=1795172400 reason=Job deleted as result of "
     "dependency\n"},
    {"aborted by PBS while it ran",
     "11/20/2026 12:00:00;S;4.pbs;ctime=1795172390 start=1795172400\n"
     "11/20/2026 12:01:00;A;4.pbs;Job rejected by all possible destinations\n",
     "4.pbs running submit=1795172390 start=1795172400\n"
     "4.pbs failed submit=1795172390 start=1795172400 end=1795172460 "
     "reason=Job rejected by all possible destinations\n"},
    {"arrays",
     "11/20/2026 12:00:00;E;9[3].pbs;Exit_status=1\n"
     "11/20/2026 12:00:00;E;9[].pbs;Exit_status=0\n",
     "9[3].pbs failed array=9 task=3 exit=1 code=1 signal=0 "
     "end=1795172400\n"},
    {"suspended twice, altered",
     "11/20/2026 12:00:10;S;7.pbs;ctime=1795172400 start=1795172410\n"
     "11/20/2026 12:01:00;z;7.pbs;resources_used.walltime=00:00:50\n"
     "11/20/2026 12:01:30;r;7.pbs;\n"
     "11/20/2026 12:01:40;a;7.pbs;Resource_List.walltime=00:20:00\n"
     "11/20/2026 12:02:00;z;7.pbs;\n"
     "11/20/2026 12:02:05;E;7.pbs;Exit_status=0 end=1795172525\n"
     "11/20/2026 12:02:05;z;8.pbs;\n",
     "7.pbs running submit=1795172400 start=1795172410\n"
     "7.pbs suspended submit=1795172400 start=1795172410 elapsed=50\n"
     "7.pbs running submit=1795172400 start=1795172410 suspended=30\n"
     "7.pbs running submit=1795172400 start=1795172410 limit=1200\n"
     "7.pbs suspended submit=1795172400 start=1795172410\n"
     "7.pbs completed exit=0 code=0 signal=0 submit=1795172400 "
     "start=1795172410 end=1795172525 suspended=35\n"},
    {"killed at a limit: the exit status does not say so",
     "11/20/2026 12:00:00;E;1.pbs;Exit_status=137 "
     "resources_used.diag_messages='{\"n1\": \"Cgroup mem limit exceeded\"}'\n"
     "11/20/2026 12:00:00;E;2.pbs;Exit_status=265 Resource_List.cput=00:00:05 "
     "resources_used.cput=00:00:05\n"
     "11/20/2026 12:00:00;E;3.pbs;Exit_status=137 Resource_List.cput=00:00:05 "
     "resources_used.cput=00:00:04 resources_used.diag_messages='{}'\n"
     "11/20/2026 12:00:00;E;4.pbs;Exit_status=0 "
     "resources_used.diag_messages='{\"n1\": \"Cgroup mem limit exceeded\"}'\n",
     "1.pbs oom exit=137 code=137 signal=0 end=1795172400\n"
     "2.pbs timeout exit=265 code=0 signal=9 end=1795172400 "
     "cpu_usec=5000000\n"
     "3.pbs failed exit=137 code=137 signal=0 end=1795172400 "
     "cpu_usec=4000000\n"
     "4.pbs completed exit=0 code=0 signal=0 end=1795172400\n"},
    {"records that are not about a run of a job",
     "11/20/2026 12:00:00;L;license;floating license hour:3\n"
     "11/20/2026 12:00:00;k;R5.pbs;requestor=root@pbs\n"
     "11/20/2026 12:00:00;u;7.pbs;user=anna\n"
     "11/20/2026 12:00:00;Z;7.pbs;\n",
     ""},
    {"an account with quotes and attributes: an account ends at the project, "
     "and the first user and group are those that PBS wrote",
     "11/20/2026 12:00:00;E;1.pbs;user=bob group=phys account=\"x\" "
     "user=\"root\" Exit_status=\"0\" group=\"wheel\" project=p queue=q "
     "Exit_status=1\n"
     "11/20/2026 12:00:00;E;2.pbs;user=bob group=phys account=\"x\" "
     "project=a user=root group=wheel Exit_status=0\" project=p queue=q "
     "Exit_status=1\n"
     "11/20/2026 12:00:00;E;3.pbs;user=bob account=\"a\" b\" jobname=n "
     "user=root Exit_status=1\n",
     "1.pbs failed user=bob group=phys account=x\" user=\"root\" "
     "Exit_status=\"0\" group=\"wheel project=p queue=q exit=1 code=1 "
     "signal=0 end=1795172400\n"
     "line 2: 2.pbs Exit_status: a number\n"
     "2.pbs failed user=bob group=phys account=x project=p queue=q exit=1 "
     "code=1 signal=0 end=1795172400\n"
     "3.pbs failed name=n user=bob account=a\" b exit=1 code=1 signal=0 "
     "end=1795172400\n"},
    {"an account that imitates records",
     "11/20/2026 12:00:00;E;1.pbs;user=bob account=\"x\n"
     "11/20/2026 12:00:00;E;9.pbs;user=root Exit_status=0 end=1\n"
     "\" project\n"
     "11/20/2026 12:00:00;E;8.pbs;user=root\" project=p Exit_status=1\n"
     "11/20/2026 12:00:00;E;2.pbs;user=anna Exit_status=0\n",
     "1.pbs failed user=bob account=x\n"
     "11/20/2026 12:00:00;E;9.pbs;user=root Exit_status=0 end=1\n"
     "\" project\n"
     "11/20/2026 12:00:00;E;8.pbs;user=root project=p exit=1 code=1 signal=0 "
     "end=1795172400\n"
     "2.pbs completed user=anna exit=0 code=0 signal=0 end=1795172400\n"},
    {"an account that has no end: nothing of it is read",
     "11/20/2026 12:00:00;E;1.pbs;user=bob account=\" project=p\n"
     "11/20/2026 12:00:00;E;9.pbs;user=root Exit_status=0\n",
     ""},
    {"text with newlines",
     "11/20/2026 12:00:00;E;1.pbs;user=bob Resource_List.software='a\n b\n' "
     "Exit_status=1\n"
     "11/20/2026 12:00:00;E;2.pbs;user=anna Exit_status=0\n",
     "1.pbs failed user=bob exit=1 code=1 signal=0 end=1795172400\n"
     "2.pbs completed user=anna exit=0 code=0 signal=0 end=1795172400\n"},
    {"an end that nothing explains",
     "11/20/2026 12:00:00;E;1.pbs;user=bob start=1795172000 end=1795172400\n",
     "1.pbs unknown user=bob start=1795172000 end=1795172400\n"},
    {"Torque: slots of exec_host, and exit statuses of its own",
     "11/20/2026 12:00:00;E;1.t;user=bob group=g jobname=j queue=batch "
     "owner=bob@login exec_host=n1/0-3+n2/0,2-3 "
     "Resource_List.neednodes=2:ppn=4 Resource_List.nodect=2 "
     "Resource_List.nodes=2:ppn=4 Exit_status=-11 "
     "resources_used.cput=00:00:01\n"
     "11/20/2026 12:00:00;E;2.t;user=bob owner=bob@login "
     "exec_host=n1/1+n1/0 Exit_status=-10\n"
     "11/20/2026 12:00:00;E;3.t;user=bob owner=bob@login exec_host=n1/1 "
     "Exit_status=-12\n"
     "11/20/2026 12:00:00;E;4.t;user=bob owner=bob@login exec_host=n1/1 "
     "Exit_status=271\n"
     "11/20/2026 12:00:00;E;5.pbs;user=bob exec_host=n1/1 "
     "exec_vnode=(n1:ncpus=1) Exit_status=-12\n",
     "1.t timeout name=j user=bob group=g queue=batch exit=-11 "
     "end=1795172400 cpus=7 nodes=2 cpu_usec=1000000 on=n[1-2] "
     "from=login\n"
     "2.t oom user=bob exit=-10 end=1795172400 cpus=2 nodes=1 on=n1 "
     "from=login\n"
     "3.t timeout user=bob exit=-12 end=1795172400 cpus=1 nodes=1 on=n1 "
     "from=login\n"
     "4.t failed user=bob exit=271 code=0 signal=15 end=1795172400 cpus=1 "
     "nodes=1 on=n1 from=login\n"
     "5.pbs requeued user=bob exit=-12 end=1795172400 cpus=1 nodes=1 gpus=0 "
     "on=n1\n"},
    {"values that contain other keys",
     "11/20/2026 12:00:00;E;7.pbs;user=anna jobname=\"a user=root b\" "
     "account='it's queue=x' group=g Exit_status=0\n",
     "7.pbs completed name=a user=root b user=anna group=g "
     "account=it's queue=x exit=0 code=0 signal=0 end=1795172400\n"},
    {"accelerators, of OpenPBS 23.06.06",
     "11/20/2026 12:00:00;E;32.pbs;user=anna exec_host=n1/3 "
     "exec_vnode=(n1:ncpus=1:naccelerators=2) Resource_List.naccelerators=2 "
     "Resource_List.ncpus=1 end=1795172400 Exit_status=0\n",
     "32.pbs completed user=anna exit=0 code=0 signal=0 end=1795172400 cpus=1 "
     "nodes=1 gpus=2 on=n1\n"},
    {"a quote without an end",
     "11/20/2026 12:00:00;E;7.pbs;jobname=\"a user=anna Exit_status=0\n",
     "7.pbs completed name=\"a user=anna exit=0 code=0 signal=0 "
     "end=1795172400\n"},
    {"fields that are not numbers",
     "11/20/2026 12:00:00;E;7.pbs;Resource_List.mem=lots start=x "
     "Exit_status=9999999999 end=1795172400 Resource_List.walltime=\n",
     "line 1: 7.pbs Resource_List.mem: a size\n"
     "line 1: 7.pbs start: a time\n"
     "line 1: 7.pbs Exit_status: a number\n"
     "7.pbs unknown end=1795172400\n"},
    {"damaged lines",
     "hello\n\n11/20/2026 12:00:00;EE;7.pbs;x\n11/20/2026 25:00:00;E;7.pbs;\n"
     "11/20/2026 12:00:00;E;7.pbs\n11/20/2026 12:00:00;E;x;user=a\n;;;\n"
     "11/20/2026 12:00:00;E;8.pbs;Exit_status=0\n11/20/2026 12:00:00;E;9",
     "line 1:  : MM/DD/YYYY HH:MM:SS;T;ID;...!\n"
     "line 3:  : MM/DD/YYYY HH:MM:SS;T;ID;...!\n"
     "line 4:  : MM/DD/YYYY HH:MM:SS;T;ID;...!\n"
     "line 5:  : MM/DD/YYYY HH:MM:SS;T;ID;...!\n"
     "line 6:  : a job id!\n"
     "8.pbs completed exit=0 code=0 signal=0 end=1795172400\n"},
};

#endif
