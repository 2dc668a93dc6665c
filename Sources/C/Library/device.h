/* The structures behind the opaque types, and how a call enters the Swift part. */
#ifndef ATTO_DEVICE_H
#define ATTO_DEVICE_H

#include <stdbool.h>

#include "events.h"
#include "heap.h"

struct atto {
  struct heap heap;
  void *core;
  atto_bearer *bearers;
  uint32_t event_limit;
  bool is_lost, has_block;
};

struct atto_bearer {
  atto *owner;
  void *core;
  atto_bearer *next, *previous;
  struct event_queue events;
  bool confirms;
  /* Whether atto_linux_drive has ended the bearer, and its errno. */
  bool has_ended;
  int16_t error;
};

/* Enters the Swift part for `handle`, a device or a bearer. Memory that runs out comes back here:
   the device is lost. Every function that enters must leave. */
#define ENTER_DEVICE(device)                             \
  if ((device) == NULL) return ATTO_ERR_ARGUMENT;        \
  if ((device)->is_lost) return ATTO_ERR_MEMORY;         \
  if (_setjmp((device)->heap.exhausted) != 0) {          \
    heap_current = NULL;                                 \
    (device)->is_lost = true;                            \
    return ATTO_ERR_MEMORY;                              \
  }                                                      \
  heap_current = &(device)->heap
#define ENTER(bearer)                                    \
  if ((bearer) == NULL) return ATTO_ERR_ARGUMENT;        \
  ENTER_DEVICE((bearer)->owner)
#define LEAVE(result)                                    \
  do {                                                   \
    int result_ = (result);                              \
    heap_current = NULL;                                 \
    return result_;                                      \
  } while (0)

/* The sizes of the structures that grow, as they were in version 0.9: the least that a caller has,
   and all that a function without `_sized` touches. */
enum { CONFIG_0_9 = 48, ROW_0_9 = 40, EVENT_0_9 = sizeof(void *) == 8 ? 64 : 56 };

/* Whether a caller's structure has a size between the two: ATTO_OK, or the error. */
static inline int judge_size(size_t size, size_t least, size_t most) {
  return size < least ? ATTO_ERR_ARGUMENT : size > most ? ATTO_ERR_VERSION : ATTO_OK;
}

/* Whether a caller's value can be one: not null unless it is empty. */
static inline bool is_value(const void *value, size_t length) {
  return (value != NULL || length == 0) && length <= 65535;
}

static inline bool are_values(const atto_value *values, size_t count) {
  if (values == NULL || count == 0 || count > 65535) return false;
  for (size_t i = 0; i < count; i++) {
    if (values[i].handle == 0 || !is_value(values[i].value, values[i].length)) return false;
  }
  return true;
}

/* The functions of the Swift part, but for those that client.c declares. */
void *attocore_create(const atto_config *config);
void attocore_destroy(void *core);
void attocore_begin_service(void *core, const atto_row *row);
int32_t attocore_add_row(void *core, const atto_row *row);
int32_t attocore_end_service(void *core, uint16_t *handles);
int32_t attocore_remove_service(void *core, uint16_t handle);
int32_t attocore_set_value(void *core, uint16_t handle, const void *value, size_t length);
int32_t attocore_get_value(void *core, uint16_t handle, void *room, size_t size, size_t *length);
int32_t attocore_find_handle(void *core, atto_uuid type, uint16_t after);
void attocore_database_hash(void *core, uint8_t *hash);
void *attocore_bearer_create(void *core, uint32_t flags, uint32_t mtu, void *queue);
void attocore_bearer_destroy(void *core);
void attocore_link_ended(void *core);
int32_t attocore_feed(void *core, const void *pdu, size_t length, int64_t now);
int32_t attocore_peek(void *core, const void **pdu);
int32_t attocore_sent(void *core);
int32_t attocore_deadline(void *core, int64_t *time);
int32_t attocore_advance(void *core, int64_t now);
int32_t attocore_mtu(void *core);
void attocore_pump(void *core, int64_t now);
void attocore_trim(void *core);
int32_t attocore_confirm(void *core);
int32_t attocore_send_raw(void *core, const void *pdu, size_t length);
void attocore_set_security(void *core, uint8_t level, uint8_t key_size);
int32_t attocore_answer(
    void *core, uint64_t id, int32_t kind, const void *value, size_t length, int64_t now);
int32_t attocore_subscriptions(void *core, uint16_t handle);
int32_t attocore_notify(void *core, uint16_t handle, const void *value, size_t length);
int32_t attocore_notify_multiple(void *core, const atto_value *values, size_t count);
int32_t attocore_indicate(
    void *core, uint16_t handle, const void *value, size_t length, int64_t now, uint64_t *id);
int32_t attocore_save_state(void *core, void *room, size_t size, size_t *length);
int32_t attocore_restore_state(void *core, const void *state, size_t length, int64_t now);
int32_t attocore_set_signing_key(void *core, const uint8_t *key, uint32_t counter);
int32_t attocore_sign_counter(void *core, uint32_t *counter);
void attocore_cancel(void *core, uint64_t id, int64_t now);
void attocore_security_raised(void *core, bool raised, int64_t now);

#endif
