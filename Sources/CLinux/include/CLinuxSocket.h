// Sockets: whole PDUs, Unix and Bluetooth addresses, descriptors passed along. Included by
// CLinux.h.
#pragma once

// A new socket, non-blocking and closed on exec. Swift sees SOCK_* as an enum, so the two kinds
// used here have names of their own.
static inline int clinux_seqpacket_socket(int domain, int protocol) {
  int fd = socket(domain, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, protocol);
  return fd < 0 ? -errno : fd;
}

static inline int clinux_datagram_socket(int domain) {
  int fd = socket(domain, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  return fd < 0 ? -errno : fd;
}

static inline int clinux_seqpacket_pair(int descriptors[2]) {
  int result =
      socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, descriptors);
  return result < 0 ? -errno : 0;
}

// Two ends of a stream of octets.
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

// accept4(2): the new socket is non-blocking and closed on exec.
int clinux_accept(int fd);

static inline int clinux_listen(int fd, int backlog) {
  return listen(fd, backlog) < 0 ? -errno : 0;
}

// One whole PDU out, without waiting and without SIGPIPE.
static inline ssize_t clinux_send(int fd, const void *bytes, size_t count) {
  for (;;) {
    ssize_t sent = send(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) return sent;
    if (errno != EINTR) return -errno;
  }
}

// One whole PDU in, without waiting. The result is the PDU's own length, which may exceed
// `capacity`: then only that much was stored.
static inline ssize_t clinux_receive(int fd, void *bytes, size_t capacity) {
  for (;;) {
    ssize_t count = recv(fd, bytes, capacity, MSG_TRUNC | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

// What a stream has, without waiting: 0 at its end.
static inline ssize_t clinux_receive_stream(int fd, void *bytes, size_t capacity) {
  for (;;) {
    ssize_t count = recv(fd, bytes, capacity, MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

static inline void clinux_shut_down(int fd) { shutdown(fd, SHUT_RDWR); }

// Octets of the kernel's memory that hold what was sent and has not left yet (SO_MEMINFO).
static inline int64_t clinux_unsent(int fd) {
  uint32_t counts[SK_MEMINFO_VARS] = {0};
  socklen_t length = sizeof counts;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, &length) < 0) return -errno;
  return counts[SK_MEMINFO_WMEM_ALLOC];
}

// The length of the PDU that would be received next, leaving it where it is.
static inline ssize_t clinux_peek(int fd) {
  char byte;
  for (;;) {
    ssize_t count = recv(fd, &byte, 1, MSG_PEEK | MSG_TRUNC | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno != EINTR) return -errno;
  }
}

// Sends PDUs with one system call (sendmmsg), at most CLINUX_BATCH. Each entry has two octets of
// its length, in the machine's order, and then the PDU. The result is how many were sent, at least
// one, or -errno.
enum { CLINUX_BATCH = 64 };
int clinux_send_entries(int fd, const void *entries, size_t length);

// What poll(2) says now: CLINUX_POLL* bits, or -errno.
int clinux_poll_now(int fd);
static const int CLINUX_POLLIN = POLLIN;
static const int CLINUX_POLLOUT = POLLOUT;
static const int CLINUX_POLLHUP = POLLHUP;
static const int CLINUX_POLLERR = POLLERR;
static const int CLINUX_POLLRDHUP = 0x2000;  // POLLRDHUP, which needs _GNU_SOURCE

// Waits for any of POLL* bits, at most so many milliseconds; the bits, 0 at the timeout, or -errno.
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

// The error of a connection attempt that has ended: 0, or -errno. Reading it clears it.
static inline int clinux_take_error(int fd) {
  int error = 0;
  int result = clinux_get_option(fd, SOL_SOCKET, SO_ERROR, &error);
  return result < 0 ? result : -error;
}

static inline int clinux_has_peer(int fd) {
  struct sockaddr_storage address;
  socklen_t length = sizeof address;
  return getpeername(fd, (struct sockaddr *)&address, &length) < 0 ? -errno : 0;
}

// --- Unix sockets

// The longest path that fits beside its terminating zero.
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

// A Unix connection is made at once or not at all, so a signal in between is simply ridden out.
static inline int clinux_unix_connect(int fd, const char *path, size_t length) {
  struct sockaddr_un address;
  socklen_t size = clinux_unix_address(&address, path, length);
  if (size == 0) return -ENAMETOOLONG;
  for (;;) {
    if (connect(fd, (struct sockaddr *)&address, size) == 0) return 0;
    if (errno != EINTR) return -errno;
  }
}

// Who made the socket at the other end (SO_PEERCRED).
int clinux_peer_credentials(int fd, int32_t *pid, uint32_t *uid, uint32_t *gid);

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

// Receives one PDU and the descriptor that came with it, or -1 in its place. Descriptors beyond
// the first are closed, so that a peer cannot fill the table.
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

// --- Bluetooth

static const uint16_t CLINUX_ATT_CID = 4;  // Vol 3, Part A, 2.1

// `bdaddr` is in the order of the wire, the last pair of the written form first.
static inline struct sockaddr_l2 clinux_l2cap_address(
    const uint8_t bdaddr[6], uint8_t type, uint16_t cid, uint16_t psm) {
  struct sockaddr_l2 address = {
      .l2_family = AF_BLUETOOTH,
      .l2_psm = htole16(psm),
      .l2_cid = htole16(cid),
      .l2_bdaddr_type = type,
  };
  memcpy(&address.l2_bdaddr, bdaddr, 6);
  return address;
}

static inline int clinux_l2cap_bind_at(int fd, struct sockaddr_l2 address) {
  return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

// An interrupted call goes on by itself and is as good as EINPROGRESS.
static inline int clinux_l2cap_connect_at(int fd, struct sockaddr_l2 address) {
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return 0;
  return errno == EINTR ? -EINPROGRESS : -errno;
}

static inline int clinux_l2cap_bind(int fd, const uint8_t bdaddr[6], uint8_t type) {
  return clinux_l2cap_bind_at(fd, clinux_l2cap_address(bdaddr, type, CLINUX_ATT_CID, 0));
}

static inline int clinux_l2cap_connect(int fd, const uint8_t bdaddr[6], uint8_t type) {
  return clinux_l2cap_connect_at(fd, clinux_l2cap_address(bdaddr, type, CLINUX_ATT_CID, 0));
}

// As above, for a channel with a PSM in place of ATT's. Bound with PSM 0 it gets a free one: at an
// LE address 0x0080 to 0x00FF. The LE address is what makes the kernel use LE credit-based flow
// control, so a socket that connects is bound too.
static inline int clinux_channel_bind(
    int fd, const uint8_t bdaddr[6], uint8_t type, uint16_t psm) {
  return clinux_l2cap_bind_at(fd, clinux_l2cap_address(bdaddr, type, 0, psm));
}

static inline int clinux_channel_connect(
    int fd, const uint8_t bdaddr[6], uint8_t type, uint16_t psm) {
  return clinux_l2cap_connect_at(fd, clinux_l2cap_address(bdaddr, type, 0, psm));
}

// The PSM of this end: of one that listens, the one it listens at.
static inline int clinux_channel_psm(int fd) {
  struct sockaddr_l2 address = {0};
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
  return le16toh(address.l2_psm);
}

static inline int clinux_l2cap_peer(int fd, uint8_t bdaddr[6], uint8_t *type) {
  struct sockaddr_l2 address = {0};
  socklen_t length = sizeof address;
  if (getpeername(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
  memcpy(bdaddr, &address.l2_bdaddr, 6);
  *type = address.l2_bdaddr_type;
  return 0;
}

// The address of the adapter that a connected LE socket uses.
static inline int clinux_l2cap_own(int fd, uint8_t bdaddr[6], uint8_t *type) {
  struct sockaddr_l2 address = {0};
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
  memcpy(bdaddr, &address.l2_bdaddr, 6);
  *type = address.l2_bdaddr_type;
  return 0;
}

// BT_SECURITY: the level, and the size of the key where the kernel tells it.
static inline int clinux_get_security(int fd, uint8_t *level, uint8_t *key_size) {
  struct bt_security security = {0};
  socklen_t length = sizeof security;
  if (getsockopt(fd, SOL_BLUETOOTH, BT_SECURITY, &security, &length) < 0) return -errno;
  *level = security.level;
  *key_size = security.key_size;
  return 0;
}

static inline int clinux_set_security(int fd, uint8_t level) {
  struct bt_security security = {.level = level, .key_size = 0};
  return setsockopt(fd, SOL_BLUETOOTH, BT_SECURITY, &security, sizeof security) < 0 ? -errno : 0;
}

// BT_PHY: the PHYs in use, BT_PHY_* bits; only on a connected socket.
static inline int clinux_get_phy(int fd, uint32_t *bits) {
  socklen_t length = sizeof *bits;
  return getsockopt(fd, SOL_BLUETOOTH, BT_PHY, bits, &length) < 0 ? -errno : 0;
}

// BT_SNDMTU and BT_RCVMTU are 16 bits wide.
static inline int clinux_get_bluetooth_mtu(int fd, int option) {
  uint16_t value = 0;
  socklen_t length = sizeof value;
  if (getsockopt(fd, SOL_BLUETOOTH, option, &value, &length) < 0) return -errno;
  return value;
}

static inline int clinux_set_bluetooth_mtu(int fd, int option, uint16_t value) {
  return setsockopt(fd, SOL_BLUETOOTH, option, &value, sizeof value) < 0 ? -errno : 0;
}

// The public address of the adapter hci<index>, in the order of the wire.
static inline int clinux_adapter_address(uint16_t index, uint8_t bdaddr[6]) {
  int fd = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_CLOEXEC, BTPROTO_HCI);
  if (fd < 0) return -errno;
  struct hci_dev_info information;
  memset(&information, 0, sizeof information);
  information.dev_id = index;
  int result = ioctl(fd, HCIGETDEVINFO, &information) < 0 ? -errno : 0;
  memcpy(bdaddr, &information.bdaddr, 6);
  close(fd);
  return result;
}
