// The frames between the gateway and the process that holds its connection to a broker.
//
// A frame is the count of its body's octets (4), its kind (1) and the body. Numbers have the
// machine's order. A text, and any other field of variable length, is its count (4) and its octets;
// CMOSQUITTO_ABSENT as the count is a field that is not there.
#pragma once

#include <stdint.h>

static const int32_t CMOSQUITTO_HEADER = 5;
// Octets in a body.
#define CMOSQUITTO_FRAME_LIMIT 524288
// Octets in the payload of a message; larger ones are dropped.
#define CMOSQUITTO_MESSAGE_LIMIT 262144
// Octets in a text that explains something.
#define CMOSQUITTO_WORDS_LIMIT 1024
static const uint32_t CMOSQUITTO_ABSENT = 0xFFFFFFFF;

// From the gateway. CONNECT is the first frame.
enum {
  // u8 version 5; u8 TLS; u16 port, seconds of the keep-alive, unacknowledged messages; u32 octets
  // in a packet of the broker; texts: host, client ID, user, password, file of authorities,
  // certificate, key, ALPN, topic and payload of the last will.
  CMOSQUITTO_CONNECT = 1,
  // u32 ID, 0 at QoS 0; u8 retained; u8 pairs; texts: topic, payload, correlation, and the name and
  // value of each pair, a user property.
  CMOSQUITTO_PUBLISH,
  // u8 QoS; text: filter.
  CMOSQUITTO_SUBSCRIBE,
  // Ends the connection when all before it was sent.
  CMOSQUITTO_DISCONNECT,
};
// User properties of a message.
#define CMOSQUITTO_PAIR_LIMIT 4

// To the gateway.
enum {
  // u16 unacknowledged messages, u32 octets in a packet that the broker accepts; 0: not stated.
  CMOSQUITTO_CONNECTED = 1,
  // u8 kind; u32 reason code; texts: what has happened, the broker's words, the server that it names.
  CMOSQUITTO_ENDED,
  // u32 ID, u8 reason code.
  CMOSQUITTO_PUBLISHED,
  // u8 granted QoS or reason code.
  CMOSQUITTO_SUBSCRIBED,
  // u8 retained; texts: topic, payload, response topic, correlation.
  CMOSQUITTO_MESSAGE,
  // Sent in each period of the keep-alive.
  CMOSQUITTO_ALIVE,
};

// The kinds of CMOSQUITTO_ENDED.
enum {
  // The library cannot be loaded.
  CMOSQUITTO_END_LIBRARY,
  // There was no connection, it was closed before the broker's answer, or it has ended.
  CMOSQUITTO_END_UNREACHABLE,
  CMOSQUITTO_END_CLOSED,
  CMOSQUITTO_END_LOST,
  // The broker has refused the client, or has ended the connection; with a reason code.
  CMOSQUITTO_END_REFUSED,
  CMOSQUITTO_END_BY_BROKER,
};
