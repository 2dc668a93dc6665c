// Sockets that carry whole PDUs, Unix addresses, passed descriptors. Included by CLinux.h.
#pragma once

// A new socket, non-blocking and closed on exec. Swift sees SOCK_* as an enum, hence a function for
// each type.
static inline int clinux_seqpacket_socket(int domain, int protocol) {
  int fd = socket(domain, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  return fd < 0 ? -errno : fd;
}

static inline int clinux_seqpacket_pair(int descriptors[2]) {
  int result =
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, descriptors);
  return result < 0 ? -errno : 0;
}

// The two ends of a byte stream.
static inline int clinux_stream_pair(int descriptors[2]) {
  int result = socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, descriptors);
  return result < 0 ? -errno : 0;
}

static inline int clinux_stream_socket(int domain, int protocol) {
  int fd = socket(domain, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  return fd < 0 ? -errno : fd;
}

static const int CLINUX_SOCK_SEQPACKET = SOCK_SEQPACKET;
static const int CLINUX_SOCK_STREAM = SOCK_STREAM;
static const int CLINUX_SOCK_DGRAM = SOCK_DGRAM;
static const int CLINUX_SOCK_RAW = SOCK_RAW;

// accept4(2). The new socket is non-blocking and closed on exec.
int clinux_accept(int fd);

static inline int clinux_listen(int fd, int backlog) {
  return listen(fd, backlog) < 0 ? -errno : 0;
}

// Sends one PDU without blocking and without SIGPIPE.
static inline ssize_t clinux_send(int fd, const void *bytes, size_t count) {
  for (;;) {
    ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

// Receives one PDU without blocking. The result is the PDU's length; if it exceeds `capacity`, the
// rest was dropped.
static inline ssize_t clinux_receive(int fd, void *bytes, size_t capacity) {
  for (;;) {
    ssize_t count = recv(fd, bytes, capacity, MSG_TRUNC | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

// Receives from a stream without blocking; 0 at its end.
static inline ssize_t clinux_receive_stream(int fd, void *bytes, size_t capacity) {
  for (;;) {
    ssize_t count = recv(fd, bytes, capacity, MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

static inline void clinux_shut_down(int fd) { shutdown(fd, SHUT_RDWR); }

// Bytes of kernel memory that hold data not yet sent (SO_MEMINFO).
static inline int64_t clinux_unsent(int fd) {
  uint32_t counts[SK_MEMINFO_VARS] = {0};
  socklen_t length = sizeof counts;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, &length) < 0) return -errno;
  return counts[SK_MEMINFO_WMEM_ALLOC];
}

// The length of the next PDU, which stays in the queue.
static inline ssize_t clinux_peek(int fd) {
  char byte;
  for (;;) {
    ssize_t count = recv(fd, &byte, 1, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

// Sends at most CLINUX_BATCH PDUs with one system call (sendmmsg). Each entry is a 16-bit length in
// the machine's order, followed by the PDU. Returns how many were sent, at least one, or -errno.
enum { CLINUX_BATCH = 64 };
int clinux_send_entries(int fd, const void *entries, size_t length);

// poll(2) without waiting: CLINUX_POLL* bits, or -errno.
int clinux_poll_now(int fd);
static const int CLINUX_POLLIN = POLLIN;
static const int CLINUX_POLLOUT = POLLOUT;
static const int CLINUX_POLLHUP = POLLHUP;
static const int CLINUX_POLLERR = POLLERR;
static const int CLINUX_POLLRDHUP = 0x2000;  // POLLRDHUP, which needs _GNU_SOURCE

// Waits for any of the POLL* bits. Returns the bits, 0 after the timeout, or -errno.
static inline int clinux_poll(int fd, int events, int milliseconds) {
  struct pollfd entry = {.fd = fd, .events = (short)events};
  int count = poll(&entry, 1, milliseconds);
  return count < 0 ? -errno : count == 0 ? 0 : entry.revents;
}

// An integer socket option.
static inline int clinux_get_option(int fd, int level, int option, int *value) {
  socklen_t length = sizeof *value;
  return getsockopt(fd, level, option, value, &length) < 0 ? -errno : 0;
}

static inline int clinux_set_option(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) < 0 ? -errno : 0;
}

// The outcome of a connection attempt (SO_ERROR): 0 or -errno. Reading it clears it.
static inline int clinux_socket_error(int fd) {
  int error = 0;
  int result = clinux_get_option(fd, SOL_SOCKET, SO_ERROR, &error);
  return result < 0 ? result : -error;
}

// The process at the other end of a Unix connection, and its effective user (SO_PEERCRED): the one that
// connected, or the one that called listen. Returns 0 or -errno.
int clinux_peer_process(int fd, int32_t *process, uint32_t *user);

// The same, its user only; -errno if it is not known.
static inline int64_t clinux_peer_user(int fd) {
  int32_t process;
  uint32_t user;
  int result = clinux_peer_process(fd, &process, &user);
  return result < 0 ? result : (int64_t)user;
}

static inline int clinux_has_peer(int fd) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  return getpeername(fd, (struct sockaddr *)&address, &length) < 0 ? -errno : 0;
}

// --- Unix sockets

// The longest path, without its terminating zero.
static const int CLINUX_UNIX_PATH_LIMIT = sizeof(((struct sockaddr_un *)0)->sun_path) - 1;

static inline socklen_t clinux_unix_address(
    struct sockaddr_un *address, const char *path, size_t length) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  if (length >= sizeof address->sun_path) return 0;
  memcpy(address->sun_path, path, length);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length + 1);
}

static inline int clinux_unix_bind(int fd, const char *path, size_t length) {
  struct sockaddr_un address;
  socklen_t size = clinux_unix_address(&address, path, length);
  if (size == 0) return -ENAMETOOLONG;
  return bind(fd, (struct sockaddr *)&address, size) < 0 ? -errno : 0;
}

// A Unix connection is made at once or not at all, so an interrupted call is repeated.
static inline int clinux_unix_connect(int fd, const char *path, size_t length) {
  struct sockaddr_un address;
  socklen_t size = clinux_unix_address(&address, path, length);
  if (size == 0) return -ENAMETOOLONG;
  for (;;) {
    if (connect(fd, (struct sockaddr *)&address, size) == 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

// Sets the group, unless it is negative, and then the mode of a socket file. Not by its path, which may
// lead elsewhere by now: only a socket of this user is changed (EPERM). Needs /proc.
int clinux_open_socket_file(const char *path, unsigned int mode, int64_t group);

// Sends one PDU together with a descriptor (SCM_RIGHTS); `bytes` must not be empty.
static inline ssize_t clinux_send_descriptor(
    int fd, const void *bytes, size_t count, int descriptor) {
  struct iovec vector = {.iov_base = (void *)bytes, .iov_len = count};
  union { struct cmsghdr header; char room[CMSG_SPACE(sizeof(int))]; } control;
  memset(&control, 0, sizeof control);
  struct msghdr whole = {
      .msg_iov = &vector, .msg_iovlen = 1,
      .msg_control = control.room, .msg_controllen = sizeof control.room};
  struct cmsghdr *entry = CMSG_FIRSTHDR(&whole);
  entry->cmsg_level = SOL_SOCKET;
  entry->cmsg_type = SCM_RIGHTS;
  entry->cmsg_len = CMSG_LEN(sizeof(int));
  memcpy(CMSG_DATA(entry), &descriptor, sizeof(int));
  for (;;) {
    ssize_t sent = sendmsg(fd, &whole, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

// Receives one PDU and the descriptor passed with it, -1 if there is none. Descriptors beyond the
// first are closed, so that a peer cannot exhaust this process's descriptors.
ssize_t clinux_receive_descriptor(int fd, void *bytes, size_t capacity, int *descriptor);

// --- Files

// open(2), whose variable arguments Swift cannot call. Closed on exec.
static inline int clinux_open(const char *path, int flags, unsigned int mode) {
  int fd = open(path, flags | O_CLOEXEC, mode);
  return fd < 0 ? -errno : fd;
}

static inline int clinux_flock(int fd, int operation) {
  return flock(fd, operation) < 0 ? -errno : 0;
}

static inline int clinux_set_close_on_exec(int fd) {
  int flags = fcntl(fd, F_GETFD);
  if (flags < 0) return -errno;
  return fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0 ? -errno : 0;
}

static inline int clinux_set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  if (flags < 0) return -errno;
  return fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

static inline int clinux_fstat(int fd, struct stat *status) {
  return fstat(fd, status) < 0 ? -errno : 0;
}

static inline int clinux_lstat(const char *path, struct stat *status) {
  return lstat(path, status) < 0 ? -errno : 0;
}

static inline int clinux_unlink(const char *path) {
  return unlink(path) < 0 ? -errno : 0;
}
