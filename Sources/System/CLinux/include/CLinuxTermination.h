// SIGINT and SIGTERM as a readable descriptor, without blocking them: threads that run already would
// not block them. Included by CLinux.h.
#pragma once

// Has the first SIGINT or SIGTERM make the returned eventfd readable. The handler restores the default
// actions, so that a second signal ends the process. A signal that is ignored stays ignored.
// Returns -errno if there is no descriptor; -EBUSY while an earlier call is in effect.
int clinux_termination_begin(void);

// Restores the actions from before, unless the program has changed them since, and closes the
// descriptor.
void clinux_termination_end(void);
