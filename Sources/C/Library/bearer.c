/* Bearers: input, output, time and events. */
#include "device.h"

#include <string.h>

int atto_bearer_create(atto *device, uint32_t flags, uint32_t enhanced_mtu, atto_bearer **out) {
  if (out == NULL) return ATTO_ERR_ARGUMENT;
  *out = NULL;
  uint32_t known =
      ATTO_CLIENT_ONLY | ATTO_MANUAL_CONFIRM | ATTO_ASK_SECURITY | ATTO_LINK_MAY_BE_REUSED;
  if ((flags & ~known) != 0) return ATTO_ERR_ARGUMENT;
  if (enhanced_mtu != 0 && (enhanced_mtu < 64 || enhanced_mtu > 65535)) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  atto_bearer *bearer = heap_allocate(&device->heap, sizeof *bearer);
  if (bearer == NULL) longjmp(device->heap.exhausted, 1);
  memset(bearer, 0, sizeof *bearer);
  bearer->owner = device;
  bearer->events.heap = &device->heap;
  bearer->confirms = (flags & ATTO_MANUAL_CONFIRM) == 0;
  bearer->core = attocore_bearer_create(device->core, flags, enhanced_mtu, &bearer->events);
  if (bearer->core == NULL) {
    heap_free(&device->heap, bearer);
    LEAVE(ATTO_ERR_LIMIT);
  }
  bearer->next = device->bearers;
  if (bearer->next != NULL) bearer->next->previous = bearer;
  device->bearers = bearer;
  *out = bearer;
  LEAVE(ATTO_OK);
}

void atto_bearer_destroy(atto_bearer *bearer) {
  if (bearer == NULL || bearer->owner->is_lost) return;
  atto *device = bearer->owner;
  if (_setjmp(device->heap.exhausted) != 0) {
    heap_current = NULL;
    device->is_lost = true;
    return;
  }
  heap_current = &device->heap;
  if (bearer->previous != NULL) bearer->previous->next = bearer->next;
  else device->bearers = bearer->next;
  if (bearer->next != NULL) bearer->next->previous = bearer->previous;
  attocore_bearer_destroy(bearer->core);
  events_free(&bearer->events);
  heap_free(&device->heap, bearer);
  heap_current = NULL;
}

int atto_bearer_link_ended(atto_bearer *bearer) {
  ENTER(bearer);
  attocore_link_ended(bearer->core);
  LEAVE(ATTO_OK);
}

int atto_bearer_feed(atto_bearer *bearer, const void *pdu, size_t length, int64_t now) {
  if (!is_value(pdu, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  if (events_size(&bearer->events) >= bearer->owner->event_limit) LEAVE(ATTO_ERR_AGAIN);
  LEAVE(attocore_feed(bearer->core, pdu, length, now));
}

int atto_bearer_output(atto_bearer *bearer, void *buffer, size_t room) {
  if (buffer == NULL) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  const void *pdu;
  int length = attocore_peek(bearer->core, &pdu);
  if (length > 0 && (size_t)length > room) LEAVE(ATTO_ERR_LENGTH);
  if (length > 0) {
    memcpy(buffer, pdu, (size_t)length);
    attocore_sent(bearer->core);
  }
  LEAVE(length);
}

int atto_bearer_peek(atto_bearer *bearer, const void **pdu) {
  if (pdu == NULL) return ATTO_ERR_ARGUMENT;
  *pdu = NULL;
  ENTER(bearer);
  LEAVE(attocore_peek(bearer->core, pdu));
}

int atto_bearer_sent(atto_bearer *bearer) {
  ENTER(bearer);
  LEAVE(attocore_sent(bearer->core));
}

int atto_deadline(atto_bearer *bearer, int64_t *time) {
  if (time == NULL) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_deadline(bearer->core, time));
}

int atto_advance(atto_bearer *bearer, int64_t now) {
  ENTER(bearer);
  LEAVE(attocore_advance(bearer->core, now));
}

int atto_mtu(atto_bearer *bearer) {
  ENTER(bearer);
  LEAVE(attocore_mtu(bearer->core));
}

int atto_bearer_trim(atto_bearer *bearer) {
  ENTER(bearer);
  if (events_size(&bearer->events) == 0) events_free(&bearer->events);
  attocore_trim(bearer->core);
  LEAVE(ATTO_OK);
}

int atto_next_event_sized(size_t event_size, atto_bearer *bearer, atto_event *event) {
  int known = judge_size(event_size, EVENT_0_9, sizeof *event);
  if (known < 0) return known;
  if (event == NULL) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  atto_event next;
  int taken = events_take(&bearer->events, &next);
  if (taken == 1) memcpy(event, &next, event_size);
  if (taken == 1 && next.type == ATTO_EVENT_INDICATION && bearer->confirms)
    attocore_confirm(bearer->core);
  LEAVE(taken);
}

int(atto_next_event)(atto_bearer *bearer, atto_event *event) {
  return atto_next_event_sized(EVENT_0_9, bearer, event);
}

int atto_confirm(atto_bearer *bearer) {
  ENTER(bearer);
  LEAVE(attocore_confirm(bearer->core));
}

int atto_send_raw(atto_bearer *bearer, const void *pdu, size_t length) {
  if (pdu == NULL || length == 0 || !is_value(pdu, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_send_raw(bearer->core, pdu, length));
}
