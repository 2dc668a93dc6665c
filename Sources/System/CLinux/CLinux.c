// Functions that need _GNU_SOURCE; the headers document them.
#define _GNU_SOURCE
#include "CLinux.h"

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifdef CLINUX_COMPARE_HEADERS
#define CHECK(type, name, value) \
  _Static_assert((type)name == (type)(value), #name " differs from the kernel's");
CLINUX_BLUETOOTH_CONSTANTS(CHECK)
#define CHECK_SIZE(name) \
  _Static_assert(sizeof(struct name) == sizeof(struct clinux_##name), "the size of " #name);
#define CHECK_FIELD(name, field)                                                                \
  _Static_assert(                                                                               \
      offsetof(struct name, field) == offsetof(struct clinux_##name, field) &&                  \
          sizeof(((struct name *)0)->field) == sizeof(((struct clinux_##name *)0)->field),      \
      #name "." #field);
CHECK_SIZE(sockaddr_l2)
CHECK_FIELD(sockaddr_l2, l2_family)
CHECK_FIELD(sockaddr_l2, l2_psm)
CHECK_FIELD(sockaddr_l2, l2_bdaddr)
CHECK_FIELD(sockaddr_l2, l2_cid)
CHECK_FIELD(sockaddr_l2, l2_bdaddr_type)
CHECK_SIZE(sockaddr_hci)
CHECK_FIELD(sockaddr_hci, hci_family)
CHECK_FIELD(sockaddr_hci, hci_dev)
CHECK_FIELD(sockaddr_hci, hci_channel)
CHECK_SIZE(bt_security)
CHECK_FIELD(bt_security, level)
CHECK_FIELD(bt_security, key_size)
CHECK_SIZE(hci_dev_info)
CHECK_FIELD(hci_dev_info, dev_id)
CHECK_FIELD(hci_dev_info, bdaddr)
CHECK_FIELD(hci_dev_info, stat)
#endif

#define CHECK_STAMP(name, known) _Static_assert((int)name == (int)known, #name " differs from the kernel's");
CHECK_STAMP(CLINUX_STAMP_TX_SOFTWARE, SOF_TIMESTAMPING_TX_SOFTWARE)
CHECK_STAMP(CLINUX_STAMP_RX_SOFTWARE, SOF_TIMESTAMPING_RX_SOFTWARE)
CHECK_STAMP(CLINUX_STAMP_SOFTWARE, SOF_TIMESTAMPING_SOFTWARE)
CHECK_STAMP(CLINUX_STAMP_OPT_ID, SOF_TIMESTAMPING_OPT_ID)
CHECK_STAMP(CLINUX_STAMP_OPT_TSONLY, SOF_TIMESTAMPING_OPT_TSONLY)
CHECK_STAMP(CLINUX_STAMP_SENT, SCM_TSTAMP_SND)

int clinux_set_stamps(int fd, int flags) {
  // Of 64 bits on every machine.
  return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING_NEW, &flags, sizeof flags) < 0 ? -errno : 0;
}

// Room for the control messages of one PDU: its stamp, a message of the error queue, and others.
enum { CONTROL_ROOM = 256 };

// The stamp among the control messages. The kernel's are of CLOCK_REALTIME, which may be set meanwhile: a
// time that lies in the future becomes 0.
static int64_t stamp_of(struct msghdr *whole) {
  for (struct cmsghdr *one = CMSG_FIRSTHDR(whole); one; one = CMSG_NXTHDR(whole, one)) {
    // The software's stamp is the first of three, each of two 64-bit numbers.
    int64_t stamp[6];
    if (one->cmsg_level != SOL_SOCKET || one->cmsg_type != SO_TIMESTAMPING_NEW ||
        one->cmsg_len < CMSG_LEN(sizeof stamp))
      continue;
    memcpy(stamp, CMSG_DATA(one), sizeof stamp);
    if (stamp[0] == 0) return 0;
    const int64_t moment = stamp[0] * 1000000000 + stamp[1] - clinux_wall_offset();
    return moment > clinux_monotonic() ? 0 : moment;
  }
  return 0;
}

ssize_t clinux_receive_stamped(int fd, void *bytes, size_t capacity, int64_t *moment) {
  struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
  union { struct cmsghdr header; char room[CONTROL_ROOM]; } control;
  struct msghdr whole = {
      .msg_iov = &vector, .msg_iovlen = 1,
      .msg_control = control.room, .msg_controllen = sizeof control.room};
  *moment = 0;
  for (;;) {
    ssize_t count = recvmsg(fd, &whole, MSG_TRUNC | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -errno;
    *moment = stamp_of(&whole);
    return count;
  }
}

int clinux_next_stamp(int fd, int *kind, uint32_t *number, int64_t *moment) {
  char byte;
  struct iovec vector = {.iov_base = &byte, .iov_len = 1};
  union { struct cmsghdr header; char room[CONTROL_ROOM]; } control;
  struct msghdr whole = {
      .msg_iov = &vector, .msg_iovlen = 1,
      .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count;
  do count = recvmsg(fd, &whole, MSG_ERRQUEUE | MSG_DONTWAIT);
  while (count < 0 && errno == EINTR);
  if (count < 0) return errno == EAGAIN ? 0 : -errno;
  *kind = CLINUX_STAMP_OTHER;
  *number = 0;
  *moment = stamp_of(&whole);
  const int bt_scm_error = 4;  // BT_SCM_ERROR, which no header has
  for (struct cmsghdr *one = CMSG_FIRSTHDR(&whole); one; one = CMSG_NXTHDR(&whole, one)) {
    struct sock_extended_err error;
    if (one->cmsg_level != SOL_BLUETOOTH || one->cmsg_type != bt_scm_error ||
        one->cmsg_len < CMSG_LEN(sizeof error))
      continue;
    memcpy(&error, CMSG_DATA(one), sizeof error);
    if (error.ee_origin != SO_EE_ORIGIN_TIMESTAMPING) continue;
    *number = error.ee_data;
    if (error.ee_info == CLINUX_STAMP_SENT || error.ee_info == CLINUX_STAMP_COMPLETED)
      *kind = (int)error.ee_info;
  }
  return 1;
}

void clinux_thread_name(const char *name) {
  char cut[16];
  strncpy(cut, name, 15);
  cut[15] = 0;
  pthread_setname_np(pthread_self(), cut);
}

int clinux_thread_number(void) { return (int)syscall(SYS_gettid); }

int clinux_accept(int fd) {
  int accepted = accept4(fd, (void *)0, (void *)0, SOCK_NONBLOCK | SOCK_CLOEXEC);
  return accepted < 0 ? -errno : accepted;
}

int clinux_open_socket_file(const char *path, unsigned int mode, int64_t group) {
  int fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -errno;
  struct stat status;
  char name[32];
  snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
  int result = fstat(fd, &status);
  if (result == 0 && (!S_ISSOCK(status.st_mode) || status.st_uid != geteuid())) {
    errno = EPERM;
    result = -1;
  }
  // The group first: until then the mode is for the owner only.
  if (result == 0 && group >= 0) result = fchownat(fd, "", (uid_t)-1, (gid_t)group, AT_EMPTY_PATH);
  if (result == 0) result = chmod(name, mode);
  result = result < 0 ? -errno : 0;
  close(fd);
  return result;
}

int clinux_peer_process(int fd, int32_t *process, uint32_t *user) {
  struct ucred credentials;
  socklen_t length = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -errno;
  *process = credentials.pid;
  *user = credentials.uid;
  return 0;
}

static int argument_count;
static char **argument_values;

// The GNU C library passes constructors what it passes main.
__attribute__((constructor)) static void keep_arguments(int count, char **values) {
  argument_count = count;
  argument_values = values;
}

const char *clinux_argument(int index) {
  return index < argument_count ? argument_values[index] : (void *)0;
}

int clinux_start_self(const char *option, int descriptor, int *process_descriptor) {
  const int first = CLINUX_INHERITED;
  posix_spawn_file_actions_t actions;
  int error = posix_spawn_file_actions_init(&actions);
  if (error) return -error;
  // First, because a program that was started without standard streams may have its own there.
  error = posix_spawn_file_actions_adddup2(&actions, descriptor, first);
  for (int stream = 0; stream < first && !error; stream++) {
    error = posix_spawn_file_actions_addopen(&actions, stream, "/dev/null", O_RDWR, 0);
  }
  if (!error) error = posix_spawn_file_actions_addclosefrom_np(&actions, first + 1);
  char *arguments[] = {program_invocation_short_name, (char *)option, NULL};
  pid_t process = 0;
  if (!error) {
    error = posix_spawn(&process, "/proc/self/exe", &actions, NULL, arguments, environ);
  }
  posix_spawn_file_actions_destroy(&actions);
  if (error) return -error;
  *process_descriptor = (int)syscall(SYS_pidfd_open, process, 0);
  if (*process_descriptor >= 0) return process;
  error = errno;
  kill(process, SIGKILL);
  waitpid(process, NULL, 0);
  return -error;
}

int clinux_reap(int process) {
  int status = 0;
  pid_t found;
  do found = waitpid(process, &status, WNOHANG);
  while (found < 0 && errno == EINTR);
  if (found == 0) return -EAGAIN;
  if (found < 0) return -errno;
  return WIFSIGNALED(status) ? 256 + WTERMSIG(status) : WEXITSTATUS(status);
}

int clinux_keep_privileges(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0) return -errno;
  return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ? -errno : 0;
}

int64_t clinux_memory_left(void) {
  struct rlimit whole, data;
  if (getrlimit(RLIMIT_AS, &whole) < 0 || getrlimit(RLIMIT_DATA, &data) < 0) return INT64_MAX;
  if (whole.rlim_cur == RLIM_INFINITY && data.rlim_cur == RLIM_INFINITY) return INT64_MAX;
  char text[128];
  int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return INT64_MAX;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return INT64_MAX;
  text[length] = 0;
  // Pages: size, resident, shared, text, lib, data.
  uint64_t pages[6] = {0}, page = (uint64_t)sysconf(_SC_PAGESIZE);
  char *next = text;
  for (int i = 0; i < 6; i++) pages[i] = strtoull(next, &next, 10) * page;
  uint64_t left = INT64_MAX;
  if (whole.rlim_cur != RLIM_INFINITY)
    left = whole.rlim_cur > pages[0] ? whole.rlim_cur - pages[0] : 0;
  if (data.rlim_cur != RLIM_INFINITY) {
    uint64_t other = data.rlim_cur > pages[5] ? data.rlim_cur - pages[5] : 0;
    if (other < left) left = other;
  }
  return left < INT64_MAX ? (int64_t)left : INT64_MAX;
}

int64_t clinux_run_delay(void) {
  char text[64];
  int fd = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return -1;
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return -1;
  text[length] = 0;
  const char *second = strchr(text, ' ');
  return second ? strtoll(second, (void *)0, 10) : -1;
}

int clinux_send_entries(int fd, const void *entries, size_t length) {
  struct mmsghdr headers[CLINUX_BATCH];
  struct iovec vectors[CLINUX_BATCH];
  const char *next = entries, *end = next + length;
  int count = 0;
  for (; count < CLINUX_BATCH && end - next >= 2; count++) {
    uint16_t octets;
    memcpy(&octets, next, sizeof octets);
    next += sizeof octets;
    if (end - next < octets) break;
    vectors[count] = (struct iovec){.iov_base = (void *)next, .iov_len = octets};
    headers[count] =
        (struct mmsghdr){.msg_hdr = {.msg_iov = &vectors[count], .msg_iovlen = 1}};
    next += octets;
  }
  for (;;) {
    int sent = sendmmsg(fd, headers, (unsigned)count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

int clinux_poll_now(int fd) {
  _Static_assert(POLLRDHUP == 0x2000, "POLLRDHUP differs from the header's");
  struct pollfd entry = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
  for (;;) {
    int count = poll(&entry, 1, 0);
    if (count >= 0) return count == 0 ? 0 : entry.revents;
    if (errno != EINTR) return -errno;
  }
}

ssize_t clinux_receive_descriptor(int fd, void *bytes, size_t capacity, int *descriptor) {
  *descriptor = -1;
  struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
  union { struct cmsghdr header; char room[CMSG_SPACE(4 * sizeof(int))]; } control;
  struct msghdr whole = {
      .msg_iov = &vector, .msg_iovlen = 1,
      .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count;
  do {
    count = recvmsg(fd, &whole, MSG_TRUNC | MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  for (struct cmsghdr *entry = CMSG_FIRSTHDR(&whole); entry; entry = CMSG_NXTHDR(&whole, entry)) {
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_RIGHTS) continue;
    size_t descriptors = (entry->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < descriptors; i++) {
      int one;
      memcpy(&one, CMSG_DATA(entry) + i * sizeof(int), sizeof(int));
      if (*descriptor < 0) *descriptor = one; else close(one);
    }
  }
  return count;
}

ssize_t clinux_monitor_receive(int fd, void *bytes, size_t capacity, int64_t *microseconds) {
  *microseconds = 0;
  struct iovec vector = {.iov_base = bytes, .iov_len = capacity};
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(struct timeval))]; } control;
  struct msghdr whole = {
      .msg_iov = &vector, .msg_iovlen = 1,
      .msg_control = control.room, .msg_controllen = sizeof control.room};
  ssize_t count;
  do {
    count = recvmsg(fd, &whole, MSG_TRUNC | MSG_DONTWAIT);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  for (struct cmsghdr *entry = CMSG_FIRSTHDR(&whole); entry; entry = CMSG_NXTHDR(&whole, entry)) {
    struct timeval time;
    if (entry->cmsg_level != SOL_SOCKET || entry->cmsg_type != SCM_TIMESTAMP ||
        entry->cmsg_len < CMSG_LEN(sizeof time))
      continue;
    memcpy(&time, CMSG_DATA(entry), sizeof time);
    *microseconds = (int64_t)time.tv_sec * 1000000 + time.tv_usec;
  }
  return count;
}

// The eventfd that the handler writes; -1 before the first call. It is never closed, because a handler
// may still run in another thread when the actions are restored.
static _Atomic int termination = -1;
static _Atomic int termination_active = 0;
static const int terminating[] = {SIGINT, SIGTERM};
static struct sigaction earlier[2];

// Calls only what is safe in a signal handler.
static void terminate(int number) {
  (void)number;
  const int error = errno;
  for (int i = 0; i < 2; i++) {
    struct sigaction action;
    if (sigaction(terminating[i], (void *)0, &action) == 0 && action.sa_handler == terminate) {
      signal(terminating[i], SIG_DFL);
    }
  }
  clinux_eventfd_signal(termination);
  errno = error;
}

int clinux_termination_begin(void) {
  int inactive = 0;
  if (!atomic_compare_exchange_strong(&termination_active, &inactive, 1)) return -EBUSY;
  if (termination < 0) {
    int fd = clinux_eventfd();
    if (fd < 0) {
      termination_active = 0;
      return fd;
    }
    termination = fd;
  }
  uint64_t count;
  // A signal of an earlier call, which came when it had ended.
  while (read(termination, &count, sizeof count) < 0 && errno == EINTR) {}
  for (int i = 0; i < 2; i++) {
    struct sigaction action = {.sa_handler = terminate, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(terminating[i], (void *)0, &earlier[i]);
    if (earlier[i].sa_handler != SIG_IGN) sigaction(terminating[i], &action, (void *)0);
  }
  return termination;
}

void clinux_termination_end(void) {
  for (int i = 0; i < 2; i++) {
    struct sigaction action;
    if (sigaction(terminating[i], (void *)0, &action) != 0) continue;
    if (action.sa_handler == terminate || action.sa_handler == SIG_DFL) {
      sigaction(terminating[i], &earlier[i], (void *)0);
    }
  }
  termination_active = 0;
}
