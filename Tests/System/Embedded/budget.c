/* What the library costs: `budget memory` prints the octets of idle connections, `budget read N` and
   `budget notify N` answer or send N PDUs, for a count of instructions. */
#include <atto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const atto_row strap[] = {
    {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x180D)},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A37), .properties = ATTO_NOTIFY},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A38), .properties = ATTO_READ,
     .value = "\x01", .length = 1}};

static _Alignas(16) char memory[1 << 18];
static atto *device;

static void drain(atto_bearer *bearer) {
  const void *pdu;
  atto_event event;
  while (atto_next_event(bearer, &event) == 1) {}
  while (atto_bearer_peek(bearer, &pdu) > 0) atto_bearer_sent(bearer);
}

static void feed(atto_bearer *bearer, const char *pdu, size_t length) {
  if (atto_bearer_feed(bearer, pdu, length, 0) != ATTO_OK) exit(1);
  drain(bearer);
}

static size_t used(void) {
  size_t octets = 0;
  atto_memory(device, &octets, NULL);
  return octets;
}

/* The octets that each of eight more connections takes, after it has done this much. */
static size_t connection(int stage) {
  size_t before = used();
  atto_bearer *bearers[8];
  for (int i = 0; i < 8; i++) {
    if (atto_bearer_create(device, 0, 0, &bearers[i]) != ATTO_OK) exit(1);
    if (stage > 0) {
      feed(bearers[i], "\x02\x05\x02", 3);     /* the exchange of an ATT_MTU of 517 */
      feed(bearers[i], "\x12\x04\x00\x01\x00", 5); /* the subscription */
      for (int n = 0; n < 3; n++) feed(bearers[i], "\x0a\x06\x00", 3);
      if (atto_notify(bearers[i], 3, "\x00\x48", 2) != ATTO_OK) exit(1);
      drain(bearers[i]);
    }
    if (stage > 1) atto_bearer_trim(bearers[i]);
  }
  size_t each = (used() - before) / 8;
  for (int i = 0; i < 8; i++) atto_bearer_destroy(bearers[i]);
  return each;
}

int main(int count, char **words) {
  int number = count > 2 ? atoi(words[2]) : 0;
  size_t start;
  if (count < 2 || atto_create_in(NULL, memory, sizeof memory, &device) != ATTO_OK) return 1;
  start = used();
  if (atto_add_services(device, strap, 3, NULL, 0) != ATTO_OK) return 1;
  if (strcmp(words[1], "memory") == 0) {
    printf("device %zu\ndatabase %zu\n", start, used() - start);
    connection(1);
    printf("new %zu\nused %zu\nidle %zu\n", connection(0), connection(1), connection(2));
    return 0;
  }
  atto_bearer *bearer;
  if (atto_bearer_create(device, 0, 0, &bearer) != ATTO_OK) return 1;
  feed(bearer, "\x12\x04\x00\x01\x00", 5);
  for (int i = 0; i < number; i++) {
    if (strcmp(words[1], "read") == 0) {
      feed(bearer, "\x0a\x06\x00", 3);
    } else {
      if (atto_notify(bearer, 3, "\x00\x48", 2) != ATTO_OK) return 1;
      drain(bearer);
    }
  }
  atto_destroy(device);
  return 0;
}
