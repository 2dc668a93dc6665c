#include "../include/atto_linux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "../Library/device.h"

/* The kernel's ABI, which <bluetooth/bluetooth.h> states where it is installed. Addresses are least
   significant octet first. */
#ifndef AF_BLUETOOTH
#define AF_BLUETOOTH 31
#endif
#define BTPROTO_L2CAP 0
#define SOL_BLUETOOTH 274
#define BT_SECURITY 4
#define LE_PUBLIC 1
#define LE_RANDOM 2
#define ATT_CID 4 /* Vol 3, Part A, 2.1 */

struct l2cap_address {
  sa_family_t family;
  uint16_t psm;
  uint8_t address[6];
  uint16_t cid;
  uint8_t type;
};

struct security {
  uint8_t level, key_size;
};

union address {
  struct sockaddr any;
  struct sockaddr_un path;
  struct l2cap_address le;
};

/* A parsed endpoint: the peer or listener, and for L2CAP the own address. */
struct endpoint {
  union address to, from;
  socklen_t length;
};

int64_t atto_linux_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static uint16_t little(uint16_t number) {
  const uint8_t octets[2] = {(uint8_t)number, (uint8_t)(number >> 8)};
  memcpy(&number, octets, 2);
  return number;
}

/* Reads AA:BB:CC:DD:EE:FF; the text after it, or null. */
static const char *parse_address(const char *text, uint8_t address[6]) {
  unsigned octets[6];
  int used = 0;
  if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x%n", &octets[0], &octets[1], &octets[2], &octets[3],
             &octets[4], &octets[5], &used) != 6 || used != 17)
    return NULL;
  for (int i = 0; i < 6; i++) address[5 - i] = (uint8_t)octets[i];
  return text + used;
}

static bool parse(const char *text, bool listens, struct endpoint *endpoint) {
  memset(endpoint, 0, sizeof *endpoint);
  if (strncmp(text, "unix:", 5) == 0) {
    size_t length = strlen(text + 5);
    if (length == 0 || length >= sizeof endpoint->to.path.sun_path) return false;
    endpoint->to.path.sun_family = AF_UNIX;
    memcpy(endpoint->to.path.sun_path, text + 5, length);
    endpoint->length = sizeof endpoint->to.path;
    return true;
  }
  if (strncmp(text, "le:", 3) != 0) return false;
  text += 3;
  struct l2cap_address *to = &endpoint->to.le, *from = &endpoint->from.le;
  to->family = from->family = AF_BLUETOOTH;
  to->cid = from->cid = little(ATT_CID);
  to->type = from->type = LE_PUBLIC;
  endpoint->length = sizeof *to;
  if (!listens) {
    text = parse_address(text, to->address);
    if (text == NULL) return false;
    if (strncmp(text, "/random", 7) == 0) {
      to->type = LE_RANDOM;
      text += 7;
    }
  }
  if (*text == '@' && (text = parse_address(text + 1, from->address)) == NULL) return false;
  return *text == 0;
}

static int fail(int descriptor) {
  int error = errno;
  close(descriptor);
  errno = error;
  return -1;
}

static int open_socket(const char *text, bool listens, int level, struct endpoint *endpoint) {
  if (text == NULL || level < ATTO_LOW || level > ATTO_FIPS || !parse(text, listens, endpoint)) {
    errno = EINVAL;
    return -1;
  }
  int family = endpoint->to.any.sa_family;
  int descriptor = socket(family, SOCK_SEQPACKET | SOCK_CLOEXEC,
                          family == AF_BLUETOOTH ? BTPROTO_L2CAP : 0);
  if (descriptor < 0 || family == AF_UNIX) return descriptor;
  struct security security = {.level = (uint8_t)level, .key_size = 0};
  if (bind(descriptor, &endpoint->from.any, endpoint->length) < 0 ||
      (level > ATTO_LOW && setsockopt(descriptor, SOL_BLUETOOTH, BT_SECURITY, &security,
                                      sizeof security) < 0))
    return fail(descriptor);
  return descriptor;
}

int atto_linux_connect(const char *text, int level) {
  struct endpoint endpoint;
  int descriptor = open_socket(text, false, level, &endpoint);
  if (descriptor < 0) return -1;
  if (connect(descriptor, &endpoint.to.any, endpoint.length) < 0) return fail(descriptor);
  return descriptor;
}

/* Removes a socket at which nobody listens any more. */
static void remove_stale(const struct endpoint *endpoint) {
  struct stat status;
  const char *path = endpoint->to.path.sun_path;
  if (lstat(path, &status) < 0 || !S_ISSOCK(status.st_mode)) return;
  int probe = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return;
  if (connect(probe, &endpoint->to.any, endpoint->length) < 0 && errno == ECONNREFUSED)
    unlink(path);
  close(probe);
}

int atto_linux_listen(const char *text, int level) {
  struct endpoint endpoint;
  int descriptor = open_socket(text, true, level, &endpoint);
  if (descriptor < 0) return -1;
  if (endpoint.to.any.sa_family == AF_UNIX) {
    remove_stale(&endpoint);
    if (bind(descriptor, &endpoint.to.any, endpoint.length) < 0) return fail(descriptor);
  }
  if (listen(descriptor, 16) < 0) return fail(descriptor);
  return descriptor;
}

int atto_linux_accept(int listener) {
  int descriptor;
  do {
    descriptor = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
  } while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

/* Sends until nothing is left (0) or the socket is full (1); -1 if the link has failed. */
static int send_all(atto_bearer *bearer, int descriptor) {
  const void *pdu;
  int length;
  while ((length = atto_bearer_peek(bearer, &pdu)) > 0) {
    if (send(descriptor, pdu, (size_t)length, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
      if (errno == EAGAIN) return 1;
      if (errno == EINTR) continue;
      return -1;
    }
    atto_bearer_sent(bearer);
  }
  if (length < 0) errno = length == ATTO_ERR_MEMORY ? ENOMEM : EINVAL;
  return length;
}

static int end(atto_bearer *bearer, int error) {
  atto_bearer_link_ended(bearer);
  if (bearer != NULL) {
    bearer->has_ended = true;
    bearer->error = (int16_t)error;
  }
  errno = error;
  return -1;
}

/* Ends the bearer for a result of the library, unless it is a good one. */
static int judge(atto_bearer *bearer, int result) {
  switch (result) {
    case ATTO_ERR_AGAIN: return end(bearer, ENOBUFS);
    case ATTO_ERR_MEMORY: return end(bearer, ENOMEM);
    case ATTO_ERR_TIMEOUT: return end(bearer, ETIMEDOUT);
    case ATTO_ERR_ARGUMENT: return end(bearer, EINVAL);
    default: return result < 0 ? end(bearer, EPROTO) : 0;
  }
}

/* The milliseconds until a time, rounded up, but at most an hour. */
static int milliseconds_until(int64_t time) {
  int64_t now = atto_linux_now();
  if (time <= now) return 0;
  int64_t left = (time - now - 1) / 1000000 + 1;
  return left > 3600000 ? 3600000 : (int)left;
}

/* The milliseconds until the deadline of the bearer, but at most `timeout`. */
static int patience(atto_bearer *bearer, int timeout) {
  int64_t deadline;
  if (atto_deadline(bearer, &deadline) != 1) return timeout;
  int left = milliseconds_until(deadline);
  return timeout < 0 || left < timeout ? left : timeout;
}

static void update_security(atto_bearer *bearer, int descriptor) {
  struct security security;
  socklen_t length = sizeof security;
  if (getsockopt(descriptor, SOL_BLUETOOTH, BT_SECURITY, &security, &length) < 0) return;
  if (security.level < ATTO_LOW) return;
  atto_set_security(bearer, security.level, security.level == ATTO_LOW ? 0 : security.key_size);
}

int atto_linux_drive(atto_bearer *bearer, int descriptor, int timeout) {
  if (bearer != NULL && bearer->has_ended) {
    errno = bearer->error;
    return -1;
  }
  int rest = send_all(bearer, descriptor);
  if (rest < 0) return end(bearer, errno);
  /* While the socket is full nothing is read, because each PDU may cause a response. */
  struct pollfd entry = {.fd = descriptor, .events = rest == 1 ? POLLOUT : POLLIN};
  int ready = poll(&entry, 1, patience(bearer, timeout));
  if (ready < 0 && errno != EINTR) return end(bearer, errno);
  int64_t now = atto_linux_now();
  if (judge(bearer, atto_advance(bearer, now)) < 0) return -1;
  if (ready <= 0) return 0;
  if (rest == 1) {
    if (send_all(bearer, descriptor) < 0) return end(bearer, errno);
    return 0;
  }
  /* A longer PDU than this is longer than any ATT_MTU of use. Its opcode is enough to refuse it. */
  uint8_t pdu[2048];
  ssize_t length = recv(descriptor, pdu, sizeof pdu, MSG_DONTWAIT | MSG_TRUNC);
  if (length < 0) return errno == EAGAIN || errno == EINTR ? 0 : end(bearer, errno);
  if (length == 0) return end(bearer, 0);
  if ((size_t)length > sizeof pdu) length = 1;
  update_security(bearer, descriptor);
  if (judge(bearer, atto_bearer_feed(bearer, pdu, (size_t)length, now)) < 0) return -1;
  if (send_all(bearer, descriptor) < 0) return end(bearer, errno);
  return 1;
}

int atto_linux_next_sized(
    size_t event_size, atto_bearer *bearer, int descriptor, int64_t until, atto_event *event) {
  if (event == NULL || judge_size(event_size, EVENT_0_9, sizeof *event) < 0) {
    errno = EINVAL;
    return -1;
  }
  int turn;
  do {
    if (atto_next_event_sized(event_size, bearer, event) == 1) return 1;
    turn = atto_linux_drive(bearer, descriptor, milliseconds_until(until));
  } while (turn > 0 && atto_linux_now() < until);
  if (atto_next_event_sized(event_size, bearer, event) == 1) return 1;
  memset(event, 0, event_size);
  return turn < 0 ? -1 : 0;
}

int(atto_linux_next)(atto_bearer *bearer, int descriptor, int64_t until, atto_event *event) {
  return atto_linux_next_sized(EVENT_0_9, bearer, descriptor, until, event);
}
