// The connection, the tests and the counting, for the clients in C. A client prints "ready" when it can begin. Each
// line of standard input is then a test, `read SECONDS` or `notify SECONDS`, and is answered with one line of JSON.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>

// Two values and a configuration of Fixtures/bench.json.
enum { READ_HANDLE = 0x12, STREAM_HANDLE = 0x18, CONFIGURATION_HANDLE = 0x19, MTU = 247, SIZE = 20 };

static struct {
  double seconds, began, ended;
  long count, lost, disordered;
  uint32_t next;
} test;

static void check(int holds, const char *failure) {
  if (holds) return;
  fprintf(stderr, "%s\n", failure);
  exit(1);
}

static int connected(const char *path) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  strncpy(address.sun_path, path, sizeof address.sun_path - 1);
  int link = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  check(connect(link, (const struct sockaddr *)&address, sizeof address) == 0, "cannot connect to the server");
  return link;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec / 1e9;
}

// Reports the test before, waits for another and returns its first letter. Ends with standard input.
static char next_test(void) {
  char name[8];
  if (test.ended > 0)
    printf("{\"count\":%ld,\"seconds\":%.9f,\"lost\":%ld,\"disordered\":%ld}\n", test.count, test.ended - test.began,
           test.lost, test.disordered);
  else puts("ready");
  memset(&test, 0, sizeof test);
  fflush(stdout);
  if (scanf("%7s %lf", name, &test.seconds) != 2) exit(0);
  if (name[0] == 'r') test.began = now();
  return name[0];
}

// Counts a read, or a value after the first one, which starts the clock. Returns whether there is time for another.
static int counted(size_t size) {
  check(size == SIZE, "no value, or of another size");
  test.ended = now();
  if (test.began > 0) test.count++;
  else test.began = test.ended;
  return test.ended - test.began < test.seconds;
}

static int counted_value(const unsigned char *value, size_t size) {
  uint32_t number = 0;
  if (size == SIZE) memcpy(&number, value, sizeof number);
  test.disordered += number < test.next;
  test.lost += number > test.next ? number - test.next : 0;
  if (number >= test.next) test.next = number + 1;
  return counted(size);
}
