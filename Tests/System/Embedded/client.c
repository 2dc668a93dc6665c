/* Plays the peer of a strap (strap.h) with bytes: a client that discovers it, and a device that
   is asked for its name. Every PDU of the strap is compared octet for octet. */

#include "strap.h"

#include <stdio.h>
#include <string.h>

static const int64_t second = 1000000000;

static unsigned passed, failed;

static void check(bool holds, const char *what) {
  if (holds) {
    passed++;
  } else {
    failed++;
    printf("FAILED %s\n", what);
  }
}

/* Reads hex digits in pairs, with spaces between; the count of octets. */
static size_t octets(const char *text, uint8_t *out) {
  size_t count = 0;
  unsigned value;
  int used;
  while (sscanf(text, " %2x%n", &value, &used) == 1) {
    out[count++] = (uint8_t)value;
    text += used;
  }
  return count;
}

static void print(const char *label, const uint8_t *pdu, size_t length) {
  printf("  %s", label);
  for (size_t i = 0; i < length; i++) printf(" %02x", pdu[i]);
  printf("\n");
}

/* What the strap sends next is exactly this; "" for nothing. */
static void expect(strap *strap, const char *what, const char *text) {
  uint8_t expected[STRAP_MTU], found[STRAP_MTU];
  size_t wanted = octets(text, expected);
  size_t length = strap_transmit(strap, found);
  bool equal = length == wanted && memcmp(found, expected, length) == 0;
  check(equal, what);
  if (!equal) {
    print("expected", expected, wanted);
    print("found   ", found, length);
  }
}

static bool deliver(strap *strap, const char *text, int64_t now) {
  uint8_t pdu[STRAP_MTU];
  size_t length = octets(text, pdu);
  return strap_receive(strap, pdu, length, now);
}

/* A PDU to the strap, and what it answers. */
static void exchange(strap *strap, const char *what, const char *pdu, const char *answer) {
  check(deliver(strap, pdu, 0), what);
  expect(strap, what, answer);
  expect(strap, what, "");
}

static void discover(strap *strap) {
  exchange(strap, "Read By Group Type: both services", "10 0100 ffff 0028",
           "11 06 0100 0300 0018 0400 0b00 0d18");
  exchange(strap, "Read By Group Type: the end", "10 0c00 ffff 0028", "01 10 0c00 0a");
  exchange(strap, "Find By Type Value: the heart rate", "06 0100 ffff 0028 0d18",
           "07 0400 0b00");
  exchange(strap, "Read By Type: includes", "08 0400 0b00 0228", "01 08 0400 0a");
  exchange(strap, "Read By Type: characteristics", "08 0400 0b00 0328",
           "09 07 0500 10 0600 372a 0800 02 0900 382a 0a00 08 0b00 392a");
  exchange(strap, "Read By Type: the end", "08 0b00 0b00 0328", "01 08 0b00 0a");
  exchange(strap, "Find Information: descriptors", "04 0700 0700", "05 01 0700 0229");
}

static void access(strap *strap) {
  exchange(strap, "Read: the name", "0a 0300", "0b 5374726170");
  exchange(strap, "Read Blob: the rest of the name", "0c 0300 0200", "0d 726170");
  exchange(strap, "Read: the sensor's location", "0a 0900", "0b 01");
  exchange(strap, "Read Multiple: location and name", "0e 0900 0300", "0f 01 5374726170");
  exchange(strap, "Write: a command of the control point", "12 0b00 01", "13");
  exchange(strap, "Write: what it does not know", "12 0b00 02", "01 12 0b00 80");
  exchange(strap, "Write Command: is not answered", "52 0b00 01", "");
  exchange(strap, "Prepare Write", "16 0b00 0000 01", "17 0b00 0000 01");
  exchange(strap, "Execute Write: cancel", "18 00", "19");
}

static void refuse(strap *strap) {
  exchange(strap, "Read Not Permitted", "0a 0600", "01 0a 0600 02");
  exchange(strap, "Write Not Permitted", "12 0900 00", "01 12 0900 03");
  exchange(strap, "Invalid Handle", "0a 9900", "01 0a 9900 01");
  exchange(strap, "Invalid PDU", "0a 03", "01 0a 0000 04");
  exchange(strap, "Request Not Supported", "3f 00", "01 3f 0000 06");
  exchange(strap, "Unsupported Group Type", "10 0100 ffff 0328", "01 10 0100 10");
  exchange(strap, "an empty PDU", "", "");
  exchange(strap, "a response to nothing", "0b 00", "");
}

static void subscribe(strap *strap) {
  check(!strap_beat(strap, 72), "nobody has asked for the heart rate");
  exchange(strap, "Write: the configuration", "12 0700 0100", "13");
  exchange(strap, "Read: the configuration", "0a 0700", "0b 0100");
  check(strap_beat(strap, 72), "the heart rate is notified");
  expect(strap, "Handle Value Notification", "1b 0600 00 48");
  exchange(strap, "Write: no more", "12 0700 0000", "13");
  check(!strap_beat(strap, 73), "nobody asks for it any more");
  expect(strap, "no notification", "");
}

static void exchange_mtu(strap *strap) {
  exchange(strap, "Exchange MTU", "02 b900", "03 0502");
}

static void serve_name(strap *strap) {
  uint8_t name[32];
  check(strap_peer_name(strap, name, sizeof name) == 0, "the peer's name is not known");
  strap_ask_name(strap, 0);
  expect(strap, "Read By Type: the peer's name", "08 0100 ffff 002a");
  check(deliver(strap, "09 07 0300 50686f6e65", second), "the name arrives");
  expect(strap, "Read By Type: further names", "08 0400 ffff 002a");
  check(deliver(strap, "01 08 0400 0a", second), "there are none");
  size_t length = strap_peer_name(strap, name, sizeof name);
  check(length == 5 && memcmp(name, "Phone", 5) == 0, "the peer's name is Phone");
  check(deliver(strap, "1d 0300 00", second), "an indication");
  expect(strap, "is confirmed", "1e");
}

static void time_out(strap *strap) {
  strap_ask_name(strap, second);
  expect(strap, "Read By Type", "08 0100 ffff 002a");
  check(strap_advance(strap, 30 * second), "29 s are no timeout");
  check(!strap_advance(strap, 31 * second), "30 s are one");
  exchange(strap, "a dead bearer does not answer", "0a 0300", "");
}

static void mismatch(void) {
  strap *strap = strap_create();
  strap_ask_name(strap, 0);
  expect(strap, "Read By Type", "08 0100 ffff 002a");
  check(!deliver(strap, "0b 00", 0), "the answer to another request kills the bearer");
  strap_destroy(strap);
}

int main(void) {
  strap *strap = strap_create();
  if (strap == NULL) {
    printf("FAILED there is no strap\n0 passed, 1 failed\n");
    return 1;
  }
  discover(strap);
  exchange_mtu(strap);
  discover(strap);
  access(strap);
  refuse(strap);
  subscribe(strap);
  serve_name(strap);
  time_out(strap);
  strap_destroy(strap);
  mismatch();
  printf("%u passed, %u failed\n", passed, failed);
  return failed == 0 ? 0 : 1;
}
