/* A module for OpenIPMI's ipmi_sim: answers commands that the simulator does
 * not implement from files, which may change at any time.
 *
 * Loaded with a directory as its option.  Its file "NETFN-CMD" (hex, as
 * "2c-02") holds the response in hex, completion code first; without the file
 * the command is unknown.  "hang SECONDS" keeps the whole BMC busy for that
 * time.
 *
 * Netfn 2c are group extensions (the group is in the response), 2e are those of
 * a manufacturer (the simulator inserts its number), 3a are Lenovo's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <OpenIPMI/mcserv.h>
#include <OpenIPMI/serv.h>

enum { DCMI = 0xdc, INTEL = 343, NETFN_LENOVO = 0x3a, ENERGY = 0x32 };

static char directory[200];

static unsigned int bytes(const char *text, unsigned char *data,
                          unsigned int cap)
{
    unsigned int n = 0;
    for (;;) {
        char *end;
        unsigned long v = strtoul(text, &end, 16);
        if (end == text || n == cap)
            return n;
        data[n++] = (unsigned char)v;
        text = end;
    }
}

static void reply(lmc_data_t *mc, msg_t *msg, unsigned char *data,
                  unsigned int *len, void *cb)
{
    char path[256], text[1024] = "";
    (void)cb;
    snprintf(path, sizeof(path), "%s/%02x-%02x", directory, msg->netfn,
             msg->cmd);
    FILE *f = fopen(path, "r");
    if (f && fgets(text, sizeof(text), f) == NULL)
        text[0] = '\0';
    if (f)
        fclose(f);
    if (strncmp(text, "hang ", 5) == 0)
        sleep((unsigned int)strtoul(text + 5, NULL, 10));
    unsigned int n = bytes(text, data, 64);
    if (n > 0)
        *len = n;
    else
        handle_invalid_cmd(mc, data, len);
}

int ipmi_sim_module_print_version(sys_data_t *sys, char *options);
int ipmi_sim_module_print_version(sys_data_t *sys, char *options)
{
    (void)sys;
    (void)options;
    return 0;
}

int ipmi_sim_module_init(sys_data_t *sys, const char *options);
int ipmi_sim_module_init(sys_data_t *sys, const char *options)
{
    (void)sys;
    snprintf(directory, sizeof(directory), "%s", options);
    ipmi_emu_register_group_extension_handler(DCMI, reply, NULL);
    int r = ipmi_emu_register_iana_handler(INTEL, reply, NULL);
    if (r == 0)
        r = ipmi_emu_register_cmd_handler(NETFN_LENOVO, ENERGY, reply, NULL);
    return r;
}
