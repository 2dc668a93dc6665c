#define _GNU_SOURCE
#include "Client.h"

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<mosquitto.h>)
#include <mosquitto.h>
#include <mqtt_protocol.h>
#define HAS_HEADER 1
#else
#define HAS_HEADER 0
struct mosquitto;
typedef struct mqtt5__property mosquitto_property;
enum mosq_opt_t {
  MOSQ_OPT_PROTOCOL_VERSION = 1,
  MOSQ_OPT_SEND_MAXIMUM = 5,
  MOSQ_OPT_TLS_ALPN = 10,
  MOSQ_OPT_TCP_NODELAY = 11,
  MOSQ_OPT_TLS_USE_OS_CERTS = 13,
};
struct mosquitto_message {
  int mid;
  char *topic;
  void *payload;
  int payloadlen;
  int qos;
  bool retain;
};
#endif

// Of <mqtt_protocol.h> and <mosquitto.h>.
enum {
  VERSION_311 = 4,
  VERSION_5 = 5,
  RESPONSE_TOPIC = 8,
  CORRELATION_DATA = 9,
  SERVER_REFERENCE = 28,
  REASON_STRING = 31,
  RECEIVE_MAXIMUM = 33,
  USER_PROPERTY = 38,
  MAXIMUM_PACKET_SIZE = 39,
  LOG_ERROR = 1 << 3,
};

typedef struct mosquitto client_t;
typedef const struct mosquitto_message message_t;
typedef const mosquitto_property properties_t;

// X(result, name without "mosquitto_", parameters)
#define FUNCTIONS(X)                                                                           \
  X(int, lib_init, (void))                                                                     \
  X(client_t *, new, (const char *, bool, void *))                                             \
  X(void, destroy, (client_t *))                                                               \
  X(int, will_set, (client_t *, const char *, int, const void *, int, bool))                   \
  X(int, username_pw_set, (client_t *, const char *, const char *))                            \
  X(int, int_option, (client_t *, enum mosq_opt_t, int))                                       \
  X(int, string_option, (client_t *, enum mosq_opt_t, const char *))                           \
  X(int, tls_set,                                                                              \
    (client_t *, const char *, const char *, const char *, const char *,                       \
     int (*)(char *, int, int, void *)))                                                       \
  X(int, connect_bind_v5,                                                                      \
    (client_t *, const char *, int, int, const char *, properties_t *))                        \
  X(int, connect, (client_t *, const char *, int, int))                                        \
  X(int, disconnect, (client_t *))                                                             \
  X(int, publish_v5,                                                                           \
    (client_t *, int *, const char *, int, const void *, int, bool, properties_t *))           \
  X(int, subscribe, (client_t *, int *, const char *, int))                                    \
  X(int, loop_read, (client_t *, int))                                                         \
  X(int, loop_write, (client_t *, int))                                                        \
  X(int, loop_misc, (client_t *))                                                              \
  X(int, socket, (client_t *))                                                                 \
  X(bool, want_write, (client_t *))                                                            \
  X(int, max_inflight_messages_set, (client_t *, unsigned int))                                \
  X(int, threaded_set, (client_t *, bool))                                                     \
  X(void, connect_v5_callback_set,                                                             \
    (client_t *, void (*)(client_t *, void *, int, int, properties_t *)))                      \
  X(void, disconnect_v5_callback_set,                                                          \
    (client_t *, void (*)(client_t *, void *, int, properties_t *)))                           \
  X(void, publish_v5_callback_set,                                                             \
    (client_t *, void (*)(client_t *, void *, int, int, properties_t *)))                      \
  X(void, subscribe_callback_set,                                                              \
    (client_t *, void (*)(client_t *, void *, int, int, const int *)))                         \
  X(void, message_v5_callback_set,                                                             \
    (client_t *, void (*)(client_t *, void *, message_t *, properties_t *)))                   \
  X(void, log_callback_set, (client_t *, void (*)(client_t *, void *, int, const char *)))     \
  X(int, property_add_int32, (mosquitto_property **, int, uint32_t))                           \
  X(int, property_add_binary, (mosquitto_property **, int, const void *, uint16_t))            \
  X(int, property_add_string_pair,                                                             \
    (mosquitto_property **, int, const char *, const char *))                                  \
  X(properties_t *, property_read_int16, (properties_t *, int, uint16_t *, bool))              \
  X(properties_t *, property_read_int32, (properties_t *, int, uint32_t *, bool))              \
  X(properties_t *, property_read_string, (properties_t *, int, char **, bool))                \
  X(properties_t *, property_read_binary, (properties_t *, int, void **, uint16_t *, bool))    \
  X(void, property_free_all, (mosquitto_property **))                                          \
  X(const char *, strerror, (int))                                                             \
  X(const char *, connack_string, (int))                                                       \
  X(const char *, reason_string, (int))

static struct {
#define X(result, name, parameters) result(*name) parameters;
  FUNCTIONS(X)
#undef X
} library;

#if HAS_HEADER
// Constant pointers apart, the compiler compares each declaration with the library's.
#define X(result, name, parameters)                                                            \
  _Static_assert(                                                                              \
      __builtin_types_compatible_p(__typeof__(&mosquitto_##name), __typeof__(library.name)),   \
      "mosquitto_" #name " has other parameters");
FUNCTIONS(X)
#undef X
_Static_assert(VERSION_311 == MQTT_PROTOCOL_V311 && VERSION_5 == MQTT_PROTOCOL_V5, "versions");
_Static_assert((int)RESPONSE_TOPIC == (int)MQTT_PROP_RESPONSE_TOPIC, "response topic");
_Static_assert((int)CORRELATION_DATA == (int)MQTT_PROP_CORRELATION_DATA, "correlation data");
_Static_assert((int)SERVER_REFERENCE == (int)MQTT_PROP_SERVER_REFERENCE, "server reference");
_Static_assert((int)REASON_STRING == (int)MQTT_PROP_REASON_STRING, "reason string");
_Static_assert((int)RECEIVE_MAXIMUM == (int)MQTT_PROP_RECEIVE_MAXIMUM, "receive maximum");
_Static_assert((int)USER_PROPERTY == (int)MQTT_PROP_USER_PROPERTY, "user property");
_Static_assert((int)MAXIMUM_PACKET_SIZE == (int)MQTT_PROP_MAXIMUM_PACKET_SIZE, "maximum packet size");
_Static_assert(LOG_ERROR == MOSQ_LOG_ERR, "log level");
_Static_assert(MOSQ_OPT_PROTOCOL_VERSION == 1 && MOSQ_OPT_SEND_MAXIMUM == 5, "options");
_Static_assert(MOSQ_OPT_TLS_ALPN == 10 && MOSQ_OPT_TCP_NODELAY == 11, "options");
_Static_assert(MOSQ_OPT_TLS_USE_OS_CERTS == 13, "options");
_Static_assert(MOSQ_ERR_SUCCESS == 0 && MOSQ_ERR_NO_CONN == 4, "results");
_Static_assert(MOSQ_ERR_CONN_LOST == 7, "results");
_Static_assert(MOSQ_ERR_ERRNO == 14 && MOSQ_ERR_EAI == 15, "results");
_Static_assert(MOSQ_ERR_KEEPALIVE == 19 && MOSQ_ERR_OVERSIZE_PACKET == 25, "results");
_Static_assert(
    offsetof(struct mosquitto_message, payload) == 2 * sizeof(void *)
        && sizeof(struct mosquitto_message) == 3 * sizeof(void *) + 16,
    "struct mosquitto_message");
#endif

// What OpenSSL says of the broker's certificate, if libmosquitto has these functions and their library.
static struct {
  void *(*connection)(client_t *);
  long (*result)(const void *);
  const char *(*text)(long);
} verification;

const char *cmosquitto_load(void) {
  static char missing[128];
  const char *name = secure_getenv("ATTO_MOSQUITTO");
  if (!name || !*name) name = "libmosquitto.so.1";
  void *handle = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
  if (!handle) return dlerror();
#define X(result, name, parameters)                                                            \
  *(void **)&library.name = dlsym(handle, "mosquitto_" #name);                                 \
  if (!library.name) {                                                                         \
    snprintf(missing, sizeof missing, "missing function mosquitto_" #name);                    \
    return missing;                                                                            \
  }
  FUNCTIONS(X)
#undef X
  *(void **)&verification.connection = dlsym(handle, "mosquitto_ssl_get");
  *(void **)&verification.result = dlsym(handle, "SSL_get_verify_result");
  *(void **)&verification.text = dlsym(handle, "X509_verify_cert_error_string");
  library.lib_init();
  return NULL;
}

struct cmosquitto_client {
  client_t *client;
  cmosquitto_events events;
  void *context;
  bool version5;
  bool is_tls;
  // The TLS library's last words.
  char tls_error[256];
};

// Adds what the broker says beside its reason code. The caller frees both texts.
static void explain(cmosquitto_reason *why, properties_t *found, char **words, char **server) {
  library.property_read_string(found, REASON_STRING, words, false);
  library.property_read_string(found, SERVER_REFERENCE, server, false);
  why->words = *words;
  why->server = *server;
}

static void on_connect(client_t *c, void *object, int reason, int flags, properties_t *found) {
  (void)c, (void)flags;
  cmosquitto_client *client = object;
  uint16_t window = 0;
  uint32_t packet = 0;
  library.property_read_int16(found, RECEIVE_MAXIMUM, &window, false);
  library.property_read_int32(found, MAXIMUM_PACKET_SIZE, &packet, false);
  cmosquitto_reason why = {.code = reason};
  char *words = NULL, *server = NULL;
  explain(&why, found, &words, &server);
  client->events.connected(client->context, why, window, packet);
  free(words);
  free(server);
}

static void on_disconnect(client_t *c, void *object, int reason, properties_t *found) {
  (void)c;
  cmosquitto_client *client = object;
  cmosquitto_reason why = {.code = reason};
  char *words = NULL, *server = NULL;
  explain(&why, found, &words, &server);
  client->events.disconnected(client->context, why);
  free(words);
  free(server);
}

static void on_publish(client_t *c, void *object, int id, int reason, properties_t *found) {
  (void)c, (void)found;
  cmosquitto_client *client = object;
  client->events.published(client->context, id, reason);
}

static void on_subscribe(client_t *c, void *object, int id, int count, const int *granted) {
  (void)c;
  cmosquitto_client *client = object;
  client->events.subscribed(client->context, id, count > 0 ? granted[0] : 128);
}

static void on_message(client_t *c, void *object, message_t *raw, properties_t *found) {
  (void)c;
  cmosquitto_client *client = object;
  char *response = NULL;
  void *correlation = NULL;
  uint16_t count = 0;
  library.property_read_string(found, RESPONSE_TOPIC, &response, false);
  library.property_read_binary(found, CORRELATION_DATA, &correlation, &count, false);
  cmosquitto_message message = {
      .topic = raw->topic,
      .payload = raw->payload,
      .payload_count = raw->payload ? raw->payloadlen : 0,
      .retained = raw->retain,
      .response_topic = response,
      .correlation = correlation,
      .correlation_count = correlation ? count : 0,
  };
  client->events.message(client->context, &message);
  free(response);
  free(correlation);
}

// Why OpenSSL has refused the broker's certificate; null: it has not, or does not say.
static const char *refused_certificate(client_t *c) {
  if (!verification.connection || !verification.result || !verification.text) return NULL;
  void *connection = verification.connection(c);
  long result = connection ? verification.result(connection) : 0;
  return result ? verification.text(result) : NULL;
}

static void on_log(client_t *c, void *object, int level, const char *text) {
  cmosquitto_client *client = object;
  if (level != LOG_ERROR) return;
  const char *reason = NULL;
  if (strstr(text, "host name verification failed")) {
    reason = "the broker's certificate is for another name";
  } else if (strstr(text, "OpenSSL")) {
    // OpenSSL Error[0]: error:0A000086:SSL routines::certificate verify failed
    reason = strrchr(text, ':');
    reason = reason ? reason + 1 : text;
    while (*reason == ' ') reason++;
    const char *refused = strstr(reason, "verify failed") ? refused_certificate(c) : NULL;
    if (refused) reason = refused;
  }
  if (!reason) return;
  // The first error is the cause of the others.
  if (!client->tls_error[0]) {
    snprintf(client->tls_error, sizeof client->tls_error, "%s", reason);
  }
}

static int32_t configure(cmosquitto_client *client, const cmosquitto_options *options) {
  client_t *c = client->client;
  int result = library.int_option(
      c, MOSQ_OPT_PROTOCOL_VERSION, options->version5 ? VERSION_5 : VERSION_311);
  if (!result) result = library.int_option(c, MOSQ_OPT_TCP_NODELAY, 1);
  if (!result) result = library.max_inflight_messages_set(c, options->window);
  // As for programs with threads, the library then writes in cmosquitto_write only.
  if (!result && !options->tls) result = library.threaded_set(c, true);
  if (!result && options->user) {
    result = library.username_pw_set(c, options->user, options->password);
  }
  if (!result && options->will_topic) {
    result = library.will_set(
        c, options->will_topic, (int)strlen(options->will_payload), options->will_payload, 1, true);
  }
  if (!result && options->tls) {
    if (!options->ca_file) result = library.int_option(c, MOSQ_OPT_TLS_USE_OS_CERTS, 1);
    if (!result && (options->ca_file || options->certificate_file)) {
      result = library.tls_set(
          c, options->ca_file, options->ca_file ? NULL : "/etc/ssl/certs",
          options->certificate_file, options->key_file, NULL);
    }
    if (!result && options->alpn) {
      result = library.string_option(c, MOSQ_OPT_TLS_ALPN, options->alpn);
    }
  }
  return result;
}

cmosquitto_client *cmosquitto_make(
    const cmosquitto_options *options, cmosquitto_events events, void *context, int32_t *result) {
  cmosquitto_client *client = calloc(1, sizeof *client);
  *result = 1;
  if (!client) return NULL;
  client->events = events;
  client->context = context;
  client->version5 = options->version5;
  client->is_tls = options->tls;
  client->client = library.new(options->client_id, true, client);
  if (!client->client) {
    free(client);
    return NULL;
  }
  *result = configure(client, options);
  if (*result) {
    cmosquitto_destroy(client);
    return NULL;
  }
  library.connect_v5_callback_set(client->client, on_connect);
  library.disconnect_v5_callback_set(client->client, on_disconnect);
  library.publish_v5_callback_set(client->client, on_publish);
  library.subscribe_callback_set(client->client, on_subscribe);
  library.message_v5_callback_set(client->client, on_message);
  library.log_callback_set(client->client, on_log);
  return client;
}

void cmosquitto_destroy(cmosquitto_client *client) {
  library.destroy(client->client);
  free(client);
}

int32_t cmosquitto_connect(
    cmosquitto_client *client, const char *host, uint16_t port, uint16_t keep_alive_seconds,
    uint32_t maximum_packet) {
  if (!client->version5) {
    return library.connect(client->client, host, port, keep_alive_seconds);
  }
  mosquitto_property *properties = NULL;
  int result = library.property_add_int32(&properties, MAXIMUM_PACKET_SIZE, maximum_packet);
  if (!result) {
    result = library.connect_bind_v5(
        client->client, host, port, keep_alive_seconds, NULL, properties);
  }
  library.property_free_all(&properties);
  return result;
}

int32_t cmosquitto_socket(cmosquitto_client *client) { return library.socket(client->client); }

bool cmosquitto_wants_to_write(cmosquitto_client *client) {
  return library.want_write(client->client);
}

int32_t cmosquitto_read(cmosquitto_client *client, int32_t limit, bool *more) {
  *more = false;
  for (int32_t index = 0; index < limit; index++) {
    // The library leaves the reason in errno why it has stopped. A packet that TLS has decrypted
    // already does not make the socket readable, so it must be read until there is none.
    errno = 0;
    int result = library.loop_read(client->client, 1);
    if (result) return result;
    if (errno == EAGAIN || errno == EWOULDBLOCK || library.socket(client->client) < 0) return 0;
  }
  *more = true;
  return 0;
}

int32_t cmosquitto_write(cmosquitto_client *client) { return library.loop_write(client->client, 1); }

int32_t cmosquitto_tick(cmosquitto_client *client) { return library.loop_misc(client->client); }

int32_t cmosquitto_publish(
    cmosquitto_client *client, int32_t *message_id, const char *topic, const void *payload,
    int32_t payload_count, int32_t qos, bool retain, const void *correlation,
    int32_t correlation_count, const cmosquitto_property *properties, int32_t property_count) {
  mosquitto_property *list = NULL;
  int result = 0;
  if (client->version5 && correlation_count > 0) {
    result = library.property_add_binary(
        &list, CORRELATION_DATA, correlation, (uint16_t)correlation_count);
  }
  for (int32_t index = 0; client->version5 && !result && index < property_count; index++) {
    result = library.property_add_string_pair(
        &list, USER_PROPERTY, properties[index].name, properties[index].value);
  }
  if (!result) {
    result = library.publish_v5(
        client->client, message_id, topic, payload_count, payload, qos, retain, list);
  }
  library.property_free_all(&list);
  return result;
}

int32_t cmosquitto_subscribe(
    cmosquitto_client *client, int32_t *message_id, const char *filter, int32_t qos) {
  return library.subscribe(client->client, message_id, filter, qos);
}

int32_t cmosquitto_disconnect(cmosquitto_client *client) {
  return library.disconnect(client->client);
}

const char *cmosquitto_text(cmosquitto_client *client, int32_t result) {
  if (client && client->tls_error[0]) return client->tls_error;
  if (result != CMOSQUITTO_ERRNO) return library.strerror(result);
  // Where the broker has closed the connection, the next write of TLS decides which of these it is.
  bool is_closed = errno == EPROTO || errno == EPIPE || errno == ECONNRESET;
  if (client && client->is_tls && is_closed) {
    return "the broker closed the TLS connection without a reason";
  }
  return strerror(errno);
}

const char *cmosquitto_refusal(bool version5, int32_t reason) {
  return version5 ? library.reason_string(reason) : library.connack_string(reason);
}
