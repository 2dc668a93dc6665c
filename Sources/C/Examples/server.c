/* A heart rate strap: notifies each second, and takes commands that reset the energy expended.
 *
 *     cc server.c $(pkg-config --cflags --libs atto) -o server && ./server unix:/tmp/strap
 *     ./server unix:/tmp/strap 10     a client is silent after 10 s instead of 30 s
 *
 * One thread and one poll() serve up to eight clients. No client delays another:
 *
 * - A client that does not read loses the values for which its socket has no room.
 * - A client is silent if it sends nothing. A subscriber that reads its values is never silent.
 * - A silent client that does not read is disconnected. Any other silent client, also one with
 *   prepared writes that it does not execute, is disconnected when all places are taken and another
 *   client waits for one. Until then it may stay: GATT knows no keep-alive.
 *
 * A server that indicates needs no more than this: the library ends a bearer whose indication is not
 * confirmed within 30 s. */
#include <atto_linux.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

#define SECOND INT64_C(1000000000)
#define PLACES 8

typedef struct {
  atto_bearer *bearer; /* null: a free place */
  int fd, number;
  int64_t active; /* when it was last not silent */
  int lost;       /* values for which its socket had no room */
} client;

/* All that the library uses. A client that fills its queue of prepared writes takes up to 14 KB. */
static _Alignas(16) char memory[262144];
static atto *device;
static uint16_t handles[ROWS];
static client clients[PLACES];
static int64_t silence = 30 * SECOND;
static uint16_t energy;
static volatile sig_atomic_t stopped;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

static void disconnect(client *client, const char *why) {
  fprintf(stderr, "client %d: %s, %d values lost\n", client->number, why, client->lost);
  atto_bearer_destroy(client->bearer);
  close(client->fd);
  client->bearer = NULL;
}

static bool has_output(client *client) {
  const void *pdu;
  return atto_bearer_peek(client->bearer, &pdu) > 0;
}

static bool is_subscribed(client *client) {
  return atto_subscriptions(client->bearer, handles[MEASUREMENT]) & ATTO_NOTIFICATIONS;
}

/* The client that has been silent the longest, or null if none has been for long enough. */
static client *find_silent(int64_t now) {
  client *found = NULL;
  for (client *one = clients; one < clients + PLACES; one++)
    if (one->bearer && now - one->active >= silence && (!found || one->active < found->active))
      found = one;
  return found;
}

static client *find_free(void) {
  for (client *one = clients; one < clients + PLACES; one++)
    if (!one->bearer) return one;
  return NULL;
}

/* Takes a client that waits. Returns false if it must wait until the next beat. */
static bool welcome(int listener) {
  static int number;
  int fd = atto_linux_accept(listener);
  if (fd < 0) {
    if (errno == EAGAIN || errno == ECONNABORTED) return true; /* it has gone again */
    perror("server: accept"); /* EMFILE and the like: the client still waits */
    return false;
  }
  int64_t now = atto_linux_now();
  client *place = find_free();
  if (!place) disconnect(place = find_silent(now), "silent, and another client waits");
  *place = (client){.fd = fd, .number = ++number, .active = now};
  int result = atto_bearer_create(device, 0, 0, &place->bearer);
  if (result == ATTO_OK) return true;
  fprintf(stderr, "server: %s\n", atto_strerror(result));
  close(fd);
  place->bearer = NULL;
  return false;
}

static bool is_reset(const atto_event *event) {
  return event->offset == 0 && event->length == 1 && event->data[0] == 1;
}

/* Answers a write of the control point, or prepared writes of it. */
static void answer(client *client, uint64_t id, bool is_accepted) {
  if (is_accepted) {
    energy = 0;
    atto_answer_accept(client->bearer, id, atto_linux_now());
  } else {
    atto_answer_error(client->bearer, id, 0x80, atto_linux_now()); /* Control Point Not Supported */
  }
}

/* Sends what there is room for, and carries out one PDU at most. Does not wait. */
static void serve(client *client) {
  int result = atto_linux_drive(client->bearer, client->fd, 0);
  int error = errno;
  bool is_good = true;
  for (atto_event event; atto_next_event(client->bearer, &event) == 1;) {
    if (event.type == ATTO_EVENT_WRITE) answer(client, event.id, is_reset(&event));
    if (event.type == ATTO_EVENT_PREPARED_WRITE) is_good = is_good && is_reset(&event);
    if (event.type == ATTO_EVENT_EXECUTE) answer(client, event.id, is_good);
  }
  int64_t now = atto_linux_now();
  if (result < 0) {
    disconnect(client, error == 0 ? "left" : strerror(error));
  } else if (result > 0 || (is_subscribed(client) && !has_output(client))) {
    client->active = now;
  } else if (has_output(client) && now - client->active >= silence) {
    disconnect(client, "does not read");
  }
}

static void notify(client *client) {
  if (!is_subscribed(client)) return;
  uint8_t value[] = {0x08, 72, (uint8_t)energy, (uint8_t)(energy >> 8)};
  /* A client without room gets no old values later. */
  if (!has_output(client) &&
      atto_notify(client->bearer, handles[MEASUREMENT], value, sizeof value) == ATTO_OK)
    return;
  if (client->lost++ == 0)
    fprintf(stderr, "client %d: no room, so values are lost\n", client->number);
}

static void run(int listener) {
  int64_t now = atto_linux_now(), beat = now + SECOND;
  bool listens = true;
  while (!stopped) {
    struct pollfd polled[PLACES + 1];
    for (int i = 0; i < PLACES; i++) {
      polled[i].fd = clients[i].bearer ? clients[i].fd : -1;
      polled[i].events = clients[i].bearer && has_output(&clients[i]) ? POLLOUT : POLLIN;
    }
    /* Nobody is accepted who would have no place, or the listener would be ready all the time. */
    bool has_place = find_free() || find_silent(now);
    polled[PLACES] = (struct pollfd){.fd = listens && has_place ? listener : -1, .events = POLLIN};
    /* A signal just before it is seen after the next beat. */
    int64_t left = beat > now ? beat - now : 0;
    int ready = poll(polled, PLACES + 1, (int)(left / 1000000 + 1));
    if (ready < 0 && errno != EINTR) {
      perror("server: poll");
      return;
    }
    for (int i = 0; i < PLACES; i++)
      if (clients[i].bearer) serve(&clients[i]);
    if (ready > 0 && polled[PLACES].revents && (find_free() || find_silent(atto_linux_now())))
      listens = welcome(listener);
    now = atto_linux_now();
    if (now < beat) continue;
    for (int i = 0; i < PLACES; i++)
      if (clients[i].bearer) notify(&clients[i]);
    energy++;
    listens = true;
    beat = now - beat < SECOND ? beat + SECOND : now + SECOND; /* it may have been stopped */
  }
}

int main(int count, char **words) {
  const char *endpoint = count > 1 ? words[1] : "";
  if (count > 2) silence = atoi(words[2]) * SECOND;
  if (silence <= 0) return fputs("usage: server ENDPOINT [SECONDS]\n", stderr), 2;
  signal(SIGINT, stop);
  signal(SIGTERM, stop);
  signal(SIGPIPE, SIG_IGN); /* of standard error; the library's sockets cause none */
  int listener = atto_linux_listen(endpoint, ATTO_LOW);
  /* A client may go between poll and accept. */
  if (listener < 0 || fcntl(listener, F_SETFL, O_NONBLOCK) < 0) return perror("server"), 3;
  if (atto_create_in(NULL, memory, sizeof memory, &device) < 0 ||
      atto_add_generic_services(device, "Strap", 0x0340, 0) < 0 ||
      atto_add_services(device, strap, ROWS, handles, 0) < 0)
    return 1;
  run(listener);
  for (int i = 0; i < PLACES; i++)
    if (clients[i].bearer) disconnect(&clients[i], "the server ends");
  atto_destroy(device);
  close(listener);
  if (strncmp(endpoint, "unix:", 5) == 0) unlink(endpoint + 5);
  return 0;
}
