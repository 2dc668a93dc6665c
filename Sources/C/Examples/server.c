/* A heart rate strap: notifies each second, and takes commands that reset the energy expended.
 *
 *     cc server.c $(pkg-config --cflags --libs atto) -o server && ./server unix:/tmp/strap */
#include <atto_linux.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SERVICE, MEASUREMENT, LOCATION, CONTROL_POINT, ROWS };

static const atto_row strap[ROWS] = {
    {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x180D)},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A37), .properties = ATTO_NOTIFY},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A38), .properties = ATTO_READ,
     .source = ATTO_VALUE_CONSTANT, .value = "\x01", .length = 1},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A39), .properties = ATTO_WRITE,
     .source = ATTO_VALUE_APPLICATION, .max_length = 1},
};

static _Alignas(16) char memory[65536]; /* all that the library uses */

static void serve(atto *device, const uint16_t *handles, int fd) {
  atto_bearer *bearer;
  if (atto_bearer_create(device, 0, 0, &bearer) < 0) return;
  int64_t beat = atto_linux_now();
  int energy = 0;
  atto_event event;
  while (atto_linux_next(bearer, fd, beat, &event) >= 0) {
    if (event.type == ATTO_EVENT_WRITE && event.length == 1 && event.data[0] == 1) {
      energy = 0;
      atto_answer_accept(bearer, event.id, atto_linux_now());
    } else if (event.type == ATTO_EVENT_WRITE) {
      atto_answer_error(bearer, event.id, 0x80, atto_linux_now());
    }
    if (atto_linux_now() < beat) continue;
    uint8_t value[] = {0x08, 72, (uint8_t)energy, (uint8_t)(energy >> 8)};
    atto_notify(bearer, handles[MEASUREMENT], value, sizeof value);
    energy++;
    beat += 1000000000;
  }
  atto_bearer_destroy(bearer);
}

int main(int count, char **words) {
  int listener = atto_linux_listen(count > 1 ? words[1] : "", ATTO_LOW);
  if (listener < 0) return perror("server"), 3;
  atto *device;
  uint16_t handles[ROWS];
  if (atto_create_in(NULL, memory, sizeof memory, &device) < 0 ||
      atto_add_generic_services(device, "Strap", 0x0340, 0) < 0 ||
      atto_add_services(device, strap, ROWS, handles, 0) < 0)
    return 1;
  int clients = count > 2 ? atoi(words[2]) : -1;
  for (int fd; clients != 0 && (fd = atto_linux_accept(listener)) >= 0; clients--) {
    serve(device, handles, fd);
    close(fd);
  }
  atto_destroy(device);
  return 0;
}
