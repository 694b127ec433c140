/* The power meters: a new one is its file and its line here. */
#ifndef BJ_CORE_ENERGY_METER_LIST_H
#define BJ_CORE_ENERGY_METER_LIST_H

/* METER(NAME) of each, for bj_meter_NAME and energy.meter=NAME, in the order
 * of preference, for the power of the node and for every other role.  Between
 * two SLOTs are alternatives, such as the protocols of one BMC: only the first
 * that works is read. */
#define BJ_METERS(METER, SLOT)                                                 \
    METER(cray)                                                                \
    SLOT METER(ipmi_xcc) METER(ipmi_dcmi) METER(ipmi_nm) METER(ipmi_sdr) SLOT  \
    METER(command)                                                             \
    SLOT METER(redfish)                                                        \
    SLOT METER(hwmon)                                                          \
    SLOT METER(rapl) METER(perf)

#endif
