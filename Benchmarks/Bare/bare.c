// The floor: the same system calls on the same kind of socket as Atto's rows, and nothing else.
//
//     bare serve FD WAIT          answers until its peer closes
//     bare WHAT FD WAIT COUNT SIZE
//     bare replay FD WAIT COUNT FILE
//
// WAIT is `epoll` (a level-triggered instance of one descriptor, asked before each receive that
// may find nothing) or `busy` (receives until something is there). WHAT is `read` (COUNT round
// trips), `write-command` (COUNT commands of SIZE octets and a read to know that all are there),
// `notify` (one write, after which the server sends COUNT values of SIZE octets), or `thread`
// (both ends of a socket pair in this one thread; FD is ignored). `replay` sends the requests
// and answers the responses of FILE, COUNT times over: lines `> HEX` and `< HEX`.
//
// Prints one line of JSON: {"count":N,"seconds":S,"cpu":S}.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

enum { READ = 0x0a, READ_RESPONSE = 0x0b, WRITE = 0x12, WRITE_RESPONSE = 0x13, COMMAND = 0x52,
       NOTIFICATION = 0x1b, LARGEST = 1024 };

static int link_fd = -1, poll_fd = -1;
static unsigned char buffer[LARGEST];

static void fail(const char *what) {
  perror(what);
  exit(1);
}

static void wait_for(uint32_t events) {
  static uint32_t watched = EPOLLIN;
  struct epoll_event event = {.events = events};
  if (events != watched && epoll_ctl(poll_fd, EPOLL_CTL_MOD, link_fd, &event) < 0)
    fail("epoll_ctl");
  watched = events;
  if (epoll_wait(poll_fd, &event, 1, -1) < 0 && errno != EINTR) fail("epoll_wait");
}

static int waits;

static ssize_t take(int wait_first) {
  for (;;) {
    if (waits && wait_first) wait_for(EPOLLIN);
    ssize_t count = recv(link_fd, buffer, sizeof buffer, MSG_TRUNC | MSG_DONTWAIT);
    if (count >= 0) return count;
    if (errno == ECONNRESET) return 0;
    if (errno != EAGAIN) fail("recv");
    wait_first = 1;
  }
}

static void put(const void *octets, size_t count) {
  while (send(link_fd, octets, count, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EPIPE || errno == ECONNRESET) exit(0);
    if (errno != EAGAIN) fail("send");
    if (waits) wait_for(EPOLLOUT);
  }
}

static double now(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

static void report(long count, double began, double cpu) {
  printf("{\"count\":%ld,\"seconds\":%.9f,\"cpu\":%.9f}\n", count, now(CLOCK_MONOTONIC) - began,
         now(CLOCK_PROCESS_CPUTIME_ID) - cpu);
}

// What a server with one value would say.
static void serve(void) {
  static unsigned char response[21] = {READ_RESPONSE};
  static unsigned char value[LARGEST] = {NOTIFICATION, 0x03, 0x00};
  int drains = 0;
  for (;;) {
    ssize_t count = take(!drains);
    if (count <= 0) return;
    drains = 0;
    switch (buffer[0]) {
      case READ: put(response, sizeof response); break;
      case COMMAND: drains = 1; break;
      case WRITE: {
        // How many values of which size.
        uint32_t wanted, size;
        memcpy(&wanted, buffer + 3, 4);
        memcpy(&size, buffer + 7, 4);
        unsigned char done = WRITE_RESPONSE;
        put(&done, 1);
        if (size > LARGEST - 3) exit(2);
        for (uint32_t i = 0; i < wanted; i++) put(value, 3 + size);
      }
    }
  }
}

struct exchange { unsigned char *request, *response; size_t request_length, response_length; };
static struct exchange *exchanges;
static size_t exchange_count;

static unsigned char *octets_of(const char *hex, size_t *length) {
  *length = strlen(hex) / 2;
  unsigned char *octets = malloc(*length + 1);
  for (size_t i = 0; i < *length; i++) {
    unsigned value;
    if (sscanf(hex + 2 * i, "%2x", &value) != 1) exit(2);
    octets[i] = (unsigned char)value;
  }
  return octets;
}

static void load(const char *path) {
  FILE *file = fopen(path, "r");
  if (!file) fail(path);
  static char line[4 * LARGEST];
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = 0;
    if (line[0] == '>') {
      exchanges = realloc(exchanges, (exchange_count + 1) * sizeof *exchanges);
      struct exchange *last = &exchanges[exchange_count++];
      last->request = octets_of(line + 2, &last->request_length);
      last->response = NULL;
    } else if (line[0] == '<' && exchange_count > 0) {
      struct exchange *last = &exchanges[exchange_count - 1];
      last->response = octets_of(line + 2, &last->response_length);
    }
  }
  fclose(file);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const char *what = argv[1];
  link_fd = atoi(argv[2]);
  waits = strcmp(argv[3], "epoll") == 0;
  long count = argc > 4 ? atol(argv[4]) : 0;
  size_t size = argc > 5 ? (size_t)atol(argv[5]) : 0;

  int pair[2] = {-1, -1};
  if (strcmp(what, "thread") == 0) {
    if (socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) < 0) fail("socketpair");
    link_fd = pair[0];
  }
  if (waits) {
    poll_fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN};
    if (epoll_ctl(poll_fd, EPOLL_CTL_ADD, link_fd, &event) < 0) fail("epoll_ctl");
  }

  if (strcmp(what, "serve") == 0) {
    serve();
    return 0;
  }
  if (strcmp(what, "replay-serve") == 0) {
    load(argv[5]);
    for (size_t i = 0; take(1) > 0; i = (i + 1) % exchange_count)
      put(exchanges[i].response, exchanges[i].response_length);
    return 0;
  }

  if (strcmp(what, "replay") == 0) load(argv[5]);
  unsigned char request[] = {READ, 0x03, 0x00};
  double began = now(CLOCK_MONOTONIC), cpu = now(CLOCK_PROCESS_CPUTIME_ID);
  if (strcmp(what, "read") == 0) {
    for (long i = 0; i < count; i++) {
      put(request, sizeof request);
      if (take(1) <= 0) return 1;
    }
  } else if (strcmp(what, "thread") == 0) {
    static unsigned char response[21] = {READ_RESPONSE};
    for (long i = 0; i < count; i++) {
      if (send(pair[0], request, sizeof request, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) fail("send");
      if (recv(pair[1], buffer, sizeof buffer, MSG_TRUNC | MSG_DONTWAIT) < 0) fail("recv");
      if (send(pair[1], response, sizeof response, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) fail("send");
      if (recv(pair[0], buffer, sizeof buffer, MSG_TRUNC | MSG_DONTWAIT) < 0) fail("recv");
    }
  } else if (strcmp(what, "write-command") == 0) {
    static unsigned char command[LARGEST] = {COMMAND, 0x03, 0x00};
    for (long i = 0; i < count; i++) put(command, 3 + size);
    put(request, sizeof request);
    if (take(1) <= 0) return 1;
  } else if (strcmp(what, "notify") == 0) {
    unsigned char wanted[11] = {WRITE, 0x03, 0x00};
    memcpy(wanted + 3, &(uint32_t){(uint32_t)count}, 4);
    memcpy(wanted + 7, &(uint32_t){(uint32_t)size}, 4);
    put(wanted, sizeof wanted);
    long got = 0;
    int drains = 0;
    while (got < count) {
      if (take(!drains) <= 0) return 1;
      drains = 1;
      if (buffer[0] == NOTIFICATION) got++;
    }
  } else if (strcmp(what, "replay") == 0) {
    for (long i = 0; i < count; i++)
      for (size_t j = 0; j < exchange_count; j++) {
        put(exchanges[j].request, exchanges[j].request_length);
        if (take(1) <= 0) return 1;
      }
  } else {
    return 2;
  }
  report(count, began, cpu);
  return 0;
}
