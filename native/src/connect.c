/*
 * connect: a program's standard input and output become the two directions of a unix socket. An agent that wants to start
 * a server (of the Model Context Protocol) starts this instead, and talks to the one outside. Two processes, one for each
 * direction, so that neither can wait for the other: the child carries the input and half-closes the socket at its end,
 * the parent carries what comes back and ends with it. Some agents end a server by its children first: the input is at its
 * end then, too.
 */
#include "commands.h"
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COPY_BYTES = 64 * 1024 };

/* Until the end of `from`, or until nobody reads `to`. */
static void copy(int from, int to) {
    char *buffer = must_alloc(COPY_BYTES);
    for (;;) {
        ssize_t got = read(from, buffer, COPY_BYTES);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0 || write_all(to, buffer, (size_t)got) != 0) {
            break;
        }
    }
    free(buffer);
}

static volatile sig_atomic_t connected = -1;

/* The child is gone, in whichever way: no more input comes. */
static void end_input(int signal_number) {
    (void)signal_number;
    int kept = errno;
    shutdown(connected, SHUT_WR);
    errno = kept;
}

static int connect_to(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        die(EXIT_USAGE, "arguments", "the path of the socket is too long: %s", path);
    }
    strcpy(address.sun_path, path);
    int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server < 0 || connect(server, (struct sockaddr *)&address, sizeof address) != 0) {
        die_errno(EXIT_FAILED, "connect", "cannot connect to %s", path);
    }
    return server;
}

int connect_main(int argc, char **argv) {
    if (argc != 3) {
        die(EXIT_USAGE, "arguments", "usage: connect SOCKET GREETING");
    }
    signal(SIGPIPE, SIG_IGN);
    int server = connect_to(argv[1]);
    char *greeting = must_format("%s\n", argv[2]);
    if (write_all(server, greeting, strlen(greeting)) != 0) {
        die_errno(EXIT_FAILED, "connect", "cannot write to %s", argv[1]);
    }
    free(greeting);
    connected = server;
    /* A child that is stopped, as the whole tree is for a savepoint, is not gone. */
    struct sigaction gone = {.sa_handler = end_input, .sa_flags = SA_NOCLDSTOP | SA_RESTART};
    sigaction(SIGCHLD, &gone, NULL);
    pid_t child = fork();
    if (child < 0) {
        die_errno(EXIT_FAILED, "connect", "cannot start the second process");
    }
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        copy(STDIN_FILENO, server);
        shutdown(server, SHUT_WR);
        _exit(0);
    }
    copy(server, STDOUT_FILENO);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    return 0;
}
