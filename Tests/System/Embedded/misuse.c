/* Calls of atto.h with wrong arguments, in wrong states, in too little memory, and with random input.
   Each must end with a result, and nothing outside of a device's memory may change. */
#include <atto.h>
#include <atto_linux.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned passed, failed;

static void check(bool holds, const char *what) {
  if (holds) passed++; else failed++;
  if (!holds) printf("FAILED %s\n", what);
}

#define EXPECT(result, call) check((call) == (result), #call)

static const atto_uuid heart_rate = ATTO_UUID16(0x180D), measurement = ATTO_UUID16(0x2A37);

static const atto_row strap[] = {
    {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x180D)},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A37),
     .properties = ATTO_NOTIFY | ATTO_INDICATE},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A38),
     .properties = ATTO_READ | ATTO_WRITE, .value = "\x01", .length = 1},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A39),
     .properties = ATTO_READ | ATTO_WRITE | ATTO_WRITE_WITHOUT_RESPONSE,
     .source = ATTO_VALUE_APPLICATION, .max_length = 100}};

static void arguments(void) {
  atto *device = NULL;
  atto_bearer *bearer = NULL;
  atto_event event;
  atto_config config;
  uint8_t octets[600] = {0};
  size_t length;
  int64_t time;
  EXPECT(ATTO_ERR_ARGUMENT, atto_create(NULL, NULL));
  memset(&config, 0, sizeof config);
  EXPECT(ATTO_ERR_ARGUMENT, atto_create(&config, &device));
  for (unsigned field = 0; field < sizeof config / 4; field++) {
    atto_config_init(&config);
    memset((char *)&config + 4 * field, 0xFF, 4);
    int result = atto_create(&config, &device);
    atto_destroy(device);
    check(result == (field == 0 ? ATTO_ERR_VERSION : ATTO_ERR_ARGUMENT) ||
          (field >= 10 && result == ATTO_OK), "a field of atto_config that is out of range");
  }
  EXPECT(ATTO_ERR_ARGUMENT, atto_create_in(NULL, NULL, 100000, &device));
  static _Alignas(16) char block[16384];
  EXPECT(ATTO_ERR_ARGUMENT, atto_create_in(NULL, block + 1, 10000, &device));
  EXPECT(ATTO_ERR_MEMORY, atto_create_in(NULL, block, 4095, &device));
  EXPECT(ATTO_OK, atto_create_in(NULL, block, ATTO_MINIMUM, &device));
  EXPECT(ATTO_OK, atto_add_generic_services(device, "A name of a usual length", 0, 0));
  EXPECT(ATTO_OK, atto_memory(device, NULL, &length));
  check(length <= ATTO_MINIMUM, "ATTO_MINIMUM is enough for the generic services");
  atto_destroy(device);
  /* Pointers of 4 octets need less. */
  EXPECT(ATTO_OK, atto_create_in(NULL, block, 4096, &device));
  EXPECT(sizeof(void *) == 8 ? ATTO_ERR_MEMORY : ATTO_OK,
         atto_add_generic_services(device, "A name of a usual length", 0, 0));
  atto_destroy(device);
  EXPECT(ATTO_OK, atto_create(NULL, &device));
  EXPECT(ATTO_ERR_STATE, atto_memory(device, &length, &length));
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_services(device, NULL, 1, NULL, 0));
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_services(NULL, strap, 3, NULL, 0));
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_services(device, strap + 1, 2, NULL, 0));
  atto_row bad = strap[1];
  bad.kind = 5;
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_row(device, &bad));
  bad = strap[1];
  EXPECT(ATTO_ERR_STATE, atto_add_row(device, &bad));
  bad.length = 5;
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_row(device, &bad));
  EXPECT(ATTO_ERR_STATE, atto_end_service(device, NULL, 0));
  EXPECT(ATTO_OK, atto_begin_service(device, heart_rate, ATTO_PRIMARY_SERVICE));
  EXPECT(ATTO_ERR_STATE, atto_add_descriptor(device, measurement, "x", 1));
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_characteristic(device, measurement, 256, 0, "x", 1));
  EXPECT(ATTO_ERR_ARGUMENT, atto_add_characteristic(device, measurement, 2, 0, octets, 513));
  EXPECT(ATTO_OK, atto_add_characteristic(device, measurement, 2, 0, "x", 1));
  EXPECT(ATTO_OK, atto_add_descriptor(device, (atto_uuid)ATTO_UUID16(0x2901), "name", 4));
  uint16_t handle = 0;
  EXPECT(ATTO_OK, atto_end_service(device, &handle, 0));
  check(handle == 1, "the first service has the handle 0x0001");
  EXPECT(3, atto_find_handle(device, measurement, 0));
  EXPECT(0, atto_find_handle(device, measurement, 3));
  bad = (atto_row){.kind = ATTO_INCLUDE, .uuid = ATTO_UUID16(0x1234)};
  EXPECT(ATTO_OK, atto_begin_service(device, heart_rate, ATTO_SECONDARY_SERVICE));
  EXPECT(ATTO_ERR_NOT_FOUND, atto_add_row(device, &bad));
  bad.value_handle = 0x77;
  EXPECT(ATTO_OK, atto_add_row(device, &bad));
  EXPECT(ATTO_ERR_NOT_FOUND, atto_end_service(device, &handle, 0));
  EXPECT(ATTO_ERR_NOT_FOUND, atto_remove_service(device, 2, 0));
  EXPECT(ATTO_ERR_NOT_FOUND, atto_set_value(device, 1, "", 0));
  EXPECT(ATTO_ERR_LENGTH, atto_set_value(device, 3, octets, 513));
  EXPECT(ATTO_ERR_ARGUMENT, atto_set_value(device, 3, NULL, 1));
  EXPECT(ATTO_ERR_LENGTH, atto_get_value(device, 3, NULL, 0, &length));
  check(length == 1, "the length is told without room");
  EXPECT(ATTO_ERR_ARGUMENT, atto_bearer_create(device, 0x100, 0, &bearer));
  EXPECT(ATTO_ERR_ARGUMENT, atto_bearer_create(device, 0, 22, &bearer));
  EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
  EXPECT(ATTO_ERR_ARGUMENT, atto_bearer_feed(bearer, NULL, 1, 0));
  EXPECT(ATTO_ERR_ARGUMENT, atto_bearer_feed(NULL, octets, 1, 0));
  EXPECT(ATTO_OK, atto_bearer_feed(bearer, NULL, 0, 0));
  EXPECT(ATTO_ERR_ARGUMENT, atto_next_event(bearer, NULL));
  EXPECT(0, atto_next_event(bearer, &event));
  EXPECT(0, atto_deadline(bearer, &time));
  EXPECT(ATTO_ERR_STATE, atto_bearer_sent(bearer));
  EXPECT(ATTO_ERR_STATE, atto_confirm(bearer));
  EXPECT(ATTO_ERR_NOT_FOUND, atto_answer_accept(bearer, 1, 0));
  EXPECT(ATTO_ERR_LENGTH, atto_answer_value(bearer, 1, octets, 513, 0));
  EXPECT(ATTO_ERR_ARGUMENT, atto_answer_error(bearer, 1, 0, 0));
  EXPECT(ATTO_ERR_NOT_SUBSCRIBED, atto_notify(bearer, 3, "x", 1));
  EXPECT(ATTO_ERR_NOT_SUBSCRIBED, atto_indicate(bearer, 3, "x", 1, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_set_security(bearer, 0, 0));
  EXPECT(ATTO_ERR_ARGUMENT, atto_set_security(bearer, 2, 6));
  EXPECT(ATTO_ERR_ARGUMENT, atto_restore_state(bearer, "x", 1, 0));
  uint32_t counter;
  EXPECT(ATTO_ERR_STATE, atto_sign_counter(bearer, &counter));
  EXPECT(ATTO_ERR_ARGUMENT, atto_exchange_mtu(bearer, 22, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_exchange_mtu(bearer, 518, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_read(bearer, 0, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_discover_characteristics(bearer, 2, 1, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_read_multiple(bearer, NULL, 2, 0, NULL));
  uint16_t one = 3;
  EXPECT(ATTO_ERR_ARGUMENT, atto_read_multiple(bearer, &one, 1, 0, NULL));
  EXPECT(ATTO_ERR_LENGTH, atto_write(bearer, 3, octets, 21, 0, NULL));
  EXPECT(ATTO_ERR_LENGTH, atto_write_long(bearer, 3, 500, octets, 13, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_reliable_writes(bearer, NULL, 0, 0, NULL));
  EXPECT(ATTO_ERR_ARGUMENT, atto_subscribe(bearer, 3, 0, 4, 0, NULL));
  EXPECT(ATTO_ERR_LENGTH, atto_write_without_response(bearer, 3, octets, 21));
  EXPECT(ATTO_ERR_LENGTH, atto_send_raw(bearer, octets, 24));
  EXPECT(ATTO_OK, atto_read(bearer, 3, 0, NULL));
  EXPECT(ATTO_ERR_LENGTH, atto_bearer_output(bearer, octets, 2));
  EXPECT(3, atto_bearer_output(bearer, octets, sizeof octets));
  for (int i = 0; i < 16; i++) EXPECT(ATTO_OK, atto_read(bearer, 3, 0, NULL));
  EXPECT(ATTO_ERR_LIMIT, atto_read(bearer, 3, 0, NULL));
  EXPECT(ATTO_OK, atto_advance(bearer, 29999999999));
  EXPECT(ATTO_ERR_TIMEOUT, atto_advance(bearer, 30000000000));
  for (int i = 0; i < 17; i++) EXPECT(1, atto_next_event(bearer, &event));
  check(event.type == ATTO_EVENT_COMPLETE && event.result == ATTO_ERR_TIMEOUT, "they time out");
  EXPECT(ATTO_ERR_FAILED, atto_read(bearer, 3, 0, NULL));
  EXPECT(ATTO_ERR_FAILED, atto_bearer_feed(bearer, octets, 3, 0));
  EXPECT(ATTO_ERR_FAILED, atto_notify(bearer, 3, "x", 1));
  EXPECT(ATTO_OK, atto_bearer_link_ended(bearer));
  for (int i = 1; i < 16; i++) EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
  EXPECT(ATTO_ERR_LIMIT, atto_bearer_create(device, 0, 0, &bearer));
  atto_destroy(device);
  atto_destroy(NULL);
  atto_bearer_destroy(NULL);
  check(atto_linux_connect("unix:", 1) < 0 && errno == EINVAL, "an empty path");
  check(atto_linux_connect("le:00:11:22:33:44", 1) < 0 && errno == EINVAL, "a short address");
  check(atto_linux_connect(NULL, 1) < 0 && errno == EINVAL, "no endpoint");
  check(atto_linux_listen("le:@x", 1) < 0 && errno == EINVAL, "no adapter");
}

/* A peer that sends and does not read, and an application that does not take events. */
static void congestion(void) {
  atto *device;
  atto_bearer *bearer;
  atto_event event;
  static _Alignas(16) char block[65536];
  EXPECT(ATTO_OK, atto_create_in(NULL, block, sizeof block, &device));
  EXPECT(ATTO_OK, atto_add_services(device, strap, 4, NULL, 0));
  EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
  int result = 0;
  for (int i = 0; i < 10000 && result == 0; i++)
    result = atto_bearer_feed(bearer, "\x0a\x06\x00", 3, 0);
  check(result == ATTO_ERR_AGAIN, "a peer that reads no response is not read");
  const void *pdu;
  while (atto_bearer_peek(bearer, &pdu) > 0) atto_bearer_sent(bearer);
  result = 0;
  for (int i = 0; i < 10000 && result == 0; i++)
    result = atto_bearer_feed(bearer, "\x1b\x06\x00zzzz", 7, 0);
  check(result == ATTO_ERR_AGAIN, "values that nobody takes stop the input");
  size_t used, most;
  EXPECT(ATTO_OK, atto_memory(device, &used, &most));
  check(most < 40000, "both are within limits");
  while (atto_next_event(bearer, &event) == 1)
    check(event.length == 4 && memcmp(event.data, "zzzz", 4) == 0, "a value");
  EXPECT(ATTO_OK, atto_bearer_feed(bearer, "\x12\x08\x00\x01", 4, 0));
  for (int i = 0; i < 16; i++) EXPECT(ATTO_OK, atto_bearer_feed(bearer, "\x0a\x06\x00", 3, 0));
  EXPECT(ATTO_ERR_PROTOCOL, atto_bearer_feed(bearer, "\x0a\x06\x00", 3, 0));
  atto_bearer_destroy(bearer);
  atto_destroy(device);
}

/* A value that the application authorizes: it is asked about a request, and not about a command. */
static void authorization(void) {
  static const atto_row rows[] = {
      {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x180D)},
      {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A39),
       .properties = ATTO_READ | ATTO_WRITE | ATTO_WRITE_WITHOUT_RESPONSE,
       .permissions = ATTO_MAY_READ | ATTO_MAY_WRITE | ATTO_WRITE_AUTHORIZED, .value = "\x01",
       .length = 1, .max_length = 1}};
  atto *device;
  atto_bearer *bearer;
  atto_event event;
  uint8_t octets[23];
  EXPECT(ATTO_OK, atto_create(NULL, &device));
  EXPECT(ATTO_OK, atto_add_services(device, rows, 2, NULL, 0));
  EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
  EXPECT(ATTO_OK, atto_bearer_feed(bearer, "\x52\x03\x00\x02", 4, 0));
  EXPECT(0, atto_next_event(bearer, &event));
  EXPECT(ATTO_OK, atto_bearer_feed(bearer, "\x12\x03\x00\x03", 4, 0));
  EXPECT(1, atto_next_event(bearer, &event));
  check(event.type == ATTO_EVENT_AUTHORIZE_WRITE && event.handle == 3 && event.id != 0,
        "the application is asked about a request");
  EXPECT(0, atto_bearer_output(bearer, octets, sizeof octets));
  EXPECT(ATTO_OK, atto_answer_accept(bearer, event.id, 0));
  EXPECT(1, atto_bearer_output(bearer, octets, sizeof octets));
  check(octets[0] == 0x13, "it is written");
  EXPECT(ATTO_OK, atto_bearer_feed(bearer, "\x0a\x03\x00", 3, 0));
  EXPECT(2, atto_bearer_output(bearer, octets, sizeof octets));
  check(octets[1] == 3, "a command has not been written");
  atto_destroy(device);
}

/* Connections by atto_linux_next: to a peer that leaves, one that breaks the protocol and stays, and
   one that sends without pause what causes no events. */
static void connections(void) {
  enum { LEAVES, BREAKS, FLOODS, KINDS };
  const int errors[KINDS] = {0, EPROTO, 0};
  atto_event event;
  for (int kind = LEAVES; kind < KINDS; kind++) {
    atto *device;
    atto_bearer *bearer;
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "a pair of sockets");
    EXPECT(ATTO_OK, atto_create(NULL, &device));
    EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
    EXPECT(0, atto_linux_next(bearer, ends[0], INT64_MIN, &event));
    check(event.type == 0, "no event");
    int64_t until = atto_linux_now() + 3000000;
    EXPECT(0, atto_linux_next(bearer, ends[0], until, &event));
    check(atto_linux_now() >= until, "it waits until its time");
    check(write(ends[1], "\x1b\x06\x00z", 4) == 4, "a notification is sent");
    EXPECT(1, atto_linux_next(bearer, ends[0], INT64_MAX, &event));
    check(event.type == ATTO_EVENT_NOTIFICATION && event.length == 1, "a notification");
    if (kind == FLOODS) {
      int sent = 0;
      while (send(ends[1], "\x52\x01\x00", 3, MSG_DONTWAIT) == 3) sent++;
      EXPECT(0, atto_linux_next(bearer, ends[0], 0, &event));
      int left = 0;
      while (recv(ends[0], &event, sizeof event, MSG_DONTWAIT) == 3) left++;
      check(left == sent - 1, "a flood does not hold it longer than until its time");
    }
    EXPECT(ATTO_OK, atto_read(bearer, 3, atto_linux_now(), NULL));
    EXPECT(0, atto_linux_next(bearer, ends[0], 0, &event));
    check(read(ends[1], &event, sizeof event) == 3, "a request is sent");
    if (kind == BREAKS) check(write(ends[1], "\x13", 1) == 1, "a wrong response is sent");
    else close(ends[1]);
    EXPECT(1, atto_linux_next(bearer, ends[0], INT64_MAX, &event));
    check(event.type == ATTO_EVENT_COMPLETE && event.result < 0, "the end of the procedure");
    for (int i = 0; i < 2; i++) {
      errno = EAGAIN;
      EXPECT(-1, atto_linux_next(bearer, ends[0], INT64_MAX, &event));
      check(errno == errors[kind] && event.type == 0, "the end, and its reason");
      EXPECT(-1, atto_linux_drive(bearer, ends[0], -1));
      check(errno == errors[kind], "the same reason");
    }
    if (kind == BREAKS) close(ends[1]);
    close(ends[0]);
    atto_destroy(device);
  }
  check(atto_linux_next(NULL, 0, 0, &event) < 0 && errno == EINVAL, "no bearer");
  check(atto_linux_next(NULL, 0, 0, NULL) < 0 && errno == EINVAL, "no event");
}

static uint64_t state = 1;

static uint32_t random_number(void) { /* xorshift64 */
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32);
}

/* Calls everything in random order with random input. Returns whether memory was short. */
static bool wander(atto *device, int steps) {
  atto_bearer *bearers[4] = {0};
  uint8_t octets[600];
  int64_t now = 0;
  int worst = 0;
  for (int step = 0; step < steps; step++) {
    atto_bearer **one = &bearers[random_number() % 4];
    if (*one == NULL) {
      if (atto_bearer_create(device, random_number() % 16, 0, one) == ATTO_ERR_MEMORY) return true;
      continue;
    }
    for (unsigned i = 0; i < sizeof octets; i++) octets[i] = (uint8_t)random_number();
    static const uint8_t opcodes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0x0b,
                                      0x0c, 0x0e, 0x10, 0x11, 0x12, 0x13, 0x16, 0x18, 0x1b, 0x1d,
                                      0x1e, 0x20, 0x23, 0x52, 0xd2};
    octets[0] = opcodes[random_number() % sizeof opcodes];
    if (random_number() % 4 > 0) octets[1] = (uint8_t)(1 + random_number() % 12), octets[2] = 0;
    size_t length = random_number() % (random_number() % 8 == 0 ? sizeof octets : 24);
    uint16_t handle = (uint16_t)(random_number() % 12);
    atto_event event;
    int result = 0;
    switch (random_number() % 20) {
      case 0: result = atto_write_long(*one, handle, 0, octets, length, now, NULL); break;
      case 1: result = atto_discover_all(*one, now, NULL); break;
      case 2: result = atto_read_long(*one, handle, 0, now, NULL); break;
      case 3: result = atto_notify(*one, 3, octets, length); break;
      case 4: result = atto_indicate(*one, 3, octets, length, now, NULL); break;
      case 5: result = atto_set_value(device, handle, octets, length); break;
      case 6: result = atto_subscribe(*one, handle, 0, 1, now, NULL); break;
      case 7: result = atto_advance(*one, now += random_number() % 2000000000); break;
      case 8: result = atto_cancel(*one, random_number() % 64, now); break;
      case 9: result = atto_restore_state(*one, octets, length, now); break;
      case 10: result = atto_bearer_trim(*one); break;
      case 11: result = atto_security_raised(*one, handle & 1, now); break;
      case 12:
        if (random_number() % 8 > 0) break;
        atto_bearer_destroy(*one);
        *one = NULL;
        continue;
      case 13:
        result = atto_add_services(device, strap, 1 + random_number() % 4, NULL, now);
        if (result == ATTO_OK && random_number() % 4 > 0)
          result = atto_remove_service(device, (uint16_t)(random_number() % 64), now);
        break;
      case 14: result = atto_set_security(*one, 1 + (int)(random_number() % 4), 0); break;
      default: result = atto_bearer_feed(*one, octets, length, now);
    }
    if (result < worst) worst = result;
    if (result == ATTO_ERR_MEMORY) return true;
    while ((result = atto_next_event(*one, &event)) == 1) {
      if (event.type == ATTO_EVENT_READ)
        result = atto_answer_value(*one, event.id, octets, length % 513, now);
      else if (event.type <= ATTO_EVENT_AUTHORIZE_WRITE && event.id != 0)
        result = atto_answer_accept(*one, event.id, now);
      if (result == ATTO_ERR_MEMORY) return true;
    }
    if (result == ATTO_ERR_MEMORY) return true;
    const void *pdu;
    for (int n = 0; n < 3 && atto_bearer_peek(*one, &pdu) > 0; n++) atto_bearer_sent(*one);
  }
  return false;
}

/* Random calls in blocks from too small to large enough, with octets around them that must stay. */
static void short_memory(int rounds) {
  enum { LARGEST = 1 << 18, EDGE = 64 };
  static _Alignas(16) uint8_t memory[LARGEST + 2 * EDGE];
  unsigned lost = 0, kept = 0;
  for (int round = 0; round < rounds; round++) {
    state = (uint64_t)round + 1;
    size_t size = 4096 + (size_t)round * 4099 % (round % 2 ? 16384 : LARGEST - 4096);
    memset(memory, 0x5A, sizeof memory);
    atto *device;
    int result = atto_create_in(NULL, memory + EDGE, size, &device);
    if (result == ATTO_OK) {
      result = atto_add_generic_services(device, "Strap", 0, 0);
      bool is_short = result == ATTO_ERR_MEMORY || wander(device, 400);
      if (is_short) {
        lost++;
        check(atto_add_services(device, strap, 4, NULL, 0) == ATTO_ERR_MEMORY, "a lost device");
      } else {
        kept++;
      }
      atto_destroy(device);
    }
    bool is_intact = true;
    for (size_t i = 0; i < EDGE; i++)
      is_intact &= memory[i] == 0x5A && memory[EDGE + size + i] == 0x5A;
    check(is_intact, "nothing around the block has changed");
  }
  check(lost > 0 && kept > 0, "some blocks are too small and some are not");
}

int main(int count, char **words) {
  int rounds = count > 1 ? atoi(words[1]) : 100;
  arguments();
  congestion();
  authorization();
  connections();
  short_memory(rounds);
  for (int round = 0; round < rounds / 4; round++) {
    atto *device;
    if (atto_create(NULL, &device) < 0) return 1;
    state = (uint64_t)round + 1000;
    atto_add_generic_services(device, "Strap", 0, 0);
    check(!wander(device, 400), "random calls with malloc");
    atto_destroy(device);
  }
  printf("%u passed, %u failed\n", passed, failed);
  return failed > 0;
}
