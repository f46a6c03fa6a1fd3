/*
 * For the crash tests only (-DHOLDFAST_FAULTS): every call that touches a filesystem counts, and the call that
 * HOLDFAST_FAULT names is where it goes wrong: "VERB:kill:N" the process dies, "VERB:parent:N" the process that started
 * it dies, "VERB:once:ERRNO:N" the call fails, "VERB:from:ERRNO:N" it and all later ones fail. N counts from 1 in each
 * process that runs the verb.
 */
#ifndef HOLDFAST_FAULT_H
#define HOLDFAST_FAULT_H

#ifdef HOLDFAST_FAULTS
#include <stdbool.h>
void fault_verb(const char *verb);
bool fault_here(void);
bool lacks_exchange(void);
#define FS(call) (fault_here() ? -1 : (call))
#else
#define FS(call) (call)
#define lacks_exchange() false
#define fault_verb(verb) ((void)(verb))
#endif

#endif
