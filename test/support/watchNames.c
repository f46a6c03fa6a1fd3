/*
 * Says what a directory's watcher is told: "in NAME" where a name came or its file was written, "out NAME" where it went,
 * in the kernel's order. Prints "watching" when it begins, and ends, with everything told, when standard input does.
 */
#include <stdio.h>
#include <sys/inotify.h>
#include <unistd.h>

static void tell(const char *buffer, ssize_t size) {
    for (ssize_t at = 0; at < size;) {
        const struct inotify_event *event = (const struct inotify_event *)(buffer + at);
        const char *way = event->mask & (IN_MOVED_FROM | IN_DELETE) ? "out" : "in";
        if (event->len > 0) {
            printf("%s %s\n", way, event->name);
        }
        at += (ssize_t)(sizeof *event + event->len);
    }
}

int main(int argc, char **argv) {
    int events = inotify_init1(IN_NONBLOCK);
    unsigned mask = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_CLOSE_WRITE;
    if (argc != 2 || events == -1 || inotify_add_watch(events, argv[1], mask) == -1) {
        return 1;
    }
    printf("watching\n");
    fflush(stdout);
    char end;
    while (read(STDIN_FILENO, &end, 1) > 0) {
    }
    static char buffer[65536] __attribute__((aligned(8)));
    for (ssize_t got; (got = read(events, buffer, sizeof buffer)) > 0;) {
        tell(buffer, got);
    }
    return 0;
}
