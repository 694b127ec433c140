/* The least an AgentX sub-agent can do (RFC 2741): a table of constants, for
 * comparison with batchjob_snmp.
 *
 *   snmp_floor SOCKET TABLE ROWS COLUMNS
 *
 * TABLE is the OID of the table's entry, such as 1.3.6.1.4.1.8072.9999.9999.1.
 * A row's index is a text of six digits, its length first. */
#include "tests/bench/num.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { OPEN = 1, REGISTER = 3, GET = 5, GETNEXT = 6, PING = 13, RESPONSE = 18 };
enum { COUNTER64 = 70, NO_INSTANCE = 129, END_OF_VIEW = 130 };
enum { HEADER = 20, IDS = 128, INDEX = 7, LARGEST = 1 << 16, ORDER = 0x10 };

struct oid {
    uint32_t id[IDS];
    size_t n;
    bool include;
};

static struct oid table; /* of the entry */
static long rows, columns;
static unsigned char in[HEADER + LARGEST], out[HEADER + LARGEST];
static size_t used; /* of out */

static void put32(uint32_t v)
{
    memcpy(out + used, &v, 4);
    used += 4;
}

static void put_oid(const struct oid *o)
{
    put32((uint32_t)o->n);
    for (size_t i = 0; i < o->n; i++)
        put32(o->id[i]);
}

/* Read an OID and return what follows it, or NULL. */
static const unsigned char *get_oid(const unsigned char *p,
                                    const unsigned char *end, struct oid *o)
{
    static const uint32_t internet[] = {1, 3, 6, 1};
    if (end - p < 4 || p[0] + 5 > IDS || end - p < 4 + 4 * p[0])
        return NULL;
    o->n = 0;
    o->include = p[2] != 0;
    if (p[1]) {
        memcpy(o->id, internet, sizeof(internet));
        o->id[4] = p[1];
        o->n = 5;
    }
    memcpy(o->id + o->n, p + 4, 4 * (size_t)p[0]);
    o->n += p[0];
    return p + 4 + 4 * p[0];
}

/* Number a value: 0 is the first row of the first column, rows is that of the
 * second one.  Of names that are no column and no value of one, -1. */
static long number_of(const struct oid *o)
{
    long row = 0;
    if (o->n <= table.n || memcmp(o->id, table.id, 4 * table.n) != 0 ||
        (o->n != table.n + 1 && o->n != table.n + 1 + INDEX))
        return -1;
    for (size_t i = table.n + 2; i < o->n; i++)
        row = row * 10 + (long)o->id[i] - '0';
    return ((long)o->id[table.n] - 1) * rows + row;
}

static void name(long number, struct oid *o)
{
    uint32_t row = (uint32_t)(number % rows);
    memcpy(o->id, table.id, 4 * table.n);
    o->n = table.n + 1 + INDEX;
    o->id[table.n] = (uint32_t)(number / rows) + 1;
    o->id[table.n + 1] = INDEX - 1;
    for (size_t i = o->n - 1; i > table.n + 1; i--, row /= 10)
        o->id[i] = '0' + row % 10;
}

static void put_value(const struct oid *from, bool next)
{
    const uint64_t constant = 1234567890123;
    static struct oid found;
    const bool whole = from->n == table.n + 1 + INDEX;
    long number = number_of(from);
    if (next && whole && !from->include)
        number++;
    const bool have =
        number < rows * columns && (next || (whole && number >= 0));
    if (have)
        name(number < 0 ? 0 : number, &found);
    put32(have ? COUNTER64 : next ? END_OF_VIEW : NO_INSTANCE);
    put_oid(have ? &found : from);
    if (have) {
        memcpy(out + used, &constant, 8);
        used += 8;
    }
}

static void begin(int type)
{
    memset(out, 0, HEADER);
    out[0] = 1;
    out[1] = (unsigned char)type;
    used = HEADER;
}

static bool send_out(int fd)
{
    uint32_t length = (uint32_t)(used - HEADER);
    memcpy(out + 16, &length, 4);
    return write(fd, out, used) == (ssize_t)used;
}

/* Read a PDU in the byte order of this machine, with one system call as a rule;
 * returns its payload's length, or a negative number. */
static long receive(int fd)
{
    uint32_t length = 0;
    size_t have = 0;
    while (have < HEADER + length) {
        ssize_t r = read(fd, in + have, sizeof(in) - have);
        if (r <= 0)
            return -1;
        have += (size_t)r;
        if (have >= HEADER)
            memcpy(&length, in + 16, 4);
        if (length > LARGEST || (in[2] & ORDER))
            return -1;
    }
    return have == HEADER + length ? (long)length : -1;
}

static bool reply(int fd, long length)
{
    const unsigned char *p = in + HEADER, *end = p + length;
    int type = in[1];
    if (type == RESPONSE)
        return true;
    begin(RESPONSE);
    memcpy(out + 4, in + 4, 12);
    put32(0);
    put32(0);
    while ((type == GET || type == GETNEXT) && p && p < end) {
        static struct oid from, to;
        if ((p = get_oid(p, end, &from)) && (p = get_oid(p, end, &to)))
            put_value(&from, type == GETNEXT);
    }
    return p && send_out(fd);
}

static bool join(int fd)
{
    begin(OPEN);
    put32(5);
    put32(0);
    put32(0);
    if (!send_out(fd) || receive(fd) < 0)
        return false;
    begin(REGISTER);
    memcpy(out + 4, in + 4, 4);
    out[used + 1] = 127;
    used += 4;
    put_oid(&table);
    return send_out(fd);
}

int main(int argc, char **argv)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    long length;
    if (argc != 5 || strlen(argv[1]) >= sizeof(at.sun_path)) {
        fprintf(stderr, "usage: snmp_floor SOCKET TABLE ROWS COLUMNS\n");
        return 2;
    }
    memcpy(at.sun_path, argv[1], strlen(argv[1]));
    for (char *p = argv[2]; *p && table.n < IDS - INDEX - 1; p += *p == '.')
        table.id[table.n++] = (uint32_t)strtoul(p, &p, 10);
    rows = (long)bench_u64(argv[3]);
    columns = (long)bench_u64(argv[4]);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || !join(fd)) {
        perror("snmp_floor: connect");
        return 1;
    }
    while ((length = receive(fd)) >= 0)
        if (!reply(fd, length))
            return 1;
    return 0;
}
