// Multicast sockets and interfaces; the header documents them.
#define _GNU_SOURCE
#include "CLinux.h"

#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>

static socklen_t internet_address(
    struct sockaddr_storage *storage, int family, const uint8_t *octets, uint16_t port,
    uint32_t interface) {
  memset(storage, 0, sizeof *storage);
  if (family == AF_INET) {
    struct sockaddr_in *address = (struct sockaddr_in *)storage;
    address->sin_family = AF_INET;
    address->sin_port = htobe16(port);
    memcpy(&address->sin_addr, octets, 4);
    return sizeof *address;
  }
  struct sockaddr_in6 *address = (struct sockaddr_in6 *)storage;
  address->sin6_family = AF_INET6;
  address->sin6_port = htobe16(port);
  memcpy(&address->sin6_addr, octets, 16);
  // The kernel refuses the interface with any other address.
  if (IN6_IS_ADDR_LINKLOCAL(&address->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&address->sin6_addr))
    address->sin6_scope_id = interface;
  return sizeof *address;
}

static int join(int fd, int family, const uint8_t *group, uint32_t interface) {
  // All groups that any socket of the machine has joined are the default.
  if (family == AF_INET) {
    struct ip_mreqn request = {.imr_ifindex = (int)interface};
    memcpy(&request.imr_multiaddr, group, 4);
    if (clinux_set_option(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0) < 0 ||
        clinux_set_option(fd, IPPROTO_IP, IP_MULTICAST_TTL, 255) < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request) < 0 ||
        setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) < 0)
      return -errno;
    return 0;
  }
  struct ipv6_mreq request = {.ipv6mr_interface = interface};
  memcpy(&request.ipv6mr_multiaddr, group, 16);
  if (clinux_set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 255) < 0 ||
      clinux_set_option(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, (int)interface) < 0 ||
      setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request) < 0)
    return -errno;
  return 0;
}

int clinux_multicast_socket(int family, const uint8_t *group, uint16_t port, uint32_t interface) {
  int fd = socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -errno;
  int result = clinux_set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
  if (result == 0) result = clinux_set_option(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  if (result == 0 && family == AF_INET6)
    result = clinux_set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  struct sockaddr_storage address;
  socklen_t length = internet_address(&address, family, group, port, interface);
  if (result == 0 && bind(fd, (struct sockaddr *)&address, length) < 0) result = -errno;
  if (result == 0) result = join(fd, family, group, interface);
  if (result == 0) return fd;
  close(fd);
  return result;
}

ssize_t clinux_receive_datagram(
    int fd, void *bytes, size_t capacity, uint8_t *sender, uint16_t *port) {
  struct sockaddr_storage address;
  memset(&address, 0, sizeof address);
  socklen_t length = sizeof address;
  ssize_t count;
  do {
    length = sizeof address;
    count = recvfrom(
        fd, bytes, capacity, MSG_TRUNC | MSG_DONTWAIT, (struct sockaddr *)&address, &length);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return -errno;
  if (address.ss_family == AF_INET) {
    memcpy(sender, &((struct sockaddr_in *)&address)->sin_addr, 4);
    *port = be16toh(((struct sockaddr_in *)&address)->sin_port);
  } else {
    memcpy(sender, &((struct sockaddr_in6 *)&address)->sin6_addr, 16);
    *port = be16toh(((struct sockaddr_in6 *)&address)->sin6_port);
  }
  return count;
}

int clinux_send_datagram(
    int fd, const void *bytes, size_t count, int family, const uint8_t *address, uint16_t port,
    uint32_t interface) {
  struct sockaddr_storage storage;
  socklen_t length = internet_address(&storage, family, address, port, interface);
  for (;;) {
    if (sendto(fd, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&storage,
               length) >= 0)
      return 0;
    if (errno != EINTR) return -errno;
  }
}

int clinux_interface_addresses(struct clinux_interface_address *addresses, int capacity) {
  struct ifaddrs *found = NULL;
  if (getifaddrs(&found) < 0) return -errno;
  int count = 0;
  for (struct ifaddrs *entry = found; entry && count < capacity; entry = entry->ifa_next) {
    if (!entry->ifa_addr || !(entry->ifa_flags & IFF_UP) || !(entry->ifa_flags & IFF_RUNNING))
      continue;
    int family = entry->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    struct clinux_interface_address *address = &addresses[count];
    memset(address, 0, sizeof *address);
    address->family = family;
    address->interface = if_nametoindex(entry->ifa_name);
    if (address->interface == 0) continue;
    address->is_loopback = (entry->ifa_flags & IFF_LOOPBACK) != 0;
    address->is_multicast = (entry->ifa_flags & IFF_MULTICAST) != 0;
    if (family == AF_INET)
      memcpy(address->octets, &((struct sockaddr_in *)entry->ifa_addr)->sin_addr, 4);
    else
      memcpy(address->octets, &((struct sockaddr_in6 *)entry->ifa_addr)->sin6_addr, 16);
    count++;
  }
  freeifaddrs(found);
  return count;
}

int clinux_network_changes(void) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) return -errno;
  struct sockaddr_nl address = {
      .nl_family = AF_NETLINK,
      .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
  if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int result = -errno;
  close(fd);
  return result;
}
