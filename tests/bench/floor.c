#include "tests/bench/floor.h"

#include "tests/bench/num.h"

#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static void scrape(struct floor *f)
{
    f->pass++;
    floor_find(f);
    for (size_t i = 0; i < f->njobs; i++)
        if (f->jobs[i]->seen == f->pass)
            floor_collect(f, f->jobs[i]);
    floor_write(f);
}

static void answer(struct floor *f, int fd)
{
    char head[160];
    int n = snprintf(head, sizeof(head),
                     "HTTP/1.1 200 OK\r\n"
                     "Content-Type: text/plain; version=0.0.4\r\n"
                     "Content-Length: %zu\r\n\r\n",
                     f->page_len);
    send(fd, head, (size_t)n, MSG_MORE);
    for (size_t done = 0; done < f->page_len;) {
        ssize_t w = write(fd, f->page + done, f->page_len - done);
        if (w <= 0)
            return;
        done += (size_t)w;
    }
}

/* Serve one connection until the client closes it. */
static void serve(struct floor *f, int fd)
{
    char request[8192];
    size_t n = 0;
    for (;;) {
        ssize_t r = read(fd, request + n, sizeof(request) - 1 - n);
        if (r <= 0)
            return;
        n += (size_t)r;
        request[n] = '\0';
        if (strstr(request, "\r\n\r\n")) {
            scrape(f);
            answer(f, fd);
            n = 0;
        }
    }
}

static int listen_on(unsigned port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in a = {.sin_family = AF_INET,
                            .sin_port = htons((uint16_t)port),
                            .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(fd, 64) < 0)
        return -1;
    return fd;
}

int main(int argc, char **argv)
{
    static struct floor f;
    if (argc < 4) {
        fprintf(stderr, "usage: floor 1|2 CGROUP_ROOT PORT [keep] "
                        "[processes]\n");
        return 2;
    }
    f.version = argv[1][0] == '1' ? 1 : 2;
    f.root = argv[2];
    for (int i = 4; i < argc; i++) {
        f.keep |= strcmp(argv[i], "keep") == 0;
        f.processes |= strcmp(argv[i], "processes") == 0;
    }
    struct rlimit many = {1 << 19, 1 << 19};
    setrlimit(RLIMIT_NOFILE, &many);
    int listener = listen_on((unsigned)bench_u64(argv[3]));
    if (listener < 0) {
        perror("floor: listen");
        return 1;
    }
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            continue;
        serve(&f, fd);
        close(fd);
    }
}
