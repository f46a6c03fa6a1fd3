/* A client that knows no proxy: HOST PORT, then standard input goes there and what comes back is printed. */
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char **argv) {
    struct addrinfo *found = NULL;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG};
    char bytes[4096];
    ssize_t got;
    if (argc != 3 || getaddrinfo(argv[1], argv[2], &wanted, &found) != 0) {
        fprintf(stderr, "no address\n");
        return 2;
    }
    int fd = socket(found->ai_family, SOCK_STREAM, 0);
    if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        perror("connect");
        return 1;
    }
    while ((got = read(0, bytes, sizeof bytes)) > 0) {
        if (write(fd, bytes, (size_t)got) != got) {
            return 1;
        }
    }
    while ((got = read(fd, bytes, sizeof bytes)) > 0) {
        fwrite(bytes, 1, (size_t)got, stdout);
    }
    return 0;
}
