/* The structures that grow, in a program that may be older or newer than the library.

    sizes works    every call works, and writes nothing behind the caller's structures
    sizes newer    the program is newer than the library, and every call says so

   With -DPLAIN it calls the functions without `_sized`, as bindings and programs of version 0.9 do. */
#include <atto.h>
#include <atto_linux.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#ifdef PLAIN
#undef atto_config_init
#undef atto_create
#undef atto_create_in
#undef atto_add_services
#undef atto_add_row
#undef atto_next_event
#undef atto_linux_next
#endif

static unsigned passed, failed;

static void check(bool holds, const char *what) {
  if (holds) passed++; else failed++;
  if (!holds) printf("FAILED %s\n", what);
}

#define EXPECT(result, call) check((call) == (result), #call)

/* Octets behind a structure, which must stay. */
#define EDGE 32
static struct { atto_config it; uint8_t edge[EDGE]; } config;
static struct { atto_event it; uint8_t edge[EDGE]; } event;

static bool is_intact(const uint8_t *edge) {
  for (int i = 0; i < EDGE; i++)
    if (edge[i] != 0x5A) return false;
  return true;
}

/* Two services, so that the place of each row counts. */
static const atto_row table[] = {
    {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x180F)},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A19), .properties = ATTO_READ,
     .value = "\x64", .length = 1},
    {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x180D)},
    {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A39),
     .properties = ATTO_WRITE_WITHOUT_RESPONSE, .source = ATTO_VALUE_APPLICATION}};
static _Alignas(16) char block[16384];

static bool is_written(void) {
  return event.it.type == ATTO_EVENT_WRITE && event.it.handle == 6 && event.it.length == 2 &&
         memcmp(event.it.data, "ok", 2) == 0 && is_intact(event.edge);
}

static void works(void) {
  atto *device;
  atto_bearer *bearer;
  uint16_t handles[4];
  EXPECT(ATTO_OK, atto_config_init(&config.it));
  check(is_intact(config.edge), "nothing behind atto_config changes");
  check(config.it.mtu == 517 && config.it.transaction_timeout == 30000000000, "the defaults");
  config.it.max_bearers = 1;
  EXPECT(ATTO_OK, atto_create_in(&config.it, block, sizeof block, &device));
  atto_destroy(device);
  EXPECT(ATTO_OK, atto_create(&config.it, &device));
  EXPECT(ATTO_OK, atto_add_services(device, table, 4, handles, 0));
  check(handles[1] == 3 && handles[2] == 4 && handles[3] == 6, "the handles of all rows");
  EXPECT(ATTO_OK, atto_begin_service(device, table[0].uuid, ATTO_PRIMARY_SERVICE));
  EXPECT(ATTO_OK, atto_add_row(device, &table[1]));
  /* Commas in a literal are no commas of a macro. */
  EXPECT(ATTO_OK, atto_add_row(device, &(atto_row){.kind = ATTO_DESCRIPTOR, .uuid = {0, 1}}));
  EXPECT(ATTO_OK, atto_end_service(device, handles, 0));
  EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
  EXPECT(ATTO_ERR_LIMIT, atto_bearer_create(device, 0, 0, &(atto_bearer *){NULL}));
  EXPECT(ATTO_OK, atto_bearer_feed(bearer, "\x52\x06\x00ok", 5, 0));
  EXPECT(1, atto_next_event(bearer, &event.it));
  check(is_written(), "an event, and nothing behind it");
  memset(&event, 0x5A, sizeof event);
  int ends[2];
  check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "a pair of sockets");
  check(write(ends[1], "\x52\x06\x00ok", 5) == 5, "a command is sent");
  int64_t until = atto_linux_now() + 60000000000;
  EXPECT(1, atto_linux_next(bearer, ends[0], until, &event.it));
  check(is_written(), "an event of a socket, and nothing behind it");
  EXPECT(0, atto_linux_next(bearer, ends[0], 0, &event.it));
  check(event.it.type == 0 && is_intact(event.edge), "no event, and nothing behind it");
  close(ends[0]);
  close(ends[1]);
  atto_destroy(device);
}

static void newer(void) {
  atto *device = NULL;
  atto_bearer *bearer = NULL;
  EXPECT(ATTO_ERR_VERSION, atto_config_init(&config.it));
  check(is_intact(config.edge), "nothing behind atto_config changes");
  EXPECT(ATTO_ERR_VERSION, atto_create(NULL, &device));
  EXPECT(ATTO_ERR_VERSION, atto_create_in(NULL, block, sizeof block, &device));
  check(device == NULL, "no device");
  check(strstr(atto_strerror(ATTO_ERR_VERSION), "newer") != NULL, "the error says so");
  /* A device that an older part of the program has made. */
  EXPECT(ATTO_ERR_VERSION, (atto_create)(&config.it, &device));
  EXPECT(ATTO_OK, (atto_create)(NULL, &device));
  EXPECT(ATTO_ERR_VERSION, atto_add_services(device, table, 4, NULL, 0));
  EXPECT(ATTO_OK, atto_begin_service(device, table[0].uuid, ATTO_PRIMARY_SERVICE));
  EXPECT(ATTO_ERR_VERSION, atto_add_row(device, &table[1]));
  EXPECT(ATTO_OK, atto_bearer_create(device, 0, 0, &bearer));
  EXPECT(ATTO_ERR_VERSION, atto_next_event(bearer, &event.it));
  check(atto_linux_next(bearer, -1, 0, &event.it) == -1 && errno == EINVAL, "no event");
  atto_destroy(device);
}

int main(int count, char **words) {
  memset(&config, 0x5A, sizeof config);
  memset(&event, 0x5A, sizeof event);
  if (count > 1 && strcmp(words[1], "newer") == 0) newer(); else works();
  printf("%u passed, %u failed\n", passed, failed);
  return failed > 0;
}
