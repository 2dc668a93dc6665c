// epoll, eventfd and timerfd, with -errno as the error. Included by CLinux.h.
#pragma once

// Swift sees neither the enum nor the macros of <sys/epoll.h> as plain numbers.
static const uint32_t CLINUX_EPOLLIN = EPOLLIN;
static const uint32_t CLINUX_EPOLLOUT = EPOLLOUT;
static const uint32_t CLINUX_EPOLLRDHUP = EPOLLRDHUP;
static const uint32_t CLINUX_EPOLLHUP = EPOLLHUP;
static const uint32_t CLINUX_EPOLLERR = EPOLLERR;
static const uint32_t CLINUX_EPOLLET = EPOLLET;

static inline int clinux_epoll_create(void) {
  int fd = epoll_create1(EPOLL_CLOEXEC);
  return fd < 0 ? -errno : fd;
}

static inline int clinux_epoll_add(int epoll, int fd, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data = {.u64 = token}};
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static inline int clinux_epoll_modify(int epoll, int fd, uint32_t events, uint64_t token) {
  struct epoll_event event = {.events = events, .data = {.u64 = token}};
  return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

static inline int clinux_epoll_remove(int epoll, int fd) {
  struct epoll_event event = {0};
  return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event) < 0 ? -errno : 0;
}

// struct epoll_event is packed on x86-64; these two read it at any alignment.
static inline uint32_t clinux_epoll_events(const struct epoll_event *events, int index) {
  return events[index].events;
}

static inline uint64_t clinux_epoll_token(const struct epoll_event *events, int index) {
  return events[index].data.u64;
}

// Waits for events. The timeout is in nanoseconds; negative: no limit; 0: does not wait.
// `exact` is in and out: nonzero while the kernel is assumed to have epoll_pwait2 (Linux 5.11). If it
// is missing (ENOSYS), or a sandbox forbids it (EPERM), `exact` becomes 0 and the timeout is rounded
// up to the next millisecond, so that a wait never ends early.
static inline int clinux_epoll_wait(
    int epoll, struct epoll_event *events, int capacity, int64_t timeout, int *exact) {
  int count;
#ifdef SYS_epoll_pwait2
  if (*exact && timeout > 0) {
    // The kernel's own 64-bit timespec, whatever time_t is in user space.
    struct { int64_t seconds; int64_t nanoseconds; } span = {
        timeout / 1000000000, timeout % 1000000000};
    count = (int)syscall(SYS_epoll_pwait2, epoll, events, capacity, &span, (void *)0, (size_t)0);
    if (count >= 0) return count;
    if (errno != ENOSYS && errno != EPERM) return -errno;
    *exact = 0;
  }
#else
  *exact = 0;
#endif
  int milliseconds = -1;
  if (timeout >= 0) {
    int64_t rounded = timeout / 1000000 + (timeout % 1000000 != 0);
    milliseconds = rounded > INT32_MAX ? INT32_MAX : (int)rounded;
  }
  count = epoll_wait(epoll, events, capacity, milliseconds);
  return count < 0 ? -errno : count;
}

static inline int clinux_eventfd(void) {
  int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

// Adds one to an eventfd. EAGAIN, a full counter, is ignored: the reader is awake already.
static inline void clinux_eventfd_signal(int fd) {
  uint64_t one = 1;
  ssize_t written;
  do {
    written = write(fd, &one, sizeof one);
  } while (written < 0 && errno == EINTR);
}

static inline int clinux_timerfd(void) {
  int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
  return fd < 0 ? -errno : fd;
}

// Sets a timerfd to become readable at a time of CLOCK_MONOTONIC, in nanoseconds, above 0. Replaces
// the time that was set before.
static inline int clinux_timerfd_set(int fd, int64_t moment) {
  struct itimerspec when = {
      .it_value = {.tv_sec = moment / 1000000000, .tv_nsec = moment % 1000000000}};
  return timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL) < 0 ? -errno : 0;
}

// CLOCK_MONOTONIC in nanoseconds.
static inline int64_t clinux_monotonic(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

// CLOCK_REALTIME minus CLOCK_MONOTONIC, in nanoseconds. A thread that loses its processor between two readings
// takes one of them too late, by milliseconds; so each reading lies between two of the other clock, and the
// shortest of a few counts.
static inline int64_t clinux_wall_offset(void) {
  int64_t offset = 0, shortest = INT64_MAX;
  for (int i = 0; i < 4 && shortest > 1000; i++) {
    struct timespec wall;
    const int64_t before = clinux_monotonic();
    clock_gettime(CLOCK_REALTIME, &wall);
    const int64_t took = clinux_monotonic() - before;
    if (took >= shortest) continue;
    shortest = took;
    offset = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - before - took / 2;
  }
  return offset;
}
