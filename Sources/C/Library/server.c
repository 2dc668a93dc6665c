/* The server's functions for one connection. */
#include "device.h"

int atto_set_security(atto_bearer *bearer, int level, int key_size) {
  if (level < ATTO_LOW || level > ATTO_FIPS) return ATTO_ERR_ARGUMENT;
  if (key_size != 0 && (key_size < 7 || key_size > 16)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  attocore_set_security(bearer->core, (uint8_t)level, (uint8_t)key_size);
  LEAVE(ATTO_OK);
}

int atto_answer_value(
    atto_bearer *bearer, uint64_t id, const void *value, size_t length, int64_t now) {
  if (!is_value(value, length)) return ATTO_ERR_ARGUMENT;
  if (length > 512) return ATTO_ERR_LENGTH;
  ENTER(bearer);
  LEAVE(attocore_answer(bearer->core, id, 0, value, length, now));
}

int atto_answer_accept(atto_bearer *bearer, uint64_t id, int64_t now) {
  ENTER(bearer);
  LEAVE(attocore_answer(bearer->core, id, 1, NULL, 0, now));
}

int atto_answer_error(atto_bearer *bearer, uint64_t id, uint8_t code, int64_t now) {
  if (code == 0) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_answer(bearer->core, id, 2, NULL, code, now));
}

int atto_subscriptions(atto_bearer *bearer, uint16_t handle) {
  ENTER(bearer);
  LEAVE(attocore_subscriptions(bearer->core, handle));
}

int atto_notify(atto_bearer *bearer, uint16_t handle, const void *value, size_t length) {
  if (handle == 0 || !is_value(value, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_notify(bearer->core, handle, value, length));
}

int atto_notify_multiple(atto_bearer *bearer, const atto_value *values, size_t count) {
  if (count < 2 || !are_values(values, count)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_notify_multiple(bearer->core, values, count));
}

int atto_indicate(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length, int64_t now,
    uint64_t *id) {
  if (handle == 0 || !is_value(value, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_indicate(bearer->core, handle, value, length, now, id));
}

int atto_save_state(atto_bearer *bearer, void *state, size_t room, size_t *length) {
  if (length == NULL || (state == NULL && room > 0)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_save_state(bearer->core, state, room, length));
}

int atto_restore_state(atto_bearer *bearer, const void *state, size_t length, int64_t now) {
  if (!is_value(state, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_restore_state(bearer->core, state, length, now));
}

int atto_set_signing_key(atto_bearer *bearer, const uint8_t key[16], uint32_t counter) {
  if (key == NULL) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_set_signing_key(bearer->core, key, counter));
}

int atto_sign_counter(atto_bearer *bearer, uint32_t *counter) {
  if (counter == NULL) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_sign_counter(bearer->core, counter));
}
