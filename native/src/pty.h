/* The agent's terminal. */
#ifndef HOLDFAST_PTY_H
#define HOLDFAST_PTY_H

struct terminal {
    int master;
    int slave;
};

/* A new terminal of that size from /dev/ptmx; -1 with errno. Both ends are close-on-exec. */
int pty_open(struct terminal *terminal, int columns, int rows);

int pty_resize(int master, int columns, int rows);

/* Makes it the controlling terminal and the standard streams of this process, a new session. */
int pty_enter(int slave);

#endif
