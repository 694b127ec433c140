#include "core/view/dialect_energy.h"

#define PART(part)                                                             \
    {                                                                          \
        {"package-0" part, "0"}, {"package-1" part, "1"},                      \
            {"package-2" part, "2"}, {"package-3" part, "3"},                  \
            {"package-4" part, "4"}, {"package-5" part, "5"},                  \
            {"package-6" part, "6"}, {"package-7" part, "7"},                  \
        {                                                                      \
            NULL, NULL                                                         \
        }                                                                      \
    }

const struct bj_dialect_word bj_rapl_packages[] = PART("");
const struct bj_dialect_word bj_rapl_drams[] = PART(".dram");
const struct bj_dialect_word bj_rapl_cores[] = PART(".core");
const struct bj_dialect_word bj_rapl_uncores[] = PART(".uncore");
const struct bj_dialect_word bj_dcmi_meters[] = {
    {"ipmi_dcmi", NULL}, {"command", NULL}, {NULL, NULL}};
const struct bj_dialect_word bj_rapl_psys[] = {
    {"psys", "0"}, {"psys.1", "1"}, {NULL, NULL}};
