// The process of one connection to a broker.
//
// # Theory
// libmosquitto and OpenSSL parse whatever a broker sends, so they run apart from the gateway, which
// holds the Bluetooth links: a fault of theirs ends this process, and the gateway starts another.
// The process ends with its connection, and with the gateway (the end of the pair, PR_SET_PDEATHSIG).
//
//     gateway <-- frames on a pair of stream sockets --> this process <-- MQTT --> broker
//
// It has no other descriptors, privileges or core files, and may allocate MEMORY octets, so that a
// broker that announces a packet of 256 MB gets an error of the library.
//
// Each turn of the loop reads from the broker and from the gateway what is there, and then writes what
// this has caused with few calls: frames to the gateway, and packets to the broker. Without TLS,
// messages at QoS 0 do not pass through the library at all: their packets are collected in `direct`.
// The library writes only while that is empty, and it is only added to while the library has nothing
// unwritten, so that the order holds and no packet is within another.
//
// Nothing is queued without a limit. While the broker does not read, or leaves UNANSWERED messages
// unacknowledged, no further frame of the gateway is carried out, and the pair fills: the gateway
// notices. While the gateway does not read, this process waits for it, and the broker waits in turn.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "CMosquitto.h"
#include "Client.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
// They reserve more than any limit.
#define IS_SANITIZED 1
#endif
#endif

enum {
  HEADER = 5,
  MEMORY = 16 << 20,
  // Messages that the broker has not acknowledged, and their octets.
  UNANSWERED = 4096,
  UNANSWERED_OCTETS = 4 << 20,
  // Octets to the broker that are collected before they are sent, and what one more message adds.
  BATCH = 16384,
  DIRECT = BATCH + CMOSQUITTO_FRAME_LIMIT + 16,
  INPUT = HEADER + CMOSQUITTO_FRAME_LIMIT,
  OUTPUT = 65536,
  // Octets of frames from which on their packets are sent together.
  COLLECTED = 1024,
  // Packets that are read in one turn.
  PACKETS = 64,
  ABSENT_ID = 0,
  // MQTT 5.0, 2.4.
  INVALID_TOPIC = 0x90,
  TOO_LARGE = 0x95,
};

typedef struct {
  int pair;
  cmosquitto_client *client;
  bool is_version5, is_tls, is_accepted;
  int32_t keep_alive;
  // Whether packets of the broker may wait that no event of the socket announces.
  bool has_more;
  // Whether the network takes nothing at the moment.
  bool is_blocked;
  // Whether the gateway has sent its last frame.
  bool has_all;
  // Milliseconds: when something was sent to the broker, and when the gateway heard of this process.
  int64_t sent_at, told_at;
  int unanswered;
  int64_t unanswered_octets;
  // Of the messages at QoS 1 by the library's numbers.
  struct {
    uint32_t id, octets;
  } messages[65536];
  size_t input_start, input_end, output_count, direct_start, direct_end;
  uint8_t input[INPUT], output[OUTPUT], direct[DIRECT];
} connection;

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

// --- Frames to the gateway

static void flush_output(connection *c) {
  size_t sent = 0;
  while (sent < c->output_count) {
    ssize_t count = send(c->pair, c->output + sent, c->output_count - sent, MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    // The gateway is gone.
    if (count < 0) _exit(0);
    sent += (size_t)count;
  }
  c->output_count = 0;
}

static void put(connection *c, const void *octets, size_t count) {
  const uint8_t *next = octets;
  while (count > 0) {
    if (c->output_count == OUTPUT) flush_output(c);
    size_t part = OUTPUT - c->output_count < count ? OUTPUT - c->output_count : count;
    memcpy(c->output + c->output_count, next, part);
    c->output_count += part;
    next += part;
    count -= part;
  }
}

static void put8(connection *c, uint8_t number) { put(c, &number, 1); }
static void put16(connection *c, uint16_t number) { put(c, &number, 2); }
static void put32(connection *c, uint32_t number) { put(c, &number, 4); }

static void put_header(connection *c, uint8_t kind, size_t count) {
  put32(c, (uint32_t)count);
  put8(c, kind);
}

// A field of variable length; null: it is not there.
typedef struct {
  const void *octets;
  size_t count;
} field;

static field words(const char *text) {
  return (field){text, text ? strnlen(text, CMOSQUITTO_WORDS_LIMIT) : 0};
}

static field text(const char *text) { return (field){text, text ? strlen(text) : 0}; }

static size_t size(const field *fields, size_t number) {
  size_t count = 0;
  for (size_t index = 0; index < number; index++) count += 4 + fields[index].count;
  return count;
}

static void put_fields(connection *c, const field *fields, size_t number) {
  for (size_t index = 0; index < number; index++) {
    put32(c, fields[index].octets ? (uint32_t)fields[index].count : CMOSQUITTO_ABSENT);
    put(c, fields[index].octets, fields[index].count);
  }
}

static _Noreturn void end_with(
    connection *c, uint8_t kind, int32_t code, const char *what, const char *said,
    const char *server) {
  field fields[] = {words(what), words(said), words(server)};
  put_header(c, CMOSQUITTO_ENDED, 5 + size(fields, 3));
  put8(c, kind);
  put32(c, (uint32_t)code);
  put_fields(c, fields, 3);
  flush_output(c);
  _exit(0);
}

// Ends with a result of the library.
static _Noreturn void fail(connection *c, int32_t result) {
  const char *what =
      result == CMOSQUITTO_NO_MEMORY
          ? "the broker has sent more than the memory of the connection holds"
      // The library has no text for it.
      : result == CMOSQUITTO_NO_PONG ? "the broker does not respond"
                                     : cmosquitto_text(c->client, result);
  end_with(
      c,
      c->is_accepted              ? CMOSQUITTO_END_LOST
      : result == CMOSQUITTO_LOST ? CMOSQUITTO_END_CLOSED
                                  : CMOSQUITTO_END_UNREACHABLE,
      0, what, NULL, NULL);
}

static void check(connection *c, int32_t result) {
  if (result != CMOSQUITTO_OK) fail(c, result);
}

static void answer(connection *c, uint32_t id, uint8_t reason) {
  if (id == ABSENT_ID) return;
  put_header(c, CMOSQUITTO_PUBLISHED, 5);
  put32(c, id);
  put8(c, reason);
}

// --- The library's callbacks

static void connected(
    void *context, cmosquitto_reason why, uint16_t receive_maximum, uint32_t maximum_packet) {
  connection *c = context;
  if (why.code != 0) {
    end_with(
        c, CMOSQUITTO_END_REFUSED, why.code, cmosquitto_refusal(c->is_version5, why.code),
        why.words, why.server);
  }
  c->is_accepted = true;
  put_header(c, CMOSQUITTO_CONNECTED, 6);
  put16(c, receive_maximum);
  put32(c, maximum_packet);
}

static void disconnected(void *context, cmosquitto_reason why) {
  connection *c = context;
  // A reason from 128 on is the broker's, in version 5; others are results of the library.
  if (why.code < 128) fail(c, why.code);
  end_with(
      c, CMOSQUITTO_END_BY_BROKER, why.code, cmosquitto_refusal(true, why.code), why.words,
      why.server);
}

static void published(void *context, int32_t message, int32_t reason) {
  connection *c = context;
  uint16_t index = (uint16_t)message;
  if (c->messages[index].id == ABSENT_ID) return;
  answer(c, c->messages[index].id, (uint8_t)reason);
  c->unanswered--;
  c->unanswered_octets -= c->messages[index].octets;
  c->messages[index].id = ABSENT_ID;
}

static void subscribed(void *context, int32_t message, int32_t granted) {
  (void)message;
  put_header(context, CMOSQUITTO_SUBSCRIBED, 1);
  put8(context, (uint8_t)granted);
}

static void received(void *context, const cmosquitto_message *message) {
  connection *c = context;
  if (message->payload_count > CMOSQUITTO_MESSAGE_LIMIT) return;
  field fields[] = {
      text(message->topic),
      {message->payload ? (const void *)message->payload : "", (size_t)message->payload_count},
      text(message->response_topic),
      {message->correlation, (size_t)message->correlation_count}};
  put_header(c, CMOSQUITTO_MESSAGE, 1 + size(fields, 4));
  put8(c, message->retained);
  put_fields(c, fields, 4);
}

// --- Frames of the gateway

// What is left of a frame. Reading beyond its end marks it as bad, and gives zeros.
typedef struct {
  const uint8_t *next;
  size_t left;
  bool is_bad;
} body;

static void get(body *b, void *octets, size_t count) {
  memset(octets, 0, count);
  if (count > b->left) {
    b->is_bad = true;
    return;
  }
  memcpy(octets, b->next, count);
  b->next += count;
  b->left -= count;
}

#define GET(type)                                                                                \
  ({                                                                                             \
    type number;                                                                                 \
    get(b, &number, sizeof number);                                                              \
    number;                                                                                      \
  })

static field get_field(body *b) {
  uint32_t count = GET(uint32_t);
  if (b->is_bad || count == CMOSQUITTO_ABSENT) return (field){NULL, 0};
  if (count > b->left) {
    b->is_bad = true;
    return (field){NULL, 0};
  }
  field found = {b->next, count};
  b->next += count;
  b->left -= count;
  return found;
}

// A text with a zero at its end, which the caller frees; null if it is not there.
static char *get_text(body *b) {
  field found = get_field(b);
  if (!found.octets) return NULL;
  if (memchr(found.octets, 0, found.count)) b->is_bad = true;
  char *copy = strndup(found.octets, found.count);
  if (!copy) b->is_bad = true;
  return copy;
}

static _Noreturn void malformed(connection *c) {
  end_with(c, CMOSQUITTO_END_UNREACHABLE, 0, "the gateway has sent a malformed frame", NULL, NULL);
}

static void limit_memory(connection *c) {
#ifndef IS_SANITIZED
  unsigned long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  int found = file ? fscanf(file, "%lu", &pages) : 0;
  if (file) fclose(file);
  rlim_t limit = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + MEMORY;
  struct rlimit limits = {limit, limit};
  if (found != 1 || setrlimit(RLIMIT_AS, &limits) < 0) {
    end_with(
        c, CMOSQUITTO_END_UNREACHABLE, 0, "the memory of the connection cannot be limited", NULL, NULL);
  }
#else
  (void)c;
#endif
}

static void begin(connection *c, body *b) {
  cmosquitto_options options = {0};
  options.version5 = c->is_version5 = GET(uint8_t);
  options.tls = c->is_tls = GET(uint8_t);
  uint16_t port = GET(uint16_t);
  c->keep_alive = GET(uint16_t);
  options.window = GET(uint16_t);
  uint32_t packet = GET(uint32_t);
  char *host = get_text(b);
  options.client_id = get_text(b);
  options.user = get_text(b);
  options.password = get_text(b);
  options.ca_file = get_text(b);
  options.certificate_file = get_text(b);
  options.key_file = get_text(b);
  options.alpn = get_text(b);
  options.will_topic = get_text(b);
  options.will_payload = get_text(b);
  if (b->is_bad || b->left > 0 || !host || !options.client_id || c->keep_alive < 1) malformed(c);
  if (options.will_topic && !options.will_payload) malformed(c);
  const char *missing = cmosquitto_load();
  if (missing) end_with(c, CMOSQUITTO_END_LIBRARY, 0, missing, NULL, NULL);
  limit_memory(c);
  cmosquitto_events events = {connected, disconnected, published, subscribed, received};
  int32_t result;
  c->client = cmosquitto_make(&options, events, c, &result);
  if (!c->client) fail(c, result);
  check(c, cmosquitto_connect(c->client, host, port, (uint16_t)c->keep_alive, packet));
  c->sent_at = c->told_at = now();
}

// Whether the kernel collects what is sent. The library makes a call for each packet.
static void cork(connection *c, int is_collecting) {
  setsockopt(
      cmosquitto_socket(c->client), IPPROTO_TCP, TCP_CORK, &is_collecting, sizeof is_collecting);
}

// Writes what waits, as far as the network takes it.
static void flush(connection *c) {
  int network = cmosquitto_socket(c->client);
  while (c->direct_start < c->direct_end) {
    ssize_t count = send(
        network, c->direct + c->direct_start, c->direct_end - c->direct_start,
        MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (count < 0) fail(c, CMOSQUITTO_ERRNO);
    c->direct_start += (size_t)count;
    c->sent_at = now();
  }
  if (c->direct_start == c->direct_end) {
    c->direct_start = c->direct_end = 0;
    if (cmosquitto_wants_to_write(c->client)) check(c, cmosquitto_write(c->client));
  }
  c->is_blocked = c->direct_start < c->direct_end || cmosquitto_wants_to_write(c->client);
}

// Whether the library, or `direct`, has nothing unwritten, after an attempt to write it.
static bool is_written(connection *c, bool library) {
  if (library ? !cmosquitto_wants_to_write(c->client) : c->direct_start == c->direct_end) return true;
  flush(c);
  return !c->is_blocked;
}

// A PUBLISH packet at QoS 0. MQTT 5.0, 3.3; MQTT 3.1.1, 3.3.
static void publish_directly(connection *c, field topic, field payload, bool retained) {
  size_t length = 2 + topic.count + (c->is_version5 ? 1 : 0) + payload.count;
  uint8_t *next = c->direct + c->direct_end;
  *next++ = retained ? 0x31 : 0x30;
  do {
    *next++ = (uint8_t)((length & 0x7F) | (length > 0x7F ? 0x80 : 0));
    length >>= 7;
  } while (length > 0);
  *next++ = (uint8_t)(topic.count >> 8);
  *next++ = (uint8_t)topic.count;
  memcpy(next, topic.octets, topic.count);
  next += topic.count;
  if (c->is_version5) *next++ = 0;
  memcpy(next, payload.octets, payload.count);
  c->direct_end = (size_t)(next - c->direct) + payload.count;
  if (c->direct_end >= BATCH) flush(c);
}

static void publish_with_library(
    connection *c, uint32_t id, bool retained, const char *topic, field payload, field correlation,
    const cmosquitto_property *pairs, int32_t number) {
  int32_t message = 0;
  int32_t result = cmosquitto_publish(
      c->client, &message, topic, payload.octets, (int32_t)payload.count, id != ABSENT_ID, retained,
      correlation.octets, (int32_t)correlation.count, pairs, number);
  if (cmosquitto_socket(c->client) < 0) fail(c, result);
  if (result == CMOSQUITTO_NO_MEMORY) fail(c, result);
  if (result != CMOSQUITTO_OK) {
    return answer(c, id, result == CMOSQUITTO_OVERSIZE ? TOO_LARGE : INVALID_TOPIC);
  }
  c->sent_at = now();
  if (id == ABSENT_ID) return;
  uint16_t index = (uint16_t)message;
  c->messages[index].id = id;
  c->messages[index].octets = (uint32_t)(strlen(topic) + payload.count);
  c->unanswered++;
  c->unanswered_octets += c->messages[index].octets;
}

// Returns false if the frame has to wait.
static bool publish(connection *c, body *b) {
  uint32_t id = GET(uint32_t);
  bool retained = GET(uint8_t);
  uint8_t number = GET(uint8_t);
  field topic = get_field(b), payload = get_field(b), correlation = get_field(b);
  if (b->is_bad || !topic.octets || !payload.octets || number > CMOSQUITTO_PAIR_LIMIT) malformed(c);
  if (topic.count == 0 || topic.count > 0xFFFF || correlation.count > 0xFFFF
      || memchr(topic.octets, 0, topic.count)) {
    answer(c, id, INVALID_TOPIC);
    return true;
  }
  if (id == ABSENT_ID && !c->is_tls && !correlation.octets && number == 0) {
    if (!is_written(c, true)) return false;
    publish_directly(c, topic, payload, retained);
    return true;
  }
  if (!is_written(c, false)) return false;
  cmosquitto_property pairs[CMOSQUITTO_PAIR_LIMIT] = {0};
  for (uint8_t index = 0; index < number; index++) {
    pairs[index].name = get_text(b);
    pairs[index].value = get_text(b);
    if (!pairs[index].name || !pairs[index].value) b->is_bad = true;
  }
  char *name = strndup(topic.octets, topic.count);
  if (b->is_bad || !name) malformed(c);
  publish_with_library(c, id, retained, name, payload, correlation, pairs, number);
  free(name);
  for (uint8_t index = 0; index < number; index++) {
    free((char *)pairs[index].name);
    free((char *)pairs[index].value);
  }
  return true;
}

static bool subscribe(connection *c, body *b) {
  if (!is_written(c, false)) return false;
  uint8_t qos = GET(uint8_t);
  char *filter = get_text(b);
  if (b->is_bad || !filter) malformed(c);
  int32_t result = cmosquitto_subscribe(c->client, NULL, filter, qos);
  free(filter);
  check(c, result);
  c->sent_at = now();
  return true;
}

static bool disconnect(connection *c) {
  flush(c);
  if (c->is_blocked) return false;
  cmosquitto_disconnect(c->client);
  cmosquitto_write(c->client);
  flush_output(c);
  _exit(0);
}

static bool carry_out(connection *c, uint8_t kind, body *b) {
  if (!c->client) {
    if (kind != CMOSQUITTO_CONNECT) malformed(c);
    begin(c, b);
    return true;
  }
  switch (kind) {
    case CMOSQUITTO_PUBLISH: return publish(c, b);
    case CMOSQUITTO_SUBSCRIBE: return subscribe(c, b);
    case CMOSQUITTO_DISCONNECT: return disconnect(c);
    default: malformed(c);
  }
}

// Whether another frame can be carried out.
static bool has_room(const connection *c) {
  return !c->is_blocked && c->unanswered < UNANSWERED && c->unanswered_octets < UNANSWERED_OCTETS;
}

static void carry_out_frames(connection *c) {
  while (has_room(c) && c->input_end - c->input_start >= HEADER) {
    uint32_t count;
    memcpy(&count, c->input + c->input_start, 4);
    if (count > CMOSQUITTO_FRAME_LIMIT) malformed(c);
    if (c->input_end - c->input_start < HEADER + count) break;
    body b = {c->input + c->input_start + HEADER, count, false};
    bool is_first = !c->client;
    if (!carry_out(c, c->input[c->input_start + 4], &b)) break;
    // With a password, of which the library has a copy.
    if (is_first) explicit_bzero(c->input + c->input_start, HEADER + count);
    c->input_start += HEADER + count;
  }
  memmove(c->input, c->input + c->input_start, c->input_end - c->input_start);
  c->input_end -= c->input_start;
  c->input_start = 0;
}

static void receive(connection *c) {
  if (c->input_end == INPUT) return;
  size_t room = INPUT - c->input_end;
  ssize_t count =
      recv(c->pair, c->input + c->input_end, room < OUTPUT ? room : OUTPUT, MSG_DONTWAIT);
  if (count < 0 && errno != EAGAIN && errno != EINTR) _exit(0);
  if (count == 0) c->has_all = true;
  if (count > 0) c->input_end += (size_t)count;
}

// --- The loop

// The time of the next ping, a second late because the library counts whole seconds.
static int64_t ping_time(const connection *c) { return c->sent_at + 1000LL * c->keep_alive + 1000; }

static void keep_alive(connection *c) {
  int64_t time = now();
  if (time >= ping_time(c)) {
    c->sent_at = time;
    check(c, cmosquitto_tick(c->client));
  }
  if (time - c->told_at >= 1000LL * c->keep_alive) {
    c->told_at = time;
    put_header(c, CMOSQUITTO_ALIVE, 0);
  }
}

static void wait_for_both(connection *c, struct pollfd polled[2]) {
  bool reads = has_room(c) && !c->has_all;
  polled[0] = (struct pollfd){.fd = c->pair, .events = reads ? POLLIN : 0};
  polled[1] = (struct pollfd){
      .fd = cmosquitto_socket(c->client),
      .events = (short)(POLLIN | (c->is_blocked ? POLLOUT : 0))};
  int64_t told = c->told_at + 1000LL * c->keep_alive, ping = ping_time(c);
  int64_t delay = (told < ping ? told : ping) - now();
  if (poll(polled, 2, c->has_more || delay < 0 ? 0 : (int)delay + 1) < 0) {
    polled[0].revents = polled[1].revents = 0;
  }
}

static void turn(connection *c) {
  struct pollfd polled[2];
  wait_for_both(c, polled);
  // Both directions are closed: the gateway has died, or has given the connection up.
  if (polled[0].revents & (POLLHUP | POLLERR)) _exit(0);
  bool is_readable = c->has_more || polled[1].revents & ~POLLOUT;
  // With TLS a broker may refuse the certificate and close before CONNECT is written. What it said must be read
  // first: the library closes the socket if a write fails.
  bool reads_only = c->is_tls && !c->is_accepted && is_readable;
  if (polled[1].revents & POLLOUT && !reads_only) flush(c);
  if (is_readable) check(c, cmosquitto_read(c->client, PACKETS, &c->has_more));
  if (reads_only && !c->is_accepted) {
    c->is_blocked = cmosquitto_wants_to_write(c->client);
    return;
  }
  if (polled[0].revents & POLLIN) receive(c);
  bool is_batch = c->input_end >= COLLECTED;
  if (is_batch) cork(c, 1);
  carry_out_frames(c);
  // The gateway has died within a frame.
  if (c->has_all && has_room(c)) _exit(0);
  keep_alive(c);
  flush(c);
  if (is_batch) cork(c, 0);
  flush_output(c);
}

// Of root's privileges only the one to read the files that the configuration names stays. Where the gateway is not
// root, this process has none anyway.
static void drop_privileges(void) {
  const uint32_t kept = 1u << CAP_DAC_READ_SEARCH;
  struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
  struct __user_cap_data_struct sets[2];
  if (syscall(SYS_capget, &header, sets) < 0) return;
  if (!(sets[0].permitted & ~kept) && !sets[1].permitted) return;
  sets[0].permitted &= kept;
  sets[0].effective &= kept;
  sets[0].inheritable = 0;
  memset(&sets[1], 0, sizeof sets[1]);
  syscall(SYS_capset, &header, sets);
}

// Gives up what this process does not need.
static void confine(void) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  drop_privileges();
  // No core file has the password.
  prctl(PR_SET_DUMPABLE, 0);
  setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
  // Those of the terminal and of systemd are for the gateway, which then ends the connection.
  const int ignored[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE};
  for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++) signal(ignored[i], SIG_IGN);
#ifndef IS_SANITIZED
  // A fault ends it at once: Swift's runtime would start a program that describes the fault.
  const int faults[] = {SIGABRT, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGQUIT};
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) signal(faults[i], SIG_DFL);
#endif
}

void cmosquitto_serve(int32_t socket) {
  confine();
  connection *c = calloc(1, sizeof *c);
  if (!c) _exit(1);
  c->pair = socket;
  // It waits for the gateway.
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) & ~O_NONBLOCK);
  while (!c->client) {
    poll(&(struct pollfd){.fd = socket, .events = POLLIN}, 1, -1);
    receive(c);
    carry_out_frames(c);
    if (c->has_all) _exit(0);
  }
  // CONNECT.
  flush(c);
  for (;;) turn(c);
}
