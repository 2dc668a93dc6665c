// Many links to one server, few of which are active.
//
//     crowd serve PATH                          the floor: a server with one value
//     crowd load PATH CLIENTS ACTIVE READS      clients, each of which reads once
//
// The clients print "connected" and wait for a line. Then ACTIVE of them, spread over all, read until they have READS
// values together. Each has one request in flight. That prints one line of JSON, and the end of standard input ends
// the links.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 1024, AT_ONCE = 64 };

static unsigned char buffer[LARGEST];

static int must(int result, const char *what) {
  if (result >= 0) return result;
  perror(what);
  exit(1);
}

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void watch(int poll, int descriptor, uint64_t data) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = data};
  must(epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event), "epoll_ctl");
}

static void serve(const struct sockaddr_un *address) {
  static const unsigned char response[21] = {0x0b};
  int listener = must(socket(AF_UNIX, SOCK_SEQPACKET, 0), "socket");
  must(bind(listener, (const struct sockaddr *)address, sizeof *address), "bind");
  must(listen(listener, 128), "listen");
  int poll = must(epoll_create1(0), "epoll_create1");
  watch(poll, listener, (uint64_t)listener);
  struct epoll_event events[AT_ONCE];
  for (;;) {
    int count = must(epoll_wait(poll, events, AT_ONCE, -1), "epoll_wait");
    for (int i = 0; i < count; i++) {
      int descriptor = (int)events[i].data.u64;
      if (descriptor == listener) {
        int link = must(accept(listener, NULL, NULL), "accept");
        watch(poll, link, (uint64_t)link);
      } else if (recv(descriptor, buffer, sizeof buffer, 0) > 0) {
        must((int)send(descriptor, response, sizeof response, MSG_NOSIGNAL), "send");
      } else {
        close(descriptor);
      }
    }
  }
}

static void ask(int descriptor) {
  static const unsigned char request[3] = {0x0a, 0x03, 0x00};
  must((int)send(descriptor, request, sizeof request, MSG_NOSIGNAL), "send");
}

static void receive(int descriptor) {
  if (must((int)recv(descriptor, buffer, sizeof buffer, 0), "recv") > 0 && buffer[0] == 0x0b) return;
  fprintf(stderr, "crowd: no value came\n");
  exit(1);
}

static int compare(const void *one, const void *other) {
  int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
  return (a > b) - (a < b);
}

static void load(const struct sockaddr_un *address, int clients, int active, int reads) {
  int *links = calloc((size_t)clients, sizeof *links);
  int64_t *asked = calloc((size_t)active, sizeof *asked), *taken = calloc((size_t)reads, sizeof *taken);
  int poll = must(epoll_create1(0), "epoll_create1");
  for (int i = 0; i < clients; i++) {
    links[i] = must(socket(AF_UNIX, SOCK_SEQPACKET, 0), "socket");
    must(connect(links[i], (const struct sockaddr *)address, sizeof *address), "connect");
    ask(links[i]);
    receive(links[i]);
  }
  printf("connected\n");
  fflush(stdout);
  if (getchar() == EOF) return;
  int begun = 0, done = 0;
  int64_t began = now();
  for (; begun < active && begun < reads; begun++) {
    int link = links[(int64_t)begun * clients / active];
    watch(poll, link, (uint64_t)link << 32 | (uint32_t)begun);
    asked[begun] = now();
    ask(link);
  }
  struct epoll_event events[AT_ONCE];
  while (done < reads) {
    int count = must(epoll_wait(poll, events, AT_ONCE, -1), "epoll_wait");
    for (int i = 0; i < count; i++) {
      int link = (int)(events[i].data.u64 >> 32), place = (int)(uint32_t)events[i].data.u64;
      receive(link);
      int64_t moment = now();
      taken[done++] = moment - asked[place];
      if (begun == reads) continue;
      begun++;
      asked[place] = moment;
      ask(link);
    }
  }
  double seconds = (double)(now() - began) / 1e9;
  qsort(taken, (size_t)reads, sizeof *taken, compare);
  printf("{\"rate\":%.1f,\"p50\":%.3f,\"p99\":%.3f}\n", reads / seconds, (double)taken[reads / 2] / 1e3,
         (double)taken[(int64_t)reads * 99 / 100] / 1e3);
  fflush(stdout);
  while (getchar() != EOF) {}
}

int main(int count, char **words) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  int clients = count == 6 ? atoi(words[3]) : 0, active = count == 6 ? atoi(words[4]) : 0;
  int reads = count == 6 ? atoi(words[5]) : 0;
  if (count >= 3 && strlen(words[2]) < sizeof address.sun_path) {
    strcpy(address.sun_path, words[2]);
    if (count == 3 && strcmp(words[1], "serve") == 0) serve(&address);
    if (strcmp(words[1], "load") == 0 && active > 0 && active <= clients && reads > 0) {
      load(&address, clients, active, reads);
      return 0;
    }
  }
  fprintf(stderr, "usage: crowd serve PATH, or crowd load PATH CLIENTS ACTIVE READS\n");
  return 2;
}
