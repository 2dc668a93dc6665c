/* The client's functions. */
#include "device.h"

/* More handles than a PDU of 65535 octets holds. */
#define MOST_HANDLES 32768

/* Defines atto_NAME, with these parameters behind the bearer. It checks that its arguments are valid,
   and passes them to the function of the Swift part with the same name. */
#define CLIENT_FUNCTION(name, is_valid, arguments, ...)                       \
  int32_t attocore_##name(void *core, __VA_ARGS__);                           \
  int atto_##name(atto_bearer *bearer, __VA_ARGS__) {                         \
    if (!(is_valid)) return ATTO_ERR_ARGUMENT;                                \
    ENTER(bearer);                                                            \
    LEAVE(attocore_##name(bearer->core, arguments));                          \
  }
#define WITH(...) __VA_ARGS__

CLIENT_FUNCTION(exchange_mtu, true, WITH(mtu, now, id), uint32_t mtu, int64_t now, uint64_t *id)

/* Discovering. */

CLIENT_FUNCTION(
    discover_primary_services, true, WITH(start, end, now, id),
    uint16_t start, uint16_t end, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    discover_primary_services_by_uuid, true, WITH(uuid, now, id),
    atto_uuid uuid, int64_t now, uint64_t *id)
CLIENT_FUNCTION(discover_secondary_services, true, WITH(now, id), int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    find_included_services, true, WITH(start, end, now, id),
    uint16_t start, uint16_t end, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    discover_characteristics, true, WITH(start, end, now, id),
    uint16_t start, uint16_t end, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    discover_characteristics_by_uuid, true, WITH(uuid, start, end, now, id),
    atto_uuid uuid, uint16_t start, uint16_t end, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    discover_descriptors, true, WITH(start, end, now, id),
    uint16_t start, uint16_t end, int64_t now, uint64_t *id)
CLIENT_FUNCTION(discover_all, true, WITH(now, id), int64_t now, uint64_t *id)

/* Reading. */

CLIENT_FUNCTION(
    read, handle != 0, WITH(handle, now, id), uint16_t handle, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    read_long, handle != 0, WITH(handle, offset, now, id),
    uint16_t handle, uint16_t offset, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    read_blob, handle != 0, WITH(handle, offset, now, id),
    uint16_t handle, uint16_t offset, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    read_by_uuid, true, WITH(uuid, start, end, now, id),
    atto_uuid uuid, uint16_t start, uint16_t end, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    read_multiple, handles != NULL && count <= MOST_HANDLES, WITH(handles, count, now, id),
    const uint16_t *handles, size_t count, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    read_multiple_variable, handles != NULL && count <= MOST_HANDLES, WITH(handles, count, now, id),
    const uint16_t *handles, size_t count, int64_t now, uint64_t *id)

/* Writing. */

CLIENT_FUNCTION(
    write, handle != 0 && is_value(value, length), WITH(handle, value, length, now, id),
    uint16_t handle, const void *value, size_t length, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    write_long, handle != 0 && is_value(value, length),
    WITH(handle, offset, value, length, now, id),
    uint16_t handle, uint16_t offset, const void *value, size_t length, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    reliable_writes, are_values(values, count), WITH(values, count, now, id),
    const atto_value *values, size_t count, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    prepare_write, handle != 0 && is_value(part, length),
    WITH(handle, offset, part, length, now, id),
    uint16_t handle, uint16_t offset, const void *part, size_t length, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    execute_write, true, WITH(execute, now, id), int execute, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    subscribe, value_handle != 0 && (kinds & ~3) == 0,
    WITH(value_handle, configuration, kinds, now, id),
    uint16_t value_handle, uint16_t configuration, int kinds, int64_t now, uint64_t *id)
CLIENT_FUNCTION(
    write_without_response, handle != 0 && is_value(value, length), WITH(handle, value, length),
    uint16_t handle, const void *value, size_t length)
CLIENT_FUNCTION(
    signed_write, handle != 0 && is_value(value, length) && key != NULL,
    WITH(handle, value, length, counter, key),
    uint16_t handle, const void *value, size_t length, uint32_t counter, const uint8_t key[16])

/* What is under way. */

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
