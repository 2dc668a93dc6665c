// The kernel's Bluetooth sockets. Included by CLinux.h.
//
// Constants and structures are declared here on every machine, so that a build does not depend on which
// headers are installed. The kernel declares them in include/net/bluetooth, which it does not export.
// With CLINUX_COMPARE_HEADERS they come from libbluetooth-dev instead, and CLinux.c checks that the two
// agree: `Tests/run abi`. Nothing links with libbluetooth.
#pragma once

// X(type, name, value)
#define CLINUX_BLUETOOTH_CONSTANTS(X)                       \
  X(int, BTPROTO_L2CAP, 0)                                  \
  X(int, BTPROTO_HCI, 1)                                    \
  X(int, BT_SECURITY, 4)                                    \
  X(int, BT_SNDMTU, 12)                                     \
  X(int, BT_RCVMTU, 13)                                     \
  X(int, BT_PHY, 14)                                        \
  X(int, BT_MODE, 15)                                       \
  X(int, BT_MODE_EXT_FLOWCTL, 4)                            \
  X(int, BT_PHY_LE_1M_TX, 1 << 9)                           \
  X(int, BT_PHY_LE_1M_RX, 1 << 10)                          \
  X(int, BT_PHY_LE_2M_TX, 1 << 11)                          \
  X(int, BT_PHY_LE_2M_RX, 1 << 12)                          \
  X(int, BT_PHY_LE_CODED_TX, 1 << 13)                       \
  X(int, BT_PHY_LE_CODED_RX, 1 << 14)                       \
  X(int, BDADDR_LE_PUBLIC, 1)                               \
  X(int, BDADDR_LE_RANDOM, 2)                               \
  X(int, HCI_DEV_NONE, 0xFFFF)                              \
  X(int, HCI_CHANNEL_RAW, 0)                                \
  X(int, HCI_CHANNEL_MONITOR, 2)                            \
  X(int, HCI_CHANNEL_CONTROL, 3)                            \
  X(unsigned, HCIGETDEVINFO, _IOR('H', 211, int))

// Addresses are in the order of the wire; the other numbers of sockaddr_l2 are little-endian.
struct clinux_sockaddr_l2 {
  sa_family_t l2_family;
  uint16_t l2_psm;
  uint8_t l2_bdaddr[6];
  uint16_t l2_cid;
  uint8_t l2_bdaddr_type;
};

struct clinux_sockaddr_hci {
  sa_family_t hci_family;
  uint16_t hci_dev;
  uint16_t hci_channel;
};

// SOL_BLUETOOTH, BT_SECURITY
struct clinux_bt_security {
  uint8_t level;
  uint8_t key_size;
};

// HCIGETDEVINFO
struct clinux_hci_dev_info {
  uint16_t dev_id;
  char name[8];
  uint8_t bdaddr[6];
  uint32_t flags;
  uint8_t type;
  uint8_t features[8];
  uint32_t pkt_type;
  uint32_t link_policy;
  uint32_t link_mode;
  uint16_t acl_mtu;
  uint16_t acl_pkts;
  uint16_t sco_mtu;
  uint16_t sco_pkts;
  uint32_t stat[10];
};

#ifdef CLINUX_COMPARE_HEADERS
#include <bluetooth/bluetooth.h>
#include <bluetooth/hci.h>
#include <bluetooth/l2cap.h>
#else
#define CLINUX_DECLARE(type, name, value) static const type name = value;
CLINUX_BLUETOOTH_CONSTANTS(CLINUX_DECLARE)
#undef CLINUX_DECLARE
#define sockaddr_l2 clinux_sockaddr_l2
#define sockaddr_hci clinux_sockaddr_hci
#define bt_security clinux_bt_security
#define hci_dev_info clinux_hci_dev_info
#endif

static const uint16_t CLINUX_ATT_CID = 4;  // Vol 3, Part A, 2.1

// All device addresses here are in the order of the wire, least significant octet first.
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

// Binds to a fixed channel (CID), or with CID 0 to a PSM. With both 0 the kernel chooses a PSM: at
// an LE address 0x0080 to 0x00FF. The kernel uses LE credit-based flow control only for sockets that
// are bound to an LE address, so a socket that connects is bound too.
static inline int clinux_l2cap_bind(
    int fd, const uint8_t bdaddr[6], uint8_t type, uint16_t cid, uint16_t psm) {
  struct sockaddr_l2 address = clinux_l2cap_address(bdaddr, type, cid, psm);
  return bind(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
}

// An interrupted call continues in the kernel, which is the same as EINPROGRESS.
static inline int clinux_l2cap_connect(
    int fd, const uint8_t bdaddr[6], uint8_t type, uint16_t cid, uint16_t psm) {
  struct sockaddr_l2 address = clinux_l2cap_address(bdaddr, type, cid, psm);
  if (connect(fd, (struct sockaddr *)&address, sizeof address) == 0) return 0;
  return errno == EINTR ? -EINPROGRESS : -errno;
}

// The PSM of a socket that listens or is connected.
static inline int clinux_channel_psm(int fd) {
  struct sockaddr_l2 address = {0};
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
  return le16toh(address.l2_psm);
}

// The addresses of both ends of a connected LE socket, and their kinds.
static inline int clinux_l2cap_addresses(
    int fd, uint8_t own[6], uint8_t *own_type, uint8_t peer[6], uint8_t *peer_type) {
  struct sockaddr_l2 address = {0};
  socklen_t length = sizeof address;
  if (getsockname(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
  memcpy(own, &address.l2_bdaddr, 6);
  *own_type = address.l2_bdaddr_type;
  length = sizeof address;
  if (getpeername(fd, (struct sockaddr *)&address, &length) < 0) return -errno;
  memcpy(peer, &address.l2_bdaddr, 6);
  *peer_type = address.l2_bdaddr_type;
  return 0;
}

// BT_SECURITY: the level, and the key size if the kernel reports it.
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

// Only between bind and connect or listen.
static inline int clinux_set_channel_mode(int fd, uint8_t mode) {
  return setsockopt(fd, SOL_BLUETOOTH, BT_MODE, &mode, sizeof mode) < 0 ? -errno : 0;
}

// The public address of the adapter hci<index>.
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
