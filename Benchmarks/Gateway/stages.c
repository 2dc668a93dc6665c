// Notes when the program that is started with this library in LD_PRELOAD sends and receives, and what, in
// the file that ATTO_STAGES names, followed by a dot and the process's number. For each call: the time in
// nanoseconds of CLOCK_MONOTONIC, 0 for a call of recv or 1 for one of send, the count of octets, and the
// octets; the numbers are 64-bit.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { CAPACITY = 16 << 20 };

static char *notes;
static atomic_size_t used;
static ssize_t (*real_send)(int, const void *, size_t, int);
static ssize_t (*real_recv)(int, void *, size_t, int);
static int (*real_sendmmsg)(int, struct mmsghdr *, unsigned, int);

__attribute__((constructor)) static void begin(void) {
  *(void **)&real_send = dlsym(RTLD_NEXT, "send");
  *(void **)&real_recv = dlsym(RTLD_NEXT, "recv");
  *(void **)&real_sendmmsg = dlsym(RTLD_NEXT, "sendmmsg");
  const char *path = getenv("ATTO_STAGES");
  char name[4096];
  if (!path || snprintf(name, sizeof name, "%s.%d", path, getpid()) >= (int)sizeof name) return;
  int file = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, CAPACITY) != 0) abort();
  // Shared, so that the notes of a program that is killed are there as well.
  notes = mmap(NULL, CAPACITY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
  if (notes == MAP_FAILED) abort();
  close(file);
}

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void note(uint64_t time, uint64_t is_send, const void *octets, ssize_t count) {
  if (!notes || count <= 0) return;
  uint64_t head[3] = {time, is_send, (uint64_t)count};
  size_t size = sizeof head + (size_t)count;
  size_t start = atomic_fetch_add(&used, size);
  if (start + size > CAPACITY) return;
  memcpy(notes + start, head, sizeof head);
  memcpy(notes + start + sizeof head, octets, (size_t)count);
}

ssize_t send(int fd, const void *octets, size_t count, int flags) {
  uint64_t time = now();
  ssize_t sent = real_send(fd, octets, count, flags);
  note(time, 1, octets, sent);
  return sent;
}

int sendmmsg(int fd, struct mmsghdr *messages, unsigned count, int flags) {
  uint64_t time = now();
  int sent = real_sendmmsg(fd, messages, count, flags);
  for (int index = 0; index < sent; index++) {
    struct iovec *part = messages[index].msg_hdr.msg_iov;
    note(time, 1, part->iov_base, (ssize_t)part->iov_len);
  }
  return sent;
}

ssize_t recv(int fd, void *octets, size_t capacity, int flags) {
  ssize_t count = real_recv(fd, octets, capacity, flags);
  note(now(), 0, octets, count < (ssize_t)capacity ? count : (ssize_t)capacity);
  return count;
}
