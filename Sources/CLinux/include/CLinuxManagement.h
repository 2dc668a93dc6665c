// The kernel's Bluetooth management socket. Included by CLinux.h. The constants of its frames are
// Radio's: no header that Debian ships has them.
#pragma once

// A socket that speaks to the management of all adapters (HCI_CHANNEL_CONTROL). Anybody may open
// it; most commands want CAP_NET_ADMIN at the moment of the bind.
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
