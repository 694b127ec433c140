#include "report/model/reason.h"

#include "base/local.h"

#include <stddef.h>

/* Slurm: squeue(1), "JOB REASON CODES".  A name stands for all reasons that
 * begin with it; the first match counts. */
static const struct {
    const char *name, *text;
} reasons[] = {
    {"Priority", "Jobs with a higher priority are ahead of it."},
    {"Resources", "It is next and starts as soon as enough nodes, CPUs, memory "
                  "or GPUs are free."},
    {"DependencyNeverSatisfied",
     "It depends on a job that failed, so it will never start. Cancel it."},
    {"Dependency", "It depends on another job that has not ended yet."},
    {"BeginTime", "Its earliest start time has not come."},
    {"JobHeldUser", "Its owner holds it; release it with scontrol release."},
    {"JobHeldAdmin", "An administrator holds it; ask the support."},
    {"JobArrayTaskLimit", "The array runs as many tasks at a time as it may."},
    {"ReqNodeNotAvail", "A node that it needs is down, reserved, or kept free "
                        "for maintenance. A shorter time limit may help."},
    {"NodeDown", "A node that it needs is down."},
    {"ReservationDeleted", "Its reservation was deleted. Cancel it."},
    {"Reservation", "Its reservation has not begun, or is in use."},
    {"Licenses", "Not enough licences are free."},
    {"PartitionDown", "Its partition does not start jobs at the moment."},
    {"PartitionInactive", "Its partition does not start jobs at the moment."},
    {"PartitionTimeLimit",
     "Its time limit is longer than the partition allows. Shorten it, or it "
     "will never start."},
    {"PartitionNodeLimit",
     "It requests more, or fewer, nodes than the partition allows, or they are "
     "down."},
    {"PartitionConfig", "The partition does not allow what it requests."},
    {"BadConstraints",
     "No node has what it requests, so it will never start. Change the "
     "request."},
    {"InvalidAccount", "Its account is not valid. Use another one."},
    {"InvalidQOS", "Its QOS is not valid. Use another one."},
    {"AccountNotAllowed", "Its account may not use the partition."},
    {"QOSNotAllowed", "Its QOS may not be used here."},
    {"MaxMemPerLimit", "It requests more memory for each node or CPU than is "
                       "allowed."},
    {"QOSMax", "Its owner uses as much as the QOS allows. It starts when other "
               "jobs of the owner end."},
    {"QOSGrp", "All jobs of its QOS together use as much as is allowed."},
    {"QOSMin", "It requests less than the QOS requires."},
    {"QOS", "A limit of its QOS is reached."},
    {"AssocGrp", "All jobs of its account together use as much as the account "
                 "may."},
    {"AssocMax", "Its owner uses as much as the account allows."},
    {"Assoc", "A limit of its account is reached."},
    {"Cleaning", "It was requeued and its previous run is being cleaned up."},
    {"Prolog", "Its nodes are being prepared."},
    {"PowerNotAvail", "Not enough power is available."},
    {"FrontEndDown", "No front-end node is available."},
    {"SystemFailure", "A part of the batch system failed."},
    {"JobLaunchFailure", "It could not be started. Look at its working "
                         "directory, or ask the support."},
    {"None", "The scheduler has not considered it yet."},
};

const char *bj_reason_text(struct bj_slice reason)
{
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (bj_slice_starts(reason, bj_slice_str(reasons[i].name)))
            return bj_local(reasons[i].text);
    return NULL;
}
