// Processes that this program starts of itself. Included by CLinux.h.
#pragma once

// Runs this program again, with one argument. Of the descriptors it has this one, as CLINUX_INHERITED; its standard
// streams are /dev/null. Returns its number, and stores a descriptor that becomes readable when it
// ends; or returns -errno. Waits until the process has begun, a few hundred microseconds.
static const int CLINUX_INHERITED = 3;
int clinux_start_self(const char *option, int descriptor, int *process_descriptor);

// An argument of this process, 0 for its name; NULL beyond the last. Needs no /proc, unlike Swift's CommandLine.
const char *clinux_argument(int index);

// Of a process that has ended: its exit status, or 256 and the number of the signal that has killed it.
// -EAGAIN if it runs.
int clinux_reap(int process);

// Programs that the calling thread and its later threads start have no privileges by file capabilities
// or by ambient ones, as systemd gives them to services. This process keeps what it has. 0 or -errno.
int clinux_keep_privileges(void);
