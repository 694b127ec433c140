#include "apiserver/access/peer.h"

#include "base/clock.h"
#include "base/thread.h"
#include "base/wait.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
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

/* --- users of unix sockets ------------------------------------------------ */

enum {
    NAMES = 64,
    KEEP_USEC = 60 * 1000000,
    PATIENCE_USEC = 2 * 1000000,
    LOOKUPS = 64, /* at a time, those that hang included */
    STACK_BYTES = 256 * 1024
};

struct name {
    uid_t uid;
    uint64_t until_usec;
    char text[BJ_USER_BYTES];
};

/* One query; the thread that runs it and its waiters hold it. */
struct lookup {
    struct bj_peer_names *of;
    struct lookup *next;
    uid_t uid;
    unsigned holders;
    uint64_t began_usec;
    bool done;
    int result;
    char text[BJ_USER_BYTES];
};

struct bj_peer_names {
    pthread_mutex_t lock; /* protects all */
    pthread_cond_t change;
    struct name name[NAMES];
    struct lookup *running;
    unsigned lookups;
    bool closed; /* the last query frees it */
};

struct bj_peer_names *bj_peer_names_new(void)
{
    struct bj_peer_names *n = calloc(1, sizeof(*n));
    if (n && bj_wait_init(&n->lock, &n->change) < 0) {
        free(n);
        return NULL;
    }
    return n;
}

static void destroy(struct bj_peer_names *n)
{
    bj_wait_destroy(&n->lock, &n->change);
    free(n);
}

void bj_peer_names_free(struct bj_peer_names *n)
{
    if (!n)
        return;
    pthread_mutex_lock(&n->lock);
    n->closed = true;
    const bool last = n->lookups == 0;
    pthread_mutex_unlock(&n->lock);
    if (last)
        destroy(n);
}

/* Under the lock. */
static void let_go(struct lookup *l)
{
    if (--l->holders == 0)
        free(l);
}

static int peer_query(uid_t uid, char ret[static BJ_USER_BYTES])
{
    char buf[4096];
    struct passwd entry, *found = NULL;
    if (getpwuid_r(uid, &entry, buf, sizeof(buf), &found) != 0 || !found ||
        strlen(found->pw_name) >= BJ_USER_BYTES)
        return -ENOENT;
    snprintf(ret, BJ_USER_BYTES, "%s", found->pw_name);
    return 0;
}

static void *peer_run(void *ctx)
{
    struct lookup *l = ctx;
    struct bj_peer_names *n = l->of;
    char text[BJ_USER_BYTES] = "";
    const int r = peer_query(l->uid, text);
    pthread_mutex_lock(&n->lock);
    l->done = true;
    l->result = r;
    memcpy(l->text, text, sizeof(text));
    if (r == 0) {
        struct name *to = &n->name[l->uid % NAMES];
        *to = (struct name){l->uid, bj_clock_boot_usec() + KEEP_USEC, ""};
        memcpy(to->text, text, sizeof(text));
    }
    for (struct lookup **at = &n->running; *at; at = &(*at)->next)
        if (*at == l) {
            *at = l->next;
            break;
        }
    n->lookups--;
    const bool last = n->closed && n->lookups == 0;
    pthread_cond_broadcast(&n->change);
    let_go(l);
    pthread_mutex_unlock(&n->lock);
    if (last)
        destroy(n);
    return NULL;
}

/* Under the lock. */
static int peer_start(struct bj_peer_names *n, uid_t uid, struct lookup **ret)
{
    pthread_t thread;
    if (n->lookups == LOOKUPS)
        return -ETIMEDOUT;
    struct lookup *l = calloc(1, sizeof(*l));
    if (!l)
        return -ENOMEM;
    *l = (struct lookup){.of = n,
                         .next = n->running,
                         .uid = uid,
                         .holders = 1,
                         .began_usec = bj_clock_boot_usec()};
    if (bj_thread_create(&thread, STACK_BYTES, peer_run, l) < 0) {
        free(l);
        return -ENOMEM;
    }
    pthread_detach(thread);
    n->running = l;
    n->lookups++;
    *ret = l;
    return 0;
}

/* Under the lock. Who comes after the deadline of a query does not wait. */
static int look_up(struct bj_peer_names *n, uid_t uid,
                   char ret[static BJ_USER_BYTES])
{
    struct lookup *l = n->running;
    while (l && l->uid != uid)
        l = l->next;
    int r = l ? 0 : peer_start(n, uid, &l);
    if (r < 0)
        return r;
    l->holders++;
    while (!l->done &&
           bj_wait_until(&n->change, &n->lock, l->began_usec + PATIENCE_USEC))
        ;
    r = l->done ? l->result : -ETIMEDOUT;
    if (r == 0)
        memcpy(ret, l->text, BJ_USER_BYTES);
    let_go(l);
    return r;
}

int bj_peer_names_find(struct bj_peer_names *n, uid_t uid, bool may_wait,
                       char ret[static BJ_USER_BYTES])
{
    int r = -EAGAIN;
    pthread_mutex_lock(&n->lock);
    const struct name *known = &n->name[uid % NAMES];
    if (known->uid == uid && bj_clock_boot_usec() < known->until_usec) {
        memcpy(ret, known->text, BJ_USER_BYTES);
        r = 0;
    } else if (may_wait) {
        r = look_up(n, uid, ret);
    }
    pthread_mutex_unlock(&n->lock);
    return r;
}
