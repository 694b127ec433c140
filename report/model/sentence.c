/* The built-in texts of reports; {1} to {4} are values with their units.  A
 * site can replace them by a file (report/model/catalogue.h). */
#include "report/model/sentence.h"
#include "report/model/report.h"

const char *const bj_sentences[BJ_SENTENCE_COUNT] = {
    /* What was wrong with the job. */
    [BJ_SENTENCE_WAITS] = "The job waits to start.",
    [BJ_SENTENCE_WAITS_FOR] =
        "The job waits to start; the scheduler's reason is "
        "{1}.",
    [BJ_SENTENCE_WAITS_AS] = "The job waits to start. {1}",
    [BJ_SENTENCE_RUNS] = "The job is running; what it uses is not known.",
    [BJ_SENTENCE_RUNS_NOW] = "The job is running.",
    [BJ_SENTENCE_NOW_CPU] =
        "In the last minutes its CPU was busy {1} of the time.",
    [BJ_SENTENCE_NOW_CPUS] =
        "In the last minutes {1} of its {2} CPUs were busy.",
    [BJ_SENTENCE_NOW_MEMORY] = "It holds {1} of {2} of memory.",
    [BJ_SENTENCE_NOW_GPUS] =
        "In the last minutes its GPUs were busy {1} of the time.",
    [BJ_SENTENCE_OOM] = "The job ran out of memory; it had {1} on each node.",
    [BJ_SENTENCE_TIMEOUT] = "The job reached its time limit of {1}.",
    [BJ_SENTENCE_TIMEOUT_ANY] =
        "The job reached a limit of its run time or CPU time.",
    [BJ_SENTENCE_FAILED] = "The job failed with exit code {1} after {2}.",
    [BJ_SENTENCE_SIGNALLED] = "The job was ended by signal {1} after {2}.",
    [BJ_SENTENCE_EXIT_SIGNAL] =
        "Exit code {1} means that a process was ended by signal {2}.",
    [BJ_SENTENCE_EXIT_NOT_FOUND] =
        "Exit code 127 means that a command was not found.",
    [BJ_SENTENCE_EXIT_NOT_EXECUTABLE] =
        "Exit code 126 means that a command could not be executed.",
    [BJ_SENTENCE_FAILED_SOMEHOW] = "The job failed after {1}.",
    [BJ_SENTENCE_CANCELLED] = "The job was cancelled after {1}.",
    [BJ_SENTENCE_CANCELLED_BEFORE] = "The job was cancelled before it started.",
    [BJ_SENTENCE_DEADLINE] = "The job reached its deadline after {1}.",
    [BJ_SENTENCE_PREEMPTED] =
        "The job was preempted after {1}: another job got its resources.",
    [BJ_SENTENCE_NODE_FAIL] =
        "The node of the job failed: {1}. This is not the fault of the job.",
    [BJ_SENTENCE_NODE_OF_FAIL] =
        "A node of the job failed: {1}. This is not the fault of the job.",
    [BJ_SENTENCE_NODES_FAIL] =
        "One of the nodes of the job failed: {1}. This is not the fault of the "
        "job.",
    [BJ_SENTENCE_ENDED] = "The job ended with the state {1} after {2}.",
    [BJ_SENTENCE_ENDED_BEFORE] =
        "The job ended with the state {1} before it started.",
    [BJ_SENTENCE_SHORT] =
        "The job ran for only {1}, which is too short to judge "
        "what it used.",
    [BJ_SENTENCE_UNMEASURED] = "It is not known what the job used: neither its "
                               "nodes nor the scheduler measured it.",
    [BJ_SENTENCE_HINTS] = "The job used its resources well, with something to "
                          "improve.",
    [BJ_SENTENCE_GOOD] = "The job used what it requested; there is nothing to "
                         "change.",
    [BJ_SENTENCE_SLOWER] = "It ran for {1}, slower than usual: the last {2} "
                           "runs like it took {3} (median).",
    [BJ_SENTENCE_PARTLY] = "Its known use needs no change. Not known: {1}.",
    [BJ_SENTENCE_PARTLY_HINTS] =
        "There is something to improve. Not known: {1}.",
    [BJ_SENTENCE_PARTLY_NODES] = "{1} of {2} nodes were measured.",
    [BJ_SENTENCE_PARTLY_GPUS] = "{1} of {2} GPUs were measured.",
    [BJ_SENTENCE_ARRAY] = "{2} of {1} tasks of the array completed.",
    [BJ_SENTENCE_ARRAY_FAILED] =
        "{2} of {1} tasks of the array completed; {3} failed, "
        "timed out or ran out of memory.",
    [BJ_SENTENCE_ARRAY_NAMES] = "Not completed: {1}.",
    [BJ_SENTENCE_ARRAY_NAMES_MORE] = "Not completed: {1} and {2} more.",
    [BJ_SENTENCE_TASKS_HAVE] = "{1} of {2} tasks, such as {3}: {4}",
    [BJ_SENTENCE_TASK_HAS] = "Task {1}: {2}",

    /* What the job cost. */
    [BJ_SENTENCE_COST_CPU] =
        "It held {1} CPU hours and used {2} of them ({3}).",
    [BJ_SENTENCE_COST_CPU_UNKNOWN] = "It held {1} CPU hours.",
    [BJ_SENTENCE_COST_GPU] = "Of {1} GPU hours {2} were not used.",
    [BJ_SENTENCE_COST_GPU_IDLE] =
        "Of {1} GPU hours {2} were not used; GPUs were idle (no program used "
        "them) for {3} hours.",
    [BJ_SENTENCE_COST_ENERGY] = "Energy: {1}.",
    [BJ_SENTENCE_COST_EMISSIONS] = "Energy: {1}, emissions: {2} CO2e.",
    [BJ_SENTENCE_COST_ENERGY_AT_LEAST] = "Energy: at least {1}.",
    [BJ_SENTENCE_COST_EMISSIONS_AT_LEAST] =
        "Energy: at least {1}, emissions: at least {2} CO2e.",
    [BJ_SENTENCE_COST_ENERGY_PART] =
        "Energy: {1}, known of {2} of {3} tasks that ran.",
    [BJ_SENTENCE_COST_EMISSIONS_PART] =
        "Emissions: {1} CO2e, known of {2} of {3} tasks that ran.",
    [BJ_SENTENCE_COST_MONEY] = "Cost: {1}.",
    [BJ_SENTENCE_COST_MONEY_AT_LEAST] = "Cost: at least {1}.",
    [BJ_SENTENCE_COST_MONEY_PART] =
        "Cost: at least {1}, fully known of {2} of {3} tasks that ran.",
    [BJ_SENTENCE_NOT_CHARGED] =
        "It is not charged ({1}), since its node or a GPU failed.",
    [BJ_SENTENCE_NOT_CHARGED_OF] =
        "{1} are not charged, of tasks whose node or GPU failed.",

    /* What to do.  {1} is the option for the next request. */
    [BJ_SENTENCE_SUBMIT_AGAIN] =
        "Submit the job again, unless the scheduler has started it again.",
    [BJ_SENTENCE_SUBMIT_TASKS_AGAIN] =
        "Tasks whose node or GPU failed: {1}. Submit them again, unless the "
        "scheduler has started them again.",
    [BJ_SENTENCE_NEXT_TIME] = "Next time request {1}.",
    [BJ_SENTENCE_NEXT_INSTEAD] = "{1} instead of {2}",
    [BJ_SENTENCE_NEXT_INSTEAD_LINE] =
        "{1} instead of {2} (line {3} of the script)",
    [BJ_SENTENCE_NEXT_SCRIPT] =
        "What a script requests is not recorded: if it has an option for the "
        "same amount, replace that one.",
    [BJ_SENTENCE_NEXT_UNKNOWN] =
        "The options of the job are not recorded, only what it was allocated: "
        "replace its own option for the same amount.",
    [BJ_SENTENCE_NEXT_SELECT] =
        "-l select is what PBS recorded, with the change. It replaces all -l "
        "lines of the script for select, place, nodes, ncpus, mem and other "
        "resources of nodes: qsub refuses both.",
    [BJ_SENTENCE_NEXT_MEMORY] =
        "--mem also replaces --mem-per-cpu and --mem-per-gpu.",
    [BJ_SENTENCE_NEXT_MARGIN_MEMORY] = "The margin of memory is {1} %.",
    [BJ_SENTENCE_NEXT_MARGIN_TIME] = "The margin of time is {1} %.",
    [BJ_SENTENCE_MEMORY_ARRAY] =
        "Request {1}: the tasks used {2} typically, {3} used {4} of {5}.",
    [BJ_SENTENCE_MEMORY_ALL] =
        "Request {1}: all nodes together used at most {2}, and each had {3}.",
    [BJ_SENTENCE_MEMORY_OUTLIER] =
        "The tasks used {1} of memory typically, {2} used {3} of {4}. Submit "
        "those that need more separately, and request less for the others.",
    [BJ_SENTENCE_MEMORY_WORDS] =
        "Request less memory: the job used at most {1} of {2} on each node.",
    [BJ_SENTENCE_TIME_ARRAY] =
        "Request {1}: the tasks ran for {2} typically, {3} ran for {4} of {5}.",
    [BJ_SENTENCE_TIME_OUTLIER] =
        "The tasks ran for {1} typically, {2} ran for {3} of {4}. Submit those "
        "that need more separately, and request less for the others.",
    [BJ_SENTENCE_TIME_WORDS] = "Request less time: the job ran for {1} of {2}.",
    [BJ_SENTENCE_MORE_TIME_ARRAY] =
        "Request {1}: the tasks that completed ran for "
        "up to {2}.",
    [BJ_SENTENCE_MORE_MEMORY_WORDS] =
        "{1} of memory was not enough. Request half as much again, or find out "
        "why the job needs so much.",
    [BJ_SENTENCE_KEEP_MEMORY] =
        "Request {1}, or the job has less memory with the other change.",
    [BJ_SENTENCE_KEEP_CPUS] =
        "Request {1}, or the job has fewer CPUs with the other change.",
    [BJ_SENTENCE_SERIAL_WORDS] =
        "One of {1} CPUs was busy. If the program is serial, request one, and "
        "as much memory as now: it may be requested for each CPU.",
    [BJ_SENTENCE_FEWER_CPUS_WORDS] =
        "{1} of {2} CPUs were busy on average. Try fewer, with as much memory "
        "as now: it may be requested for each CPU. Compare the run times.",
    [BJ_SENTENCE_FEWER_GPUS_WORDS] =
        "{1} of {2} GPUs were never used. Request fewer, with as much memory "
        "and as many CPUs as now: they may be requested for each GPU.",
    [BJ_SENTENCE_FEWER_NODES_WORDS] = "{1} of {2} nodes did nothing. Request "
                                      "fewer, with the tasks for these, "
                                      "or start the program on all nodes.",
    [BJ_SENTENCE_ONE_NODE_WORDS] =
        "The job fits on one node. Request one, with the CPUs and the memory "
        "of all nodes.",
    [BJ_SENTENCE_MEMORY] =
        "Request {1}: the job used at most {2} of {3} on each "
        "node.",
    [BJ_SENTENCE_MEMORY_SAMPLED] =
        "Request {1}: the largest sample of its memory was {2} of {3}. Allow "
        "for short peaks between two samples.",
    [BJ_SENTENCE_MORE_MEMORY] =
        "Request {1}: {2} was not enough. Or find out why "
        "the job needs so much.",
    [BJ_SENTENCE_TIME] = "Request {1}: the job ran for {2} of {3}. Allow for "
                         "larger input.",
    [BJ_SENTENCE_MORE_TIME] =
        "Let the program write checkpoints and continue from "
        "the last one, or request more time.",
    [BJ_SENTENCE_SERIAL] =
        "Request {1} if the program is serial: one of {2} CPUs "
        "was busy. A parallel program must be started with its "
        "number of threads or tasks.",
    [BJ_SENTENCE_FEWER_CPUS] = "Try {1}: {2} of {3} CPUs were busy on average. "
                               "Compare the run times.",
    [BJ_SENTENCE_FEWER_GPUS] = "Request {1}: {2} of {3} GPUs were never used.",
    [BJ_SENTENCE_NO_GPUS] =
        "Request no GPU, or check that the program uses it: no "
        "GPU of the job was ever used.",
    [BJ_SENTENCE_FEWER_NODES] =
        "Request {1}, or start the program on all nodes: {2} "
        "of {3} nodes did nothing.",
    [BJ_SENTENCE_ONE_NODE] = "Request {1}: the job fits on one node.",
    [BJ_SENTENCE_GPU_LOW] =
        "Read data ahead, use larger batches, or share one GPU "
        "between several small programs.",
    [BJ_SENTENCE_GPU_SESSION] =
        "End interactive sessions when you stop working.",
    [BJ_SENTENCE_GPU_SLICE] =
        "Request a slice of a GPU (MIG) instead of a whole "
        "one.",
    [BJ_SENTENCE_GPU_SPREAD] = "Request all GPUs on as few nodes as possible.",
    [BJ_SENTENCE_GPU_CPUS] =
        "Request fewer CPUs for each GPU, or other jobs cannot "
        "use the remaining GPUs.",
    [BJ_SENTENCE_UNEVEN] =
        "Split the job if its parts need different numbers of "
        "CPUs.",
    [BJ_SENTENCE_THREADS] =
        "Start as many threads as the job has CPUs; "
        "OMP_NUM_THREADS sets the number for many programs.",
    [BJ_SENTENCE_SMALL_IO] =
        "Store many small files as one, such as HDF5 or an "
        "archive, or copy them to the node's local disk first.",
    [BJ_SENTENCE_SCRATCH] =
        "Use the scratch file system for files that the job "
        "reads and writes often.",
    [BJ_SENTENCE_OOM_LEAK] =
        "Find out why the memory of the program grows. If it is a leak, more "
        "memory only delays the end.",
    [BJ_SENTENCE_LEAK] =
        "Check whether the program needs this memory or leaks it.",
    [BJ_SENTENCE_OOM_STEPS] =
        "Read the output of the job: parts of its work may be "
        "missing.",

    /* Actions while the job ran.  {1} is the finding, {2} the reason. */
    [BJ_SENTENCE_WARN_DRY] = "Dry run: the owner would have been warned ({1}).",
    [BJ_SENTENCE_WARN_WAITS] = "A warning to the owner is being sent ({1}).",
    [BJ_SENTENCE_WARN_DONE] = "The owner was warned ({1}).",
    [BJ_SENTENCE_WARN_FAILED] = "The owner could not be warned ({1}): {2}.",
    [BJ_SENTENCE_CANCEL_DRY] =
        "Dry run: the job would have been cancelled ({1}).",
    [BJ_SENTENCE_CANCEL_RUNS] = "The job is being cancelled ({1}).",
    [BJ_SENTENCE_CANCEL_DONE] =
        "The job was cancelled by a rule of the site ({1}).",
    [BJ_SENTENCE_CANCEL_FAILED] = "The job was not cancelled ({1}): {2}.",

    /* Labels of figures; at most 12 characters, so that they fit a terminal. */
    [BJ_SENTENCE_LABEL_CPU] = "CPU time",
    [BJ_SENTENCE_LABEL_MEMORY] = "Memory",
    [BJ_SENTENCE_LABEL_CHARGED] = "With cache",
    [BJ_SENTENCE_LABEL_GPU] = "GPU time",
    [BJ_SENTENCE_LABEL_GPU_MEMORY] = "GPU memory",
    [BJ_SENTENCE_LABEL_TIME] = "Run time",
    [BJ_SENTENCE_LABEL_READ] = "Read",
    [BJ_SENTENCE_LABEL_WRITE] = "Written",
    [BJ_SENTENCE_LABEL_ENERGY] = "Energy",
    [BJ_SENTENCE_LABEL_EMISSIONS] = "Emissions",
    [BJ_SENTENCE_LABEL_COST] = "Cost",
};

static struct bj_slice sentence_text_of(const struct bj_report *r,
                                        enum bj_sentence which)
{
    return r->sentence[which].p ? r->sentence[which]
                                : bj_slice_str(bj_sentences[which]);
}

struct bj_slice bj_sentence_text(struct bj_report *r, enum bj_sentence which,
                                 const struct bj_buf *value, unsigned values)
{
    const struct bj_slice text = sentence_text_of(r, which);
    struct bj_buf out = {0};
    for (size_t i = 0; i < text.n; i++) {
        const char *p = text.p + i;
        unsigned n = i + 2 < text.n && p[0] == '{' && p[2] == '}'
                         ? (unsigned)(p[1] - '0')
                         : 0;
        if (n == 0 || n > BJ_SENTENCE_VALUES) {
            bj_buf_put(&out, p, 1);
            continue;
        }
        if (n <= values)
            bj_buf_put(&out, value[n - 1].p, value[n - 1].len);
        i += 2;
    }
    r->arena.failed |= out.failed;
    struct bj_slice ret =
        bj_arena_copy(&r->arena, (struct bj_slice){out.p, out.len});
    bj_buf_free(&out);
    return ret;
}
