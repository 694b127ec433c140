/* Reads the IPMI meters of this machine, each by itself.
 *
 *   probe [-t MSEC] [-f] METER...
 *
 * prints a line "METER ZONE ROLE power W energy UJ limit W" for each zone, "-"
 * for an absent value, or "METER error CODE after MSEC ms: message".  -f: as if
 * an option named the meter. */
#include "base/clock.h"
#include "core/energy/meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct bj_meter_kind *const kinds[] = {
    &bj_meter_ipmi_dcmi, &bj_meter_ipmi_nm, &bj_meter_ipmi_xcc,
    &bj_meter_ipmi_sdr};
static const char *const roles[BJ_ZONE_ROLES] = {
    [BJ_ZONE_CPU] = "cpu",           [BJ_ZONE_DRAM] = "dram",
    [BJ_ZONE_GPU] = "gpu",           [BJ_ZONE_NODE] = "node",
    [BJ_ZONE_PLATFORM] = "platform", [BJ_ZONE_PART] = "part",
};

static void value(const char *name, uint64_t v, uint64_t unit)
{
    if (v == BJ_ABSENT)
        printf(" %s -", name);
    else
        printf(" %s %" PRIu64, name, v / unit);
}

static int read_meter(const struct bj_meter_kind *k,
                      const struct bj_meter_env *env, struct bj_err *err)
{
    static struct bj_meter_sample s;
    void *m;
    int r = k->open(env, &m, err);
    if (r < 0)
        return r;
    memset(&s, 0, sizeof(s));
    r = k->read(m, &s, err);
    k->close(m);
    for (size_t i = 0; i < s.n; i++) {
        const struct bj_zone_sample *z = &s.zone[i];
        printf("%s %s %s", k->name, z->name, roles[z->role]);
        value("power", z->power_uw, 1000000);
        value("energy", z->energy_uj, 1);
        value("limit", z->limit_uw, 1000000);
        printf("\n");
    }
    return r;
}

static int probe(const char *name, const struct bj_meter_env *env)
{
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct bj_err err = {0};
        uint64_t begin = bj_clock_boot_usec();
        if (strcmp(kinds[i]->name, name) != 0)
            continue;
        int r = read_meter(kinds[i], env, &err);
        if (r < 0)
            printf("%s error %d after %" PRIu64 " ms: %s\n", name, -r,
                   (bj_clock_boot_usec() - begin) / 1000, err.msg);
        return r < 0;
    }
    fprintf(stderr, "probe: no meter %s\n", name);
    return 2;
}

int main(int argc, char **argv)
{
    struct bj_energy_conf conf = {.timeout_usec = 5000000};
    struct bj_meter_env env = {.conf = &conf, .devfs = "/dev"};
    int opt, bad = 0;
    while ((opt = getopt(argc, argv, "t:f")) != -1) {
        if (opt == 't')
            conf.timeout_usec = 1000 * strtoull(optarg, NULL, 10);
        else if (opt == 'f')
            env.forced = true;
        else
            return 2;
    }
    for (int i = optind; i < argc; i++)
        bad |= probe(argv[i], &env);
    return bad;
}
