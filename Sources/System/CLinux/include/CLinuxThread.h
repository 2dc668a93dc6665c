// Threads: identity, and a thread that leaves signals to others. Included by CLinux.h.
#pragma once

// A number that identifies the calling thread among the living ones. Never 0.
static inline uintptr_t clinux_thread(void) { return (uintptr_t)pthread_self(); }

// Starts a detached thread that blocks all signals except those raised by its own faults, so that a
// crash is reported. Its stack has the usual size if 0 is given. Returns 0 or -errno.
static inline int clinux_thread_start(void *(*body)(void *), void *context, size_t stack) {
  sigset_t blocked, previous;
  sigfillset(&blocked);
  const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGFPE, SIGABRT, SIGSYS, SIGPROF};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&blocked, faults[i]);
  pthread_attr_t attributes;
  int error = pthread_attr_init(&attributes);
  if (error) return -error;
  if (stack) pthread_attr_setstacksize(&attributes, stack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  // A thread inherits the mask of the one that creates it.
  pthread_sigmask(SIG_SETMASK, &blocked, &previous);
  pthread_t thread;
  error = pthread_create(&thread, &attributes, body, context);
  pthread_sigmask(SIG_SETMASK, &previous, (void *)0);
  pthread_attr_destroy(&attributes);
  return -error;
}

// ThreadSanitizer's annotations: what precedes the release of an address happens before what follows
// its acquisition. They exist only in programs built with ThreadSanitizer.
void __tsan_release(void *address);
void __tsan_acquire(void *address);

// Names the calling thread, cut to 15 bytes.
void clinux_thread_name(const char *name);

// Nanoseconds for which the calling thread was ready to run and had no processor; -1 if the kernel
// does not tell.
int64_t clinux_run_delay(void);

// The kernel's number for the calling thread, as in /proc/self/task.
int clinux_thread_number(void);

// All threads allocate from one arena. Each further one would reserve 64 MB of address space, which
// counts under `ulimit -v`.
static inline void clinux_share_one_arena(void) { mallopt(M_ARENA_MAX, 1); }
