/* Takes every TCP connection that does not go to the namespace itself, nor to a resolver, to TRANSPARENT_PORT. */
#ifndef HOLDFAST_REDIRECT_H
#define HOLDFAST_REDIRECT_H

#include <stdbool.h>

/* In this process's network namespace; false with errno where the kernel has no nf_tables or no TPROXY. */
bool redirect_connections(void);

#endif
