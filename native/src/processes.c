#include "processes.h"

#include "common.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PASSES_MOST = 64 };

bool process_read(pid_t pid, struct process *process) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    char line[1024];
    ssize_t got = read(fd, line, sizeof line - 1);
    close(fd);
    if (got <= 0) {
        return false;
    }
    line[got] = '\0';
    /* The name may hold anything, also parentheses: the fields follow the last one. */
    char *fields = strrchr(line, ')');
    unsigned long long user = 0;
    unsigned long long system = 0;
    long long waited_user = 0;
    long long waited_system = 0;
    long long resident = 0;
    *process = (struct process){.pid = pid};
    if (fields == NULL ||
        sscanf(fields + 1,
               " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %lld %lld %*d %*d %*d %*d %*u %*u %lld",
               &process->state, &process->parent, &user, &system, &waited_user, &waited_system, &resident) != 7) {
        return false;
    }
    process->cpu_ticks = user + system + (unsigned long long)(waited_user + waited_system);
    process->resident_pages = resident < 0 ? 0 : (unsigned long long)resident;
    return true;
}

static struct process *read_all(size_t *count) {
    struct process *all = NULL;
    size_t capacity = 0;
    *count = 0;
    DIR *proc = opendir("/proc");
    for (struct dirent *entry; proc != NULL && (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0])) {
            continue;
        }
        if (*count == capacity) {
            capacity = capacity == 0 ? 256 : capacity * 2;
            all = must_realloc(all, capacity * sizeof *all);
        }
        if (process_read((pid_t)atoi(entry->d_name), &all[*count])) {
            (*count)++;
        }
    }
    if (proc != NULL) {
        closedir(proc);
    }
    return all;
}

struct process *processes_below(pid_t root, size_t *count) {
    size_t total;
    struct process *all = read_all(&total);
    bool *below = must_alloc(total);
    memset(below, 0, total);
    for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < total; i++) {
            bool is_child = all[i].parent == root;
            for (size_t j = 0; !below[i] && !is_child && j < total; j++) {
                is_child = below[j] && all[j].pid == all[i].parent;
            }
            if (is_child && !below[i] && all[i].pid != root) {
                below[i] = grown = true;
            }
        }
    }
    *count = 0;
    for (size_t i = 0; i < total; i++) {
        if (below[i] && all[i].state != 'Z' && all[i].state != 'X') {
            all[(*count)++] = all[i];
        }
    }
    free(below);
    return all;
}

void processes_signal(pid_t root, int signal) {
    size_t before = 0;
    for (int pass = 0; pass < PASSES_MOST; pass++) {
        size_t count;
        struct process *below = processes_below(root, &count);
        for (size_t i = 0; i < count; i++) {
            kill(below[i].pid, signal);
        }
        free(below);
        if (count == 0 || (pass > 0 && count == before && signal != SIGKILL)) {
            return;
        }
        before = count;
        usleep(1000);
    }
}
