#pragma once

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/signalfd.h>
#include <unistd.h>

/// Blocks SIGINT, SIGTERM and, unless it is ignored, SIGHUP in this thread and in threads that it
/// starts later. Returns a descriptor that becomes readable when one arrives, or -errno.
static inline int32_t clinux_signalfd_interrupt(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  // nohup ignores it.
  struct sigaction hangup;
  if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN) {
    sigaddset(&set, SIGHUP);
  }
  if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) return -errno;
  int fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

/// Reads one signal from such a descriptor: its number, or 0 if there is none.
static inline int32_t clinux_signalfd_read(int32_t fd) {
  struct signalfd_siginfo info;
  return read(fd, &info, sizeof info) == sizeof info ? (int32_t)info.ssi_signo : 0;
}
