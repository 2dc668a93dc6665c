/* The client's functions: each checks its arguments and enters the Swift part. */
#include "device.h"

/* More handles than a PDU of 65535 octets holds. */
#define MOST_HANDLES 32768

int atto_exchange_mtu(atto_bearer *bearer, uint32_t mtu, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_exchange_mtu(bearer->core, mtu, now, id != NULL ? id : &unused));
}

int atto_discover_primary_services(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_discover_primary_services(bearer->core, start, end, now, id != NULL ? id :
      &unused));
}

int atto_discover_primary_services_by_uuid(
    atto_bearer *bearer, atto_uuid uuid, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_discover_primary_services_by_uuid(bearer->core, uuid, now, id != NULL ? id :
      &unused));
}

int atto_discover_secondary_services(atto_bearer *bearer, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_discover_secondary_services(bearer->core, now, id != NULL ? id : &unused));
}

int atto_find_included_services(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_find_included_services(bearer->core, start, end, now, id != NULL ? id : &unused));
}

int atto_discover_characteristics(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_discover_characteristics(bearer->core, start, end, now, id != NULL ? id :
      &unused));
}

int atto_discover_characteristics_by_uuid(
    atto_bearer *bearer, atto_uuid uuid, uint16_t start, uint16_t end, int64_t now, uint64_t
    *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_discover_characteristics_by_uuid(bearer->core, uuid, start, end, now, id != NULL
      ? id : &unused));
}

int atto_discover_descriptors(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_discover_descriptors(bearer->core, start, end, now, id != NULL ? id : &unused));
}

int atto_discover_all(atto_bearer *bearer, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_discover_all(bearer->core, now, id != NULL ? id : &unused));
}

int atto_read(atto_bearer *bearer, uint16_t handle, int64_t now, uint64_t *id) {
  if (handle == 0) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_read(bearer->core, handle, now, id != NULL ? id : &unused));
}

int atto_read_long(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, int64_t now, uint64_t *id) {
  if (handle == 0) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_read_long(bearer->core, handle, offset, now, id != NULL ? id : &unused));
}

int atto_read_blob(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, int64_t now, uint64_t *id) {
  if (handle == 0) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_read_blob(bearer->core, handle, offset, now, id != NULL ? id : &unused));
}

int atto_read_by_uuid(
    atto_bearer *bearer, atto_uuid uuid, uint16_t start, uint16_t end, int64_t now, uint64_t
    *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_read_by_uuid(bearer->core, uuid, start, end, now, id != NULL ? id : &unused));
}

int atto_read_multiple(
    atto_bearer *bearer, const uint16_t *handles, size_t count, int64_t now, uint64_t *id) {
  if (handles == NULL || count > MOST_HANDLES) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_read_multiple(bearer->core, handles, count, now, id != NULL ? id : &unused));
}

int atto_read_multiple_variable(
    atto_bearer *bearer, const uint16_t *handles, size_t count, int64_t now, uint64_t *id) {
  if (handles == NULL || count > MOST_HANDLES) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_read_multiple_variable(bearer->core, handles, count, now, id != NULL ? id :
      &unused));
}

int atto_write(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length, int64_t now,
    uint64_t *id) {
  if (handle == 0 || !is_value(value, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_write(bearer->core, handle, value, length, now, id != NULL ? id : &unused));
}

int atto_write_long(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, const void *value, size_t length,
    int64_t now, uint64_t *id) {
  if (handle == 0 || !is_value(value, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_write_long(bearer->core, handle, offset, value, length, now, id != NULL ? id :
      &unused));
}

int atto_reliable_writes(
    atto_bearer *bearer, const atto_value *values, size_t count, int64_t now, uint64_t *id) {
  if (!are_values(values, count)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_reliable_writes(bearer->core, values, count, now, id != NULL ? id : &unused));
}

int atto_prepare_write(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, const void *part, size_t length,
    int64_t now, uint64_t *id) {
  if (handle == 0 || !is_value(part, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_prepare_write(bearer->core, handle, offset, part, length, now, id != NULL ? id :
      &unused));
}

int atto_execute_write(atto_bearer *bearer, int execute, int64_t now, uint64_t *id) {
  ENTER(bearer);
  uint64_t unused;
  LEAVE(attocore_execute_write(bearer->core, execute != 0, now, id != NULL ? id : &unused));
}

int atto_subscribe(
    atto_bearer *bearer, uint16_t value_handle, uint16_t configuration, int kinds, int64_t now,
    uint64_t *id) {
  if (value_handle == 0 || (kinds & ~3) != 0) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  uint64_t unused;
  LEAVE(
      attocore_subscribe(bearer->core, value_handle, configuration, (uint8_t)kinds, now, id !=
      NULL ? id : &unused));
}

int atto_write_without_response(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length) {
  if (handle == 0 || !is_value(value, length)) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_write_without_response(bearer->core, handle, value, length));
}

int atto_signed_write(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length, uint32_t counter,
    const uint8_t key[16]) {
  if (handle == 0 || !is_value(value, length) || key == NULL) return ATTO_ERR_ARGUMENT;
  ENTER(bearer);
  LEAVE(attocore_signed_write(bearer->core, handle, value, length, counter, key));
}

int atto_cancel(atto_bearer *bearer, uint64_t id, int64_t now) {
  ENTER(bearer);
  attocore_cancel(bearer->core, id, now);
  LEAVE(ATTO_OK);
}

int atto_security_raised(atto_bearer *bearer, int raised, int64_t now) {
  ENTER(bearer);
  attocore_security_raised(bearer->core, raised != 0, now);
  LEAVE(ATTO_OK);
}
