/* A gateway: publishes the value of one sensor over MQTT, for years.
 *
 *     cc gateway.c $(pkg-config --cflags --libs atto) -lmosquitto -o gateway
 *     ./gateway le:AA:BB:CC:DD:EE:FF 2A6E broker.local garden
 *
 * publishes the temperature to `garden/value`, and `online` or `offline` to `garden/availability`, both
 * retained. A value of another characteristic than those of `decode` below is published in hex.
 *
 *     MQTT_PORT                  1883, or 8883 with MQTT_CA
 *     MQTT_USER, MQTT_PASSWORD   the login
 *     MQTT_CA                    a file with the certificates to trust; the connection then uses TLS
 *     LEVEL                      the security that the link must have: 1 (none) to 4; 2 for a bonded sensor
 *
 * The main thread drives the sensor's link, and connects again when it has ended, after 1 s to 60 s. A thread
 * of libmosquitto drives the connection to the broker likewise. Between the two is one value: a broker that is
 * slow or gone gets the newest later, so that nothing grows. */
#include <atto_linux.h>
#include <errno.h>
#include <mosquitto.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECOND INT64_C(1000000000)
/* Messages that the broker has not acknowledged. */
#define MOST_WAITING 4
/* How often a value is read that the sensor does not notify, and the longest pause between two connections. */
#define READ_INTERVAL (60 * SECOND)
#define LONGEST_PAUSE 60

typedef struct {
  const char *name;
  char text[1100]; /* 512 octets in hex */
  bool is_new;
} topic;

static topic value = {"value", "", false}, availability = {"availability", "offline", true};
static const char *base;
static struct mosquitto *broker;
/* No atomic_bool: on RISC-V, compilers before gcc 13 want a library for its exchange. */
static atomic_int is_connected, has_reconnected, waiting;
static volatile sig_atomic_t stopped;

static void stop(int number) {
  (void)number;
  stopped = 1;
}

/* ---- The broker's thread ---- */

static void on_connect(struct mosquitto *self, void *context, int code) {
  (void)self, (void)context;
  fprintf(stderr, "broker: %s\n", mosquitto_connack_string(code));
  if (code != 0) return;
  atomic_store(&has_reconnected, true);
  atomic_store(&is_connected, true);
}

static void on_disconnect(struct mosquitto *self, void *context, int code) {
  (void)self, (void)context;
  if (atomic_exchange(&is_connected, false) || code == MOSQ_ERR_TLS)
    fprintf(stderr, "broker: %s\n", mosquitto_strerror(code));
}

static void on_publish(struct mosquitto *self, void *context, int message) {
  (void)self, (void)context, (void)message;
  atomic_fetch_sub(&waiting, 1);
}

/* ---- The main thread ---- */

static void publish(topic *topic) {
  char name[300];
  if (!topic->is_new || !topic->text[0] || !atomic_load(&is_connected) ||
      atomic_load(&waiting) >= MOST_WAITING)
    return;
  snprintf(name, sizeof name, "%s/%s", base, topic->name);
  atomic_fetch_add(&waiting, 1);
  if (mosquitto_publish(broker, NULL, name, (int)strlen(topic->text), topic->text, 1, true) == 0)
    topic->is_new = false;
  else
    atomic_fetch_sub(&waiting, 1);
}

/* Publishes what is new, and everything to a broker that may have forgotten it. */
static void publish_news(void) {
  if (atomic_exchange(&has_reconnected, false)) value.is_new = availability.is_new = true;
  publish(&value);
  publish(&availability);
}

static void set_availability(const char *text) {
  if (strcmp(availability.text, text) != 0) {
    strcpy(availability.text, text);
    availability.is_new = true;
  }
  publish_news();
}

/* The text of a value: a number for the characteristics that are known here (GATT Specification Supplement). */
static void decode(uint16_t uuid, const uint8_t *octets, size_t length) {
  char *text = value.text;
  size_t room = sizeof value.text, i;
  int number = length == 2 ? octets[0] | octets[1] << 8 : length == 1 ? octets[0] : 0;
  if (uuid == 0x2A6E && length == 2) /* Temperature, 0.01 degrees Celsius */
    snprintf(text, room, "%.2f", (int16_t)number / 100.0);
  else if (uuid == 0x2A6F && length == 2) /* Humidity, 0.01 percent */
    snprintf(text, room, "%.2f", number / 100.0);
  else if (uuid == 0x2A19 && length == 1) /* Battery Level, percent */
    snprintf(text, room, "%d", number);
  else
    for (i = 0, text[0] = 0; i < length && 2 * i + 3 < room; i++) sprintf(text + 2 * i, "%02x", octets[i]);
  value.is_new = true;
}

/* Serves one link until it ends, or until the program is stopped. Returns whether it brought a value. */
static bool serve(atto *device, int fd, atto_uuid uuid) {
  atto_bearer *bearer;
  atto_event event;
  uint64_t search = 0;
  uint16_t handle = 0;
  uint8_t properties = 0;
  bool has_value = false;
  int64_t next_read = INT64_MAX;
  int turn = 0;
  const char *why = NULL;
  if (atto_bearer_create(device, ATTO_CLIENT_ONLY, 0, &bearer) < 0) return false;
  atto_exchange_mtu(bearer, 0, atto_linux_now(), NULL);
  atto_discover_characteristics_by_uuid(bearer, uuid, 1, 0xFFFF, atto_linux_now(), &search);
  while (!stopped && !why) {
    int64_t now = atto_linux_now();
    if (handle && now >= next_read && atto_read_long(bearer, handle, 0, now, NULL) == 0)
      next_read = properties & (ATTO_NOTIFY | ATTO_INDICATE) ? INT64_MAX : now + READ_INTERVAL;
    /* A second at most, because the broker may come back. */
    if ((turn = atto_linux_next(bearer, fd, now + SECOND, &event)) < 0) break;
    if (event.type == ATTO_EVENT_CHARACTERISTIC && !handle) {
      handle = event.value_handle;
      properties = event.properties;
    } else if (event.type == ATTO_EVENT_VALUE || event.type == ATTO_EVENT_NOTIFICATION ||
               event.type == ATTO_EVENT_INDICATION) {
      if (event.handle == handle) {
        decode(atto_uuid_short(uuid), event.data, event.length);
        if (!has_value) set_availability("online");
        has_value = true;
      }
    } else if (event.type == ATTO_EVENT_COMPLETE && event.id == search) {
      if (!handle) why = "has no such characteristic";
      if (properties & ATTO_READ) next_read = now;
      int kinds = properties & ATTO_NOTIFY ? ATTO_NOTIFICATIONS : ATTO_INDICATIONS;
      if (properties & (ATTO_NOTIFY | ATTO_INDICATE))
        atto_subscribe(bearer, handle, 0, kinds, now, NULL);
    } else if (event.type == ATTO_EVENT_COMPLETE && event.result == ATTO_ERR_ATT && handle) {
      why = atto_att_error_name(event.att_error);
    }
    publish_news();
  }
  if (turn < 0 && !why) why = errno ? strerror(errno) : "has ended the link";
  if (why) fprintf(stderr, "sensor: %s\n", why);
  atto_bearer_destroy(bearer);
  return has_value;
}

static bool connect_broker(const char *host) {
  const char *certificates = getenv("MQTT_CA"), *user = getenv("MQTT_USER"), *port = getenv("MQTT_PORT");
  char will[300];
  sigset_t all, before;
  mosquitto_lib_init();
  if (!(broker = mosquitto_new(NULL, true, NULL))) return false;
  mosquitto_connect_callback_set(broker, on_connect);
  mosquitto_disconnect_callback_set(broker, on_disconnect);
  mosquitto_publish_callback_set(broker, on_publish);
  mosquitto_reconnect_delay_set(broker, 1, 60, true);
  snprintf(will, sizeof will, "%s/%s", base, availability.name);
  if (mosquitto_will_set(broker, will, 7, "offline", 1, true) ||
      (user && mosquitto_username_pw_set(broker, user, getenv("MQTT_PASSWORD"))) ||
      (certificates && mosquitto_tls_set(broker, certificates, NULL, NULL, NULL, NULL)))
    return false;
  /* If this fails, the thread tries again. MQTT 3.1.1: libmosquitto 2.0.11 can be ended by a broker's MQTT 5. */
  mosquitto_connect_async(broker, host, port ? atoi(port) : certificates ? 8883 : 1883, 30);
  /* Signals are for the main thread. */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int result = mosquitto_loop_start(broker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return result == 0;
}

/* Waits, and publishes meanwhile what the broker has not got yet. */
static void pause_for(int seconds) {
  for (int64_t end = atto_linux_now() + seconds * SECOND; !stopped && atto_linux_now() < end;) {
    publish_news();
    poll(NULL, 0, 200);
  }
}

int main(int count, char **words) {
  atto_uuid uuid;
  atto *device;
  int level = getenv("LEVEL") ? atoi(getenv("LEVEL")) : ATTO_LOW;
  if (count != 5 || atto_uuid_parse(words[2], &uuid) < 0 || strlen(words[4]) > 200 || level < ATTO_LOW ||
      level > ATTO_FIPS)
    return fprintf(stderr, "usage: gateway ENDPOINT UUID BROKER TOPIC\n"), 2;
  base = words[4];
  /* Without SA_RESTART, so that they end a connect() that waits for the sensor. */
  sigaction(SIGTERM, &(struct sigaction){.sa_handler = stop}, NULL);
  sigaction(SIGINT, &(struct sigaction){.sa_handler = stop}, NULL);
  signal(SIGPIPE, SIG_IGN);
  if (atto_create(NULL, &device) < 0 || !connect_broker(words[3]))
    return fprintf(stderr, "gateway: cannot start: the topic, MQTT_CA or memory\n"), 1;
  for (int delay = 1; !stopped; delay = delay < LONGEST_PAUSE / 2 ? 2 * delay : LONGEST_PAUSE) {
    int fd = atto_linux_connect(words[1], level);
    if (fd >= 0) {
      if (serve(device, fd, uuid)) delay = 1;
      close(fd);
    } else if (errno == EINVAL) {
      return fprintf(stderr, "gateway: %s is no endpoint\n", words[1]), 2;
    } else if (!stopped) {
      fprintf(stderr, "sensor: %s\n", strerror(errno));
    }
    set_availability("offline");
    pause_for(delay);
  }
  /* The end in order: the broker publishes the will only after another one. */
  for (int turns = 0; turns < 20 && atomic_load(&is_connected); turns++) {
    publish_news();
    if (!availability.is_new && atomic_load(&waiting) == 0) break;
    poll(NULL, 0, 100);
  }
  mosquitto_disconnect(broker);
  mosquitto_loop_stop(broker, false);
  mosquitto_destroy(broker);
  atto_destroy(device);
  return 0;
}
