// The functions of libmosquitto that the gateway uses, declared here and looked up at run time.
// Neither headers nor the library are needed to build the gateway, or to run it without MQTT. The
// interface of libmosquitto.so.1 does not change; where its header is installed, the compiler
// compares.
//
// One thread uses a client. Its callbacks run within the calls that say so.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct cmosquitto_client cmosquitto_client;

// Results (MOSQ_ERR_...); others are reported by their text.
enum {
  CMOSQUITTO_OK = 0,
  CMOSQUITTO_NO_MEMORY = 1,
  CMOSQUITTO_LOST = 7,
  CMOSQUITTO_ERRNO = 14,
  CMOSQUITTO_NO_PONG = 19,
  CMOSQUITTO_OVERSIZE = 25,
};

// A message of the broker, valid during the callback. Pointers without octets are null.
typedef struct {
  const char *topic;
  const uint8_t *payload;
  int32_t payload_count;
  bool retained;
  const char *response_topic;
  const uint8_t *correlation;
  int32_t correlation_count;
} cmosquitto_message;

// A reason code, and in version 5 the broker's own words and the server that it names, or null;
// valid during the callback.
typedef struct {
  int32_t code;
  const char *words;
  const char *server;
} cmosquitto_reason;

typedef struct {
  // The broker's CONNACK; 0: accepted. The limits are 0 if the broker has stated none.
  void (*connected)(
      void *context, cmosquitto_reason reason, uint16_t receive_maximum, uint32_t maximum_packet);
  // The connection has ended; a result, or in version 5 the broker's reason code.
  void (*disconnected)(void *context, cmosquitto_reason reason);
  // QoS 0: handed to the kernel. QoS 1: the broker's PUBACK, with its reason code.
  void (*published)(void *context, int32_t message_id, int32_t reason);
  // The broker's SUBACK: the granted QoS or a reason code from 128.
  void (*subscribed)(void *context, int32_t message_id, int32_t granted);
  void (*message)(void *context, const cmosquitto_message *message);
} cmosquitto_events;

// Everything that is set before a connection; null pointers where nothing is set.
typedef struct {
  const char *client_id;
  bool version5;
  const char *user;
  const char *password;
  bool tls;
  const char *ca_file;
  const char *certificate_file;
  const char *key_file;
  const char *alpn;
  const char *will_topic;
  const char *will_payload;
  uint16_t window;
} cmosquitto_options;

// Loads the library and looks up its functions; null if it succeeds, otherwise why it failed.
const char *cmosquitto_load(void);

// The functions below require a successful cmosquitto_load.

// Makes a client; null without memory. On failure `result` says why and the client is null.
cmosquitto_client *cmosquitto_make(
    const cmosquitto_options *options, cmosquitto_events events, void *context, int32_t *result);
void cmosquitto_destroy(cmosquitto_client *client);
// Connects, blocking on the name server and on the TCP handshake. Calls back nothing.
int32_t cmosquitto_connect(
    cmosquitto_client *client, const char *host, uint16_t port, uint16_t keep_alive_seconds,
    uint32_t maximum_packet);
// The socket; -1 without one.
int32_t cmosquitto_socket(cmosquitto_client *client);
bool cmosquitto_wants_to_write(cmosquitto_client *client);
// Reads up to `limit` packets and calls back. `more` tells whether there may be others to read now.
int32_t cmosquitto_read(cmosquitto_client *client, int32_t limit, bool *more);
// Writes what waits, as far as the network takes it. Without TLS no other function writes.
int32_t cmosquitto_write(cmosquitto_client *client);
// Sends and checks pings.
int32_t cmosquitto_tick(cmosquitto_client *client);

// A user property of version 5.
typedef struct {
  const char *name;
  const char *value;
} cmosquitto_property;

// Publishes. Octets are copied. With version 3.1.1 the properties are left out.
int32_t cmosquitto_publish(
    cmosquitto_client *client, int32_t *message_id, const char *topic, const void *payload,
    int32_t payload_count, int32_t qos, bool retain, const void *correlation,
    int32_t correlation_count, const cmosquitto_property *properties, int32_t property_count);
int32_t cmosquitto_subscribe(
    cmosquitto_client *client, int32_t *message_id, const char *filter, int32_t qos);
int32_t cmosquitto_disconnect(cmosquitto_client *client);

// Texts in English. The first describes a result, with the TLS library's words where it has said
// some; valid until the next call.
const char *cmosquitto_text(cmosquitto_client *client, int32_t result);
const char *cmosquitto_refusal(bool version5, int32_t reason);
