/* The procedures of transcripts, and their results as text. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

enum form { SERVICES, INCLUDES, CHARACTERISTICS, DESCRIPTORS, VALUE, PAIRS, VALUES, MTU, PLAIN };

/* The procedures in progress: their form, and the text of their results so far. */
static struct entry {
  uint64_t id;
  enum form form;
  char text[8192];
} entries[64];

static struct entry *begin(uint64_t id, enum form form) {
  for (unsigned i = 0; i < 64; i++) {
    if (entries[i].id != 0) continue;
    entries[i].id = id;
    entries[i].form = form;
    entries[i].text[0] = 0;
    return &entries[i];
  }
  return NULL;
}

/* Results arrive together, just before their end, so that they belong to the next one. */
static char pending[8192];
static size_t value_count;

static void append(const char *text) {
  size_t length = strlen(pending);
  snprintf(pending + length, sizeof pending - length, "%s%s", length > 0 ? " " : "", text);
}

/* The text of the procedure with this id, which has ended. */
static void finish(const struct entry *entry, const atto_event *event) {
  char text[8400] = "";
  const char *none = value_count == 0 ? "none" : pending;
  if (event->result == ATTO_ERR_ATT) {
    snprintf(text, sizeof text, "%s%serror 0x%02X 0x%04X", pending, value_count > 0 ? " " : "",
             event->att_error, event->handle);
  } else if (event->result < 0) {
    strcpy(text, event->result == ATTO_ERR_TIMEOUT ? "timeout"
                 : event->result == ATTO_ERR_CANCELLED ? "cancelled"
                 : event->result == ATTO_ERR_FAILED ? "dead"
                 : event->result == ATTO_ERR_PROTOCOL || event->result == ATTO_ERR_LIMIT
                     ? "violation"
                     : "misuse");
  } else {
    switch (entry->form) {
      case VALUE: snprintf(text, sizeof text, "value%s%s", *pending ? " " : "", pending); break;
      case VALUES: snprintf(text, sizeof text, "values %s", pending); break;
      case MTU: snprintf(text, sizeof text, "mtu %d", atto_mtu(seats[current].bearer)); break;
      case PLAIN: strcpy(text, "ok"); break;
      default: snprintf(text, sizeof text, "%s", none);
    }
  }
  came(text);
}

void note(const atto_event *event) {
  char uuid[ATTO_UUID_TEXT], value[1100], text[1300];
  atto_uuid_text(event->uuid, uuid);
  if (event->type == ATTO_EVENT_NOTIFICATION || event->type == ATTO_EVENT_INDICATION) {
    hex(value, event->data, event->length);
    snprintf(text, sizeof text, "%s 0x%04X%s%s",
             event->type == ATTO_EVENT_NOTIFICATION ? "notification" : "indication",
             event->handle, event->length > 0 ? " " : "", value);
    return came(text);
  }
  if (event->type == ATTO_EVENT_COMPLETE) {
    for (unsigned i = 0; i < 64; i++) {
      if (entries[i].id != event->id) continue;
      finish(&entries[i], event);
      entries[i].id = 0;
      break;
    }
    pending[0] = 0;
    value_count = 0;
    return;
  }
  value_count++;
  switch (event->type) {
    case ATTO_EVENT_SERVICE:
      snprintf(text, sizeof text, "0x%04X-0x%04X=%s", event->handle, event->end_handle, uuid);
      break;
    case ATTO_EVENT_INCLUDE:
      snprintf(text, sizeof text, "0x%04X=0x%04X-0x%04X:%s", event->handle, event->value_handle,
               event->end_handle, uuid);
      break;
    case ATTO_EVENT_CHARACTERISTIC:
      snprintf(text, sizeof text, "0x%04X/0x%04X=%s:%02x", event->handle, event->value_handle,
               uuid, event->properties);
      break;
    case ATTO_EVENT_DESCRIPTOR:
      snprintf(text, sizeof text, "0x%04X=%s", event->handle, uuid);
      break;
    default: {
      enum form form = VALUE;
      for (unsigned i = 0; i < 64; i++)
        if (entries[i].id != 0) form = entries[i].form;
      hex(value, event->data, event->length);
      if (form == PAIRS) snprintf(text, sizeof text, "0x%04X=%s", event->handle, value);
      else if (form == VALUES) snprintf(text, sizeof text, "%s", *value ? value : "-");
      else snprintf(text, sizeof text, "%s", value);
    }
  }
  append(text);
}

static uint16_t handle_of(const char *word) { return (uint16_t)strtoul(word, NULL, 16); }

/* Reads 0x0001-0xFFFF, or all for a missing word. */
static void range_of(const char *word, uint16_t *start, uint16_t *end) {
  *start = 1;
  *end = 0xFFFF;
  if (word == NULL) return;
  *start = handle_of(word);
  *end = handle_of(strchr(word, '-') + 1);
}

void start_procedure(struct seat *seat, char *text) {
  char *words[32] = {0};
  int count = 0;
  for (char *word = strtok(text, " "); word != NULL && count < 32; word = strtok(NULL, " "))
    words[count++] = word;
  atto_bearer *bearer = seat->bearer;
  const char *name = words[0];
  uint16_t handle = count > 1 ? handle_of(words[1]) : 0, start, end;
  uint8_t value[2048];
  size_t length = count > 2 ? read_octets(words[2], value, sizeof value) : 0;
  uint16_t offset = count > 2 ? (uint16_t)atoi(words[2]) : 0;
  atto_uuid uuid = {0, 0};
  if (count > 1) atto_uuid_parse(words[1], &uuid);
  enum form form = PLAIN;
  uint64_t id = 0;
  int result = ATTO_ERR_ARGUMENT;
#define IS(x) (strcmp(name, x) == 0)
  if (IS("exchange-mtu")) {
    form = MTU;
    result = atto_exchange_mtu(bearer, (uint32_t)atoi(words[1]), now, &id);
  } else if (IS("primary-services")) {
    form = SERVICES;
    range_of(words[1], &start, &end);
    result = atto_discover_primary_services(bearer, start, end, now, &id);
  } else if (IS("secondary-services")) {
    form = SERVICES;
    result = atto_discover_secondary_services(bearer, now, &id);
  } else if (IS("primary-services-by-uuid")) {
    form = SERVICES;
    result = atto_discover_primary_services_by_uuid(bearer, uuid, now, &id);
  } else if (IS("includes")) {
    form = INCLUDES;
    range_of(words[1], &start, &end);
    result = atto_find_included_services(bearer, start, end, now, &id);
  } else if (IS("characteristics")) {
    form = CHARACTERISTICS;
    range_of(words[1], &start, &end);
    result = atto_discover_characteristics(bearer, start, end, now, &id);
  } else if (IS("characteristics-by-uuid")) {
    form = CHARACTERISTICS;
    range_of(words[2], &start, &end);
    result = atto_discover_characteristics_by_uuid(bearer, uuid, start, end, now, &id);
  } else if (IS("descriptors")) {
    form = DESCRIPTORS;
    range_of(words[1], &start, &end);
    result = atto_discover_descriptors(bearer, start, end, now, &id);
  } else if (IS("read")) {
    form = VALUE;
    result = atto_read(bearer, handle, now, &id);
  } else if (IS("read-long")) {
    form = VALUE;
    result = atto_read_long(bearer, handle, offset, now, &id);
  } else if (IS("read-blob")) {
    form = VALUE;
    result = atto_read_blob(bearer, handle, offset, now, &id);
  } else if (IS("read-by-uuid")) {
    form = PAIRS;
    range_of(words[2], &start, &end);
    result = atto_read_by_uuid(bearer, uuid, start, end, now, &id);
  } else if (IS("read-multiple") || IS("read-multiple-variable")) {
    uint16_t handles[32];
    for (int i = 1; i < count; i++) handles[i - 1] = handle_of(words[i]);
    form = IS("read-multiple") ? VALUE : VALUES;
    result = form == VALUE
                 ? atto_read_multiple(bearer, handles, (size_t)count - 1, now, &id)
                 : atto_read_multiple_variable(bearer, handles, (size_t)count - 1, now, &id);
  } else if (IS("write")) {
    result = atto_write(bearer, handle, value, length, now, &id);
  } else if (IS("write-long")) {
    result = atto_write_long(bearer, handle, 0, value, length, now, &id);
  } else if (IS("prepare")) {
    length = count > 3 ? read_octets(words[3], value, sizeof value) : 0;
    result = atto_prepare_write(bearer, handle, offset, value, length, now, &id);
  } else if (IS("execute") || IS("cancel")) {
    result = atto_execute_write(bearer, IS("execute"), now, &id);
  } else if (IS("reliable-write")) {
    static uint8_t parts[16][512];
    atto_value writes[16];
    size_t number = 0;
    for (int i = 1; i + 1 < count; i += 2, number++) {
      writes[number].handle = handle_of(words[i]);
      writes[number].length = (uint16_t)read_octets(words[i + 1], parts[number], 512);
      writes[number].value = parts[number];
    }
    result = atto_reliable_writes(bearer, writes, number, now, &id);
  } else if (IS("write-command")) {
    result = atto_write_without_response(bearer, handle, value, length);
    if (result < 0) complain("no command: %s", atto_strerror(result));
    return;
  } else if (IS("signed-write") && count == 5) {
    uint8_t key[16];
    read_octets(words[4], key, 16);
    result = atto_signed_write(
        bearer, handle, value, length, (uint32_t)strtoul(words[3], NULL, 10), key);
    if (result < 0) complain("no command: %s", atto_strerror(result));
    return;
  }
  if (result == ATTO_OK) begin(id, form);
  else came(result != ATTO_ERR_FAILED ? "misuse" : seat->has_timed_out ? "timeout" : "dead");
}
