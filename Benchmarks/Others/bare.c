// The baseline: sends recorded requests and counts what arrives. It knows nothing of ATT beyond the first octet.
// Like the other clients, it asks epoll before each receive that may find nothing.
#include <errno.h>
#include <sys/epoll.h>

#include "client.h"

static unsigned char buffer[MTU];
static int link_fd, poll_fd;

static size_t receive(unsigned char opcode, int waits) {
  struct epoll_event event;
  ssize_t count;
  do {
    if (waits) epoll_wait(poll_fd, &event, 1, -1);
    count = recv(link_fd, buffer, sizeof buffer, MSG_DONTWAIT);
    waits = 1;
  } while (count < 0 && errno == EAGAIN);
  check(count > 0 && buffer[0] == opcode, "the server answers differently than recorded");
  return (size_t)count;
}

int main(int count, char **words) {
  static const unsigned char exchange[] = {0x02, MTU, 0}, request[] = {0x0a, READ_HANDLE, 0};
  static const unsigned char subscription[] = {0x12, CONFIGURATION_HANDLE, 0, 1, 0};
  link_fd = connected(count == 2 ? words[1] : "");
  poll_fd = epoll_create1(0);
  struct epoll_event event = {.events = EPOLLIN};
  check(epoll_ctl(poll_fd, EPOLL_CTL_ADD, link_fd, &event) == 0, "cannot poll the socket");
  send(link_fd, exchange, sizeof exchange, MSG_NOSIGNAL);
  receive(0x03, 1);
  for (;;) {
    if (next_test() == 'r') {
      do send(link_fd, request, sizeof request, MSG_NOSIGNAL);
      while (counted(receive(0x0b, 1) - 1));
    } else {
      send(link_fd, subscription, sizeof subscription, MSG_NOSIGNAL);
      receive(0x13, 1);
      while (counted_value(buffer + 3, receive(0x1b, 0) - 3)) {}
    }
  }
}
