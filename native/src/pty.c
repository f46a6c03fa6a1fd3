/* Opened inside the sandbox, from its own devpts: the host's terminals are not there to be found. */
#include "pty.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

int pty_open(struct terminal *terminal, int columns, int rows) {
    terminal->slave = -1;
    terminal->master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (terminal->master < 0) {
        return -1;
    }
    int unlock = 0;
    if (ioctl(terminal->master, TIOCSPTLCK, &unlock) == 0 && pty_resize(terminal->master, columns, rows) == 0) {
        terminal->slave = ioctl(terminal->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    if (terminal->slave < 0) {
        int error = errno;
        close(terminal->master);
        errno = error;
        return -1;
    }
    return 0;
}

int pty_resize(int master, int columns, int rows) {
    struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
    return ioctl(master, TIOCSWINSZ, &size);
}

int pty_enter(int slave) {
    if (setsid() < 0 || ioctl(slave, TIOCSCTTY, 0) != 0) {
        return -1;
    }
    for (int fd = 0; fd < 3; fd++) {
        if (dup2(slave, fd) < 0) {
            return -1;
        }
    }
    return 0;
}
