// Datagrams between the machines of a network, and the addresses of this machine. Included by CLinux.h.
// An address has 4 octets (AF_INET) or 16 (AF_INET6).
#pragma once

static const int CLINUX_INET = AF_INET;
static const int CLINUX_INET6 = AF_INET6;

// A non-blocking socket for the datagrams of a group and port on one interface, which it also sends from.
// Other programs can share the port if they allow it, too. Datagrams to this machine's own addresses are not
// received. Returns a descriptor or -errno.
int clinux_multicast_socket(int family, const uint8_t *group, uint16_t port, uint32_t interface);

// Receives one datagram without blocking. `sender` has room for 16 octets. Returns its length, which exceeds
// `capacity` if the rest was dropped, or -errno.
ssize_t clinux_receive_datagram(
    int fd, void *bytes, size_t capacity, uint8_t *sender, uint16_t *port);

// Sends one datagram without blocking. `interface` matters to addresses that are local to a link. Returns 0 or
// -errno.
int clinux_send_datagram(
    int fd, const void *bytes, size_t count, int family, const uint8_t *address, uint16_t port,
    uint32_t interface);

struct clinux_interface_address {
  int32_t family;
  uint32_t interface;
  uint8_t octets[16];
  uint8_t is_loopback, is_multicast;
};

// The addresses of interfaces that are up and have a link. Returns how many were stored, or -errno.
int clinux_interface_addresses(struct clinux_interface_address *addresses, int capacity);

// A non-blocking socket that is readable when interfaces or their addresses have changed (rtnetlink(7)).
// What arrives can be dropped. Returns a descriptor or -errno.
int clinux_network_changes(void);
