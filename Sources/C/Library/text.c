#include <string.h>

#include "../include/atto.h"

#define BASE_LOW UINT64_C(0x800000805F9B34FB)

const char *atto_version(void) { return ATTO_VERSION; }

const char *atto_strerror(int result) {
  switch (result) {
    case ATTO_ERR_ARGUMENT: return "invalid argument";
    case ATTO_ERR_MEMORY: return "out of memory";
    case ATTO_ERR_AGAIN: return "no room now: take output and events first";
    case ATTO_ERR_LIMIT: return "a limit of the configuration is reached";
    case ATTO_ERR_DATABASE: return "the handles collide or are not increasing";
    case ATTO_ERR_NOT_FOUND: return "not found";
    case ATTO_ERR_LENGTH: return "the length is not allowed";
    case ATTO_ERR_STATE: return "not possible in this state";
    case ATTO_ERR_FAILED: return "the bearer has failed or its link has ended";
    case ATTO_ERR_ATT: return "the peer answered with an ATT error";
    case ATTO_ERR_PROTOCOL: return "the peer broke the protocol";
    case ATTO_ERR_TIMEOUT: return "the peer did not respond in time";
    case ATTO_ERR_CANCELLED: return "cancelled";
    case ATTO_ERR_NOT_SUBSCRIBED: return "the client has not subscribed";
    case ATTO_ERR_VERSION: return "the program needs a newer version of libatto";
    default: return result < 0 ? "unknown error" : "success";
  }
}

const char *atto_att_error_name(uint8_t code) {
  static const char *const names[] = {
      "Invalid Handle", "Read Not Permitted", "Write Not Permitted", "Invalid PDU",
      "Insufficient Authentication", "Request Not Supported", "Invalid Offset",
      "Insufficient Authorization", "Prepare Queue Full", "Attribute Not Found",
      "Attribute Not Long", "Encryption Key Size Too Short", "Invalid Attribute Value Length",
      "Unlikely Error", "Insufficient Encryption", "Unsupported Group Type",
      "Insufficient Resources", "Database Out Of Sync", "Value Not Allowed"};
  if (code >= 1 && code <= sizeof names / sizeof *names) return names[code - 1];
  if (code >= 0x80 && code <= 0x9F) return "Application Error";
  switch (code) {
    case 0xFC: return "Write Request Rejected";
    case 0xFD: return "Client Characteristic Configuration Descriptor Improperly Configured";
    case 0xFE: return "Procedure Already In Progress";
    case 0xFF: return "Out Of Range";
    default: return "error";
  }
}

atto_uuid atto_uuid16(uint16_t number) { return (atto_uuid)ATTO_UUID16(number); }

uint16_t atto_uuid_short(atto_uuid uuid) {
  if (uuid.low != BASE_LOW || (uuid.high & 0xFFFF0000FFFFFFFFu) != 0x1000) return 0;
  return (uint16_t)(uuid.high >> 32);
}

static int digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

int atto_uuid_parse(const char *text, atto_uuid *uuid) {
  if (text == NULL || uuid == NULL) return ATTO_ERR_ARGUMENT;
  atto_uuid parsed = {0, 0};
  size_t length = strlen(text);
  if (length != 4 && length != 36) return ATTO_ERR_ARGUMENT;
  for (size_t i = 0; i < length; i++) {
    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (text[i] != '-') return ATTO_ERR_ARGUMENT;
      continue;
    }
    int value = digit(text[i]);
    if (value < 0) return ATTO_ERR_ARGUMENT;
    parsed.high = parsed.high << 4 | parsed.low >> 60;
    parsed.low = parsed.low << 4 | (unsigned)value;
  }
  *uuid = length == 4 ? atto_uuid16((uint16_t)parsed.low) : parsed;
  return ATTO_OK;
}

char *atto_uuid_text(atto_uuid uuid, char text[ATTO_UUID_TEXT]) {
  if (text == NULL) return NULL;
  static const char digits[] = "0123456789abcdef";
  char *out = text;
  uint16_t number = atto_uuid_short(uuid);
  if (number != 0) {
    for (int shift = 12; shift >= 0; shift -= 4) {
      char c = digits[number >> shift & 15];
      *out++ = c >= 'a' ? (char)(c - 'a' + 'A') : c;
    }
  } else {
    for (int i = 0; i < 32; i++) {
      if (i == 8 || i == 12 || i == 16 || i == 20) *out++ = '-';
      uint64_t half = i < 16 ? uuid.high : uuid.low;
      *out++ = digits[half >> (60 - i % 16 * 4) & 15];
    }
  }
  *out = 0;
  return text;
}
