// What of the shim needs _GNU_SOURCE. The headers say what each function is for.
#define _GNU_SOURCE
#include "CLinux.h"

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
  _Static_assert(POLLRDHUP == 0x2000, "the header's copy of POLLRDHUP is wrong here");
  struct pollfd entry = {.fd = fd, .events = POLLIN | POLLOUT | POLLRDHUP};
  for (;;) {
    int count = poll(&entry, 1, 0);
    if (count >= 0) return count == 0 ? 0 : entry.revents;
    if (errno != EINTR) return -errno;
  }
}

int clinux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid) {
  struct ucred credentials;
  socklen_t length = sizeof credentials;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) < 0) return -errno;
  *pid = credentials.pid;
  *uid = credentials.uid;
  *gid = credentials.gid;
  return 0;
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
