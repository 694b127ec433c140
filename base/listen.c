#include "base/listen.h"

#include "base/slice.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* An address as text, split. */
struct target {
    char host[256]; /* empty: all addresses */
    char port[8];
};

/* Room for every address family. */
union address {
    struct sockaddr sa;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

static bool listen_copy(char *dst, size_t cap, struct bj_slice s)
{
    if (s.n >= cap || memchr(s.p, '\0', s.n))
        return false;
    memcpy(dst, s.p, s.n);
    dst[s.n] = '\0';
    return true;
}

static int listen_cut(const char *address, struct target *ret,
                      struct bj_err *err)
{
    const char *colon = strrchr(address, ':');
    struct bj_slice host = {address, colon ? (size_t)(colon - address) : 0};
    struct bj_slice port = bj_slice_str(colon ? colon + 1 : "");
    uint64_t number;
    bool v6 = host.n >= 2 && host.p[0] == '[' && host.p[host.n - 1] == ']';
    if (v6)
        host = (struct bj_slice){host.p + 1, host.n - 2};
    if (!colon || bj_slice_u64(port, &number) < 0 || number > 65535 ||
        (v6 && host.n == 0) ||
        (!v6 && host.n > 0 && memchr(host.p, ':', host.n)) ||
        !listen_copy(ret->host, sizeof(ret->host), host) ||
        !listen_copy(ret->port, sizeof(ret->port), port))
        return bj_err_set(err, -EINVAL,
                          "'%s' is not HOST:PORT, :PORT or [IPV6]:PORT",
                          address);
    return 0;
}

static int bind_to(const union address *a, socklen_t len, int backlog)
{
    int on = 1, off = 0;
    int fd = socket(a->sa.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                    IPPROTO_TCP);
    if (fd < 0)
        return -errno;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (a->sa.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
    if (bind(fd, &a->sa, len) == 0 && listen(fd, backlog) == 0)
        return fd;
    int r = -errno;
    close(fd);
    return r;
}

/* This machine does not have the address. */
static bool is_not_here(int fd)
{
    return fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL;
}

/* All addresses: one socket for both families, or IPv4 alone where IPv6 is
 * compiled out or switched off. */
static int bind_any(const struct target *t, int backlog)
{
    uint64_t port = 0;
    bj_slice_u64(bj_slice_str(t->port), &port);
    union address a = {.v6 = {.sin6_family = AF_INET6,
                              .sin6_port = htons((uint16_t)port),
                              .sin6_addr = in6addr_any}};
    int fd = bind_to(&a, sizeof(a.v6), backlog);
    if (!is_not_here(fd))
        return fd;
    a = (union address){.v4 = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)port),
                               .sin_addr.s_addr = htonl(INADDR_ANY)}};
    return bind_to(&a, sizeof(a.v4), backlog);
}

/* The first of a host's addresses that this machine has: "localhost" is ::1
 * before 127.0.0.1, even where IPv6 is switched off. */
static int bind_host(const struct target *t, int backlog, struct bj_err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *list = NULL;
    int r = getaddrinfo(t->host, t->port, &hints, &list);
    if (r != 0)
        return bj_err_set(err, -EINVAL, "host '%s': %s", t->host,
                          gai_strerror(r));
    int fd = -EADDRNOTAVAIL;
    for (const struct addrinfo *i = list; i && is_not_here(fd);
         i = i->ai_next) {
        union address a = {.sa.sa_family = AF_UNSPEC};
        if (i->ai_addrlen > sizeof(a))
            continue;
        memcpy(&a, i->ai_addr, i->ai_addrlen);
        fd = bind_to(&a, i->ai_addrlen, backlog);
    }
    freeaddrinfo(list);
    return fd;
}

int bj_listen_check(const char *address, struct bj_err *err)
{
    struct target t;
    return listen_cut(address, &t, err);
}

int bj_listen_open(const char *address, int backlog, struct bj_err *err)
{
    struct target t;
    struct bj_err why = {0};
    int r = listen_cut(address, &t, err);
    if (r < 0)
        return r;
    r = t.host[0] ? bind_host(&t, backlog, &why) : bind_any(&t, backlog);
    if (r < 0 && why.code) {
        bj_err_copy(err, r, &why);
        return bj_err_wrap(err, r, "'%s'", address);
    }
    if (r < 0)
        return bj_err_set(err, r, "cannot listen on '%s'", address);
    return r;
}

const char *bj_listen_name(int fd, char buf[BJ_ADDRESS_MAX])
{
    union address a;
    socklen_t len = sizeof(a);
    char host[INET6_ADDRSTRLEN] = "?";
    if (getsockname(fd, &a.sa, &len) < 0)
        a.sa.sa_family = AF_UNSPEC;
    if (a.sa.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a.v6.sin6_addr, host, sizeof(host));
        snprintf(buf, BJ_ADDRESS_MAX, "[%s]:%u", host, ntohs(a.v6.sin6_port));
    } else if (a.sa.sa_family == AF_INET) {
        inet_ntop(AF_INET, &a.v4.sin_addr, host, sizeof(host));
        snprintf(buf, BJ_ADDRESS_MAX, "%s:%u", host, ntohs(a.v4.sin_port));
    } else {
        snprintf(buf, BJ_ADDRESS_MAX, "?");
    }
    return buf;
}

int bj_listen_try(const struct bj_strv *addresses, struct bj_err *err)
{
    for (size_t i = 0; i < addresses->n; i++) {
        int fd = bj_listen_open(addresses->v[i], 1, err);
        if (fd >= 0)
            close(fd);
        else if (fd == -EADDRINUSE)
            printf("web.listen-address: %s is in use: by this service if it "
                   "runs, else choose another port\n",
                   addresses->v[i]);
        else
            return bj_err_wrap(err, fd, "web.listen-address");
    }
    return 0;
}

struct bj_slice bj_listen_client(const struct sockaddr *a, size_t *ret_network)
{
    *ret_network = 0;
    if (a && a->sa_family == AF_INET) {
        const struct sockaddr_in *in = (const void *)a;
        *ret_network = 3;
        return (struct bj_slice){(const char *)&in->sin_addr, 4};
    }
    if (a && a->sa_family == AF_INET6) {
        const struct sockaddr_in6 *in = (const void *)a;
        const char *bytes = (const char *)&in->sin6_addr;
        bool v4 = IN6_IS_ADDR_V4MAPPED(&in->sin6_addr);
        *ret_network = v4 ? 3 : 8;
        return v4 ? (struct bj_slice){bytes + 12, 4}
                  : (struct bj_slice){bytes, 16};
    }
    return (struct bj_slice){"", 0};
}
