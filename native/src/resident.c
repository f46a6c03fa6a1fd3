/*
 * resident: makes scans for a caller that asks for many, so that it starts one process and not one for each. A large caller
 * stands still for milliseconds while it forks; this one is small. PROTOCOL.md has the frames.
 *
 * Each request is a child, which writes to files in memory: nothing of it can block, and what comes out is told as a whole.
 * What is asked for comes from our own side, and is read as strictly as arguments are: whatever is no request ends the process.
 */
#include "commands.h"
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { JOBS_MOST = 16, WORDS_MOST = 32, HEAD_BYTES_MOST = 64, WORDS_BYTES_MOST = 64 * 1024, PIECE_BYTES = 64 * 1024 };

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
} errands[] = {{"scan", scan_main}, {"overlay-scan", overlay_scan_main}};

struct job {
    pid_t pid; /* 0: free */
    long id;
    int output;
    int errors;
    int report;
};

static struct job jobs[JOBS_MOST];
static struct text input;

static struct job *job_of(pid_t pid) {
    for (size_t i = 0; i < JOBS_MOST; i++) {
        if (jobs[i].pid == pid) {
            return &jobs[i];
        }
    }
    return NULL;
}

static int memory_file(void) {
    int fd = memfd_create("holdfast-answer", MFD_CLOEXEC);
    if (fd < 0) {
        die_errno(EXIT_FAILED, "memory-file", "cannot make a file in memory");
    }
    return fd;
}

/* In the child: the request as if it had been given as arguments. */
static _Noreturn void perform(const struct job *job, pid_t parent, int argc, char **argv) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
        _exit(EXIT_FAILED);
    }
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0 || dup2(job->output, STDOUT_FILENO) < 0 ||
        dup2(job->errors, STDERR_FILENO) < 0) {
        _exit(EXIT_FAILED);
    }
    for (size_t i = 0; i < sizeof errands / sizeof *errands; i++) {
        if (strcmp(argv[0], errands[i].name) == 0) {
            exit(errands[i].run(argc, argv));
        }
    }
    die(EXIT_USAGE, "arguments", "%s is not done here", argv[0]);
}

/* `words`: BYTES bytes, each word ended by NUL. */
static void begin(struct job *job, long id, char *words, size_t bytes) {
    char *argv[WORDS_MOST + 3];
    char number[16];
    int argc = 0;
    *job = (struct job){.id = id, .output = memory_file(), .errors = memory_file(), .report = memory_file()};
    for (char *word = words; word < words + bytes; word += strlen(word) + 1) {
        if (argc == WORDS_MOST) {
            die(EXIT_USAGE, "request", "too many words");
        }
        argv[argc++] = word;
        if (argc == 1) {
            snprintf(number, sizeof number, "%d", job->report);
            argv[argc++] = "--report-fd";
            argv[argc++] = number;
        }
    }
    argv[argc] = NULL;
    pid_t parent = getpid();
    job->pid = fork();
    if (job->pid < 0) {
        die_errno(EXIT_FAILED, "fork", "cannot start a scan");
    }
    if (job->pid == 0) {
        perform(job, parent, argc, argv);
    }
}

/* Takes the next request, when it is there as a whole. */
static bool take_request(struct job *job) {
    char *end = memchr(input.bytes, '\n', input.count < HEAD_BYTES_MOST ? input.count : HEAD_BYTES_MOST);
    if (end == NULL) {
        if (input.count >= HEAD_BYTES_MOST) {
            die(EXIT_USAGE, "request", "no request");
        }
        return false;
    }
    char head[HEAD_BYTES_MOST] = {0};
    memcpy(head, input.bytes, (size_t)(end - input.bytes));
    char *space = strncmp(head, "run ", 4) == 0 ? strchr(head + 4, ' ') : NULL;
    if (space == NULL || strlen(head) != (size_t)(end - input.bytes)) {
        die(EXIT_USAGE, "request", "expected \"run ID BYTES\"");
    }
    *space = '\0';
    long id = parse_number(head + 4, 1, INT32_MAX, "ID");
    size_t bytes = (size_t)parse_number(space + 1, 2, WORDS_BYTES_MOST, "BYTES");
    size_t whole = (size_t)(end + 1 - input.bytes) + bytes;
    if (input.count < whole) {
        return false;
    }
    if (input.bytes[whole - 1] != '\0') {
        die(EXIT_USAGE, "request", "the last word has no end");
    }
    begin(job, id, end + 1, bytes);
    memmove(input.bytes, input.bytes + whole, input.count - whole);
    input.count -= whole;
    return true;
}

static void take_requests(void) {
    struct job *job;
    while (input.count > 0 && (job = job_of(0)) != NULL && take_request(job)) {
    }
}

static off_t bytes_of(int fd) {
    struct stat told;
    if (fstat(fd, &told) != 0) {
        die_errno(EXIT_FAILED, "answer", "cannot look at an answer");
    }
    return told.st_size;
}

static void tell(int fd, off_t bytes) {
    static char piece[PIECE_BYTES];
    for (off_t at = 0; at < bytes;) {
        ssize_t got = pread(fd, piece, sizeof piece, at);
        if (got <= 0 || write_all(STDOUT_FILENO, piece, (size_t)got) != 0) {
            die_errno(EXIT_FAILED, "answer", "cannot tell an answer");
        }
        at += got;
    }
    close(fd);
}

static void finish(struct job *job, int status) {
    int code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
    off_t report_bytes = bytes_of(job->report);
    off_t error_bytes = bytes_of(job->errors);
    off_t output_bytes = bytes_of(job->output);
    struct text head = {0};
    text_format(&head, "done %ld %d %lld %lld %lld\n", job->id, code, (long long)report_bytes, (long long)error_bytes,
                (long long)output_bytes);
    if (write_all(STDOUT_FILENO, head.bytes, head.count) != 0) {
        die_errno(EXIT_FAILED, "answer", "cannot tell an answer");
    }
    text_free(&head);
    tell(job->report, report_bytes);
    tell(job->errors, error_bytes);
    tell(job->output, output_bytes);
    job->pid = 0;
}

static void reap(int children) {
    struct signalfd_siginfo ignored;
    int status;
    pid_t pid;
    while (read(children, &ignored, sizeof ignored) > 0) {
    }
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        struct job *job = job_of(pid);
        if (job != NULL) {
            finish(job, status);
        }
    }
}

/* False at the end of the requests. */
static bool read_more(void) {
    static char piece[PIECE_BYTES];
    ssize_t got = read(STDIN_FILENO, piece, sizeof piece);
    if (got < 0 && errno == EINTR) {
        return true;
    }
    if (got <= 0) {
        return false;
    }
    text_bytes(&input, piece, (size_t)got);
    return true;
}

int resident_main(int argc, char **argv) {
    (void)argv;
    if (argc != 1) {
        die(EXIT_USAGE, "arguments", "usage: resident");
    }
    signal(SIGPIPE, SIG_IGN);
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGCHLD);
    sigprocmask(SIG_BLOCK, &ends, NULL);
    int children = signalfd(-1, &ends, SFD_CLOEXEC | SFD_NONBLOCK);
    if (children < 0) {
        die_errno(EXIT_FAILED, "signalfd", "cannot wait for scans");
    }
    for (;;) {
        /* What is asked for beyond so many waits in the pipe. */
        short wanted = job_of(0) == NULL ? 0 : POLLIN;
        struct pollfd polled[] = {{.fd = children, .events = POLLIN}, {.fd = STDIN_FILENO, .events = wanted}};
        if (poll(polled, 2, -1) < 0 && errno != EINTR) {
            die_errno(EXIT_FAILED, "poll", "cannot wait");
        }
        if (polled[0].revents != 0) {
            reap(children);
        }
        /* Its end ends whatever is under way: nobody waits for it. */
        if (polled[1].revents != 0 && !read_more()) {
            return 0;
        }
        take_requests();
    }
}
