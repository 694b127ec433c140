#include "apiserver/peer.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

bool bj_peer_is_loopback(const struct sockaddr *a)
{
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (a->sa_family == AF_INET) {
        memcpy(&in, a, sizeof(in));
        return ntohl(in.sin_addr.s_addr) >> 24 == 127;
    }
    if (a->sa_family != AF_INET6)
        return false;
    memcpy(&in6, a, sizeof(in6));
    return IN6_IS_ADDR_LOOPBACK(&in6.sin6_addr) ||
           (IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr) &&
            in6.sin6_addr.s6_addr[12] == 127);
}

bool bj_peer_is_local(const struct bj_http_request *req)
{
    return req->address->sa_family == AF_UNIX ||
           bj_peer_is_loopback(req->address);
}

static const char *unix_name(int fd, char buf[BJ_PEER_BYTES])
{
    struct ucred peer;
    socklen_t len = sizeof(peer);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
        return "unix";
    snprintf(buf, BJ_PEER_BYTES, "unix:%u", (unsigned)peer.uid);
    return buf;
}

const char *bj_peer_name(const struct bj_http_request *req,
                         char buf[BJ_PEER_BYTES])
{
    const struct sockaddr *a = req->address;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    if (a->sa_family == AF_INET) {
        memcpy(&in, a, sizeof(in));
        return inet_ntop(AF_INET, &in.sin_addr, buf, BJ_PEER_BYTES);
    }
    if (a->sa_family != AF_INET6)
        return unix_name(req->fd, buf);
    memcpy(&in6, a, sizeof(in6));
    return inet_ntop(AF_INET6, &in6.sin6_addr, buf, BJ_PEER_BYTES);
}
