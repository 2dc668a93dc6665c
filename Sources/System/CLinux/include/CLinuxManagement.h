// The kernel's Bluetooth management socket and its monitor. Included by CLinux.h. The constants of
// their frames are in Radio: no header that Debian ships has them.
#pragma once

// A management socket for all adapters (HCI_CHANNEL_CONTROL). Any user may open it; most commands
// require CAP_NET_ADMIN at the time of the bind.
static inline int clinux_management_socket(void) {
  int fd = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, BTPROTO_HCI);
  if (fd < 0) return -errno;
  struct sockaddr_hci address = {
      .hci_family = AF_BLUETOOTH, .hci_dev = HCI_DEV_NONE, .hci_channel = HCI_CHANNEL_CONTROL};
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

// Sends an HCI command to a controller through the kernel (HCI_CHANNEL_RAW): the type of the
// packet, the command, its length, its parameters. The monitor shows the answer. Requires CAP_NET_RAW.
static inline int clinux_hci_command(uint16_t index, const void *octets, size_t count) {
  int fd = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, BTPROTO_HCI);
  if (fd < 0) return -errno;
  struct sockaddr_hci address = {
      .hci_family = AF_BLUETOOTH, .hci_dev = index, .hci_channel = HCI_CHANNEL_RAW};
  int error = 0;
  if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0 || write(fd, octets, count) < 0)
    error = -errno;
  close(fd);
  return error;
}

// A socket that receives traffic between the kernel and one controller (HCI_CHANNEL_MONITOR). The
// filter passes LE Meta events except advertising reports, Disconnection Complete, the ends of commands, and
// responses to credit-based connection requests. Requires CAP_NET_RAW.
//
// Each datagram is a header of three little-endian 16-bit numbers (HCI_MON_EVENT_PKT or
// HCI_MON_ACL_RX_PKT, the adapter, the length), followed by the packet. The filter reads big-endian.
static inline int clinux_monitor_socket(uint16_t index) {
  int fd = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, BTPROTO_HCI);
  if (fd < 0) return -errno;
  uint32_t adapter = (uint32_t)(uint16_t)(index << 8 | index >> 8);
  // ACL data continues with the handle and its length, then L2CAP: length, channel, and the code of
  // a signal.
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 2),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, adapter, 0, 18),
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0300, 7, 0),   // HCI_MON_EVENT_PKT: to the events
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0500, 0, 15),  // HCI_MON_ACL_RX_PKT
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 7),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x10, 13, 0),  // a later fragment
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0500, 0, 11),  // the channel of LE's signals
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 14),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x15, 8, 9),  // L2CAP_LE_CREDIT_BASED_CONNECTION_RSP
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 6),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x05, 6, 0),  // Disconnection Complete
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0E, 5, 0),  // Command Complete
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0F, 4, 0),  // Command Status
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x3E, 0, 4),  // LE Meta
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 8),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 2, 0),  // LE Advertising Report
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x0D, 1, 0),  // LE Extended Advertising Report
      BPF_STMT(BPF_RET | BPF_K, 512),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog whole = {.len = sizeof program / sizeof *program, .filter = program};
  struct sockaddr_hci address = {
      .hci_family = AF_BLUETOOTH, .hci_dev = HCI_DEV_NONE, .hci_channel = HCI_CHANNEL_MONITOR};
  if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &whole, sizeof whole) < 0 ||
      bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

// A socket that receives all traffic between the kernel and its controllers, beginning with a
// description of the existing adapters. Each datagram carries a time stamp of the kernel. Requires
// CAP_NET_RAW.
static inline int clinux_whole_monitor_socket(int receive_buffer) {
  int fd = socket(AF_BLUETOOTH, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, BTPROTO_HCI);
  if (fd < 0) return -errno;
  int on = 1;
  // Exceeding net.core.rmem_max requires CAP_NET_ADMIN.
  if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &receive_buffer, sizeof receive_buffer) < 0)
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  struct sockaddr_hci address = {
      .hci_family = AF_BLUETOOTH, .hci_dev = HCI_DEV_NONE, .hci_channel = HCI_CHANNEL_MONITOR};
  if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMP, &on, sizeof on) < 0 ||
      bind(fd, (struct sockaddr *)&address, sizeof address) < 0) {
    int error = errno;
    close(fd);
    return -error;
  }
  return fd;
}

// Receives one datagram of such a socket without blocking. The result is its length; if it exceeds
// `capacity`, the rest was dropped. `microseconds` is the kernel's time stamp, since 1970; 0 if there
// is none.
ssize_t clinux_monitor_receive(int fd, void *bytes, size_t capacity, int64_t *microseconds);

// Datagrams dropped because the socket's buffer was full (SO_MEMINFO); wraps around.
static inline int64_t clinux_dropped(int fd) {
  uint32_t counts[SK_MEMINFO_VARS] = {0};
  socklen_t length = sizeof counts;
  if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, &length) < 0) return -errno;
  return counts[SK_MEMINFO_DROPS];
}
