/* Devices and their database. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

void atto_config_init(atto_config *config) {
  if (config == NULL) return;
  *config = (atto_config){
      .size = sizeof *config, .max_bearers = 16, .mtu = 517, .max_procedures = 16,
      .max_pipelined = 16, .outbox_limit = 4096, .event_limit = 4096, .prepared_writes = 128,
      .prepared_octets = 4096, .max_results = 4096, .transaction_timeout = 30000000000};
}

static bool is_valid(const atto_config *config) {
  return config->size == sizeof *config && config->max_bearers >= 1 &&
         config->max_bearers <= 65535 && config->mtu >= 23 && config->mtu <= 65535 &&
         config->max_procedures >= 1 && config->max_procedures <= 65535 &&
         config->max_pipelined <= 65535 && config->outbox_limit >= 1 &&
         config->outbox_limit <= 1 << 30 && config->event_limit >= 1 &&
         config->event_limit <= 1 << 30 && config->prepared_writes <= 65535 &&
         config->prepared_octets <= 1 << 24 && config->max_results >= 1 &&
         config->max_results <= 65535 && config->transaction_timeout > 0;
}

static int start(atto *device, const atto_config *wanted) {
  atto_config config;
  atto_config_init(&config);
  if (wanted != NULL) config = *wanted;
  if (!is_valid(&config)) return ATTO_ERR_ARGUMENT;
  device->event_limit = config.event_limit;
  ENTER_DEVICE(device);
  device->core = attocore_create(&config);
  LEAVE(ATTO_OK);
}

int atto_create(const atto_config *config, atto **out) {
  if (out == NULL) return ATTO_ERR_ARGUMENT;
  *out = NULL;
  atto *device = calloc(1, sizeof *device);
  if (device == NULL) return ATTO_ERR_MEMORY;
  int result = start(device, config);
  if (result == ATTO_OK) *out = device; else free(device);
  return result;
}

int atto_create_in(const atto_config *config, void *block, size_t size, atto **out) {
  if (out == NULL) return ATTO_ERR_ARGUMENT;
  *out = NULL;
  if (block == NULL || (uintptr_t)block % 16 != 0) return ATTO_ERR_ARGUMENT;
  if (size < ATTO_MINIMUM) return ATTO_ERR_MEMORY;
  atto *device = block;
  memset(device, 0, sizeof *device);
  size_t head = (sizeof *device + 15) & ~(size_t)15;
  heap_prepare(&device->heap, (char *)block + head, size - head);
  device->has_block = true;
  int result = start(device, config);
  if (result == ATTO_OK) *out = device;
  return result;
}

void atto_destroy(atto *device) {
  if (device == NULL) return;
  /* The objects of a lost device are in an unknown state. In a block they need no end. */
  if (!device->is_lost && !device->has_block) {
    while (device->bearers != NULL) atto_bearer_destroy(device->bearers);
    heap_current = &device->heap;
    attocore_destroy(device->core);
    heap_current = NULL;
  }
  if (!device->has_block) free(device);
}

int atto_memory(const atto *device, size_t *used, size_t *most) {
  if (device == NULL) return ATTO_ERR_ARGUMENT;
  if (!device->has_block) return ATTO_ERR_STATE;
  size_t head = (sizeof *device + 15) & ~(size_t)15;
  if (used != NULL) *used = device->heap.used + head;
  if (most != NULL) *most = device->heap.most + head;
  return ATTO_OK;
}

static void pump(atto *device, int64_t now) {
  for (atto_bearer *bearer = device->bearers; bearer != NULL; bearer = bearer->next)
    attocore_pump(bearer->core, now);
}

static bool is_row(const atto_row *row) {
  return row->kind <= ATTO_DESCRIPTOR && row->source <= ATTO_VALUE_DATABASE_HASH &&
         (row->key_size == 0 || (row->key_size >= 7 && row->key_size <= 16)) &&
         is_value(row->value, row->length) && row->length <= 512 && row->max_length <= 512 &&
         (row->kind > ATTO_SECONDARY_SERVICE || row->end_handle == 0 ||
          row->end_handle >= row->handle);
}

int atto_add_services(
    atto *device, const atto_row *table, size_t rows, uint16_t *handles, int64_t now) {
  if (table == NULL || rows == 0) return ATTO_ERR_ARGUMENT;
  for (size_t i = 0; i < rows; i++) {
    if (!is_row(&table[i])) return ATTO_ERR_ARGUMENT;
  }
  if (table[0].kind > ATTO_SECONDARY_SERVICE) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  volatile size_t first = 0;
  int result = ATTO_OK;
  for (size_t i = 0; result == ATTO_OK && i < rows; i++) {
    if (table[i].kind <= ATTO_SECONDARY_SERVICE) {
      first = i;
      attocore_begin_service(device->core, &table[i]);
    } else {
      result = attocore_add_row(device->core, &table[i]);
    }
    bool is_last = i + 1 == rows || table[i + 1].kind <= ATTO_SECONDARY_SERVICE;
    if (result == ATTO_OK && is_last) {
      result = attocore_end_service(device->core, handles == NULL ? NULL : handles + first);
      if (result > 0) result = ATTO_OK;
    }
  }
  pump(device, now);
  LEAVE(result);
}

int atto_begin_service(atto *device, atto_uuid uuid, int kind) {
  if (kind != ATTO_PRIMARY_SERVICE && kind != ATTO_SECONDARY_SERVICE) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  atto_row row = {.kind = (uint8_t)kind, .uuid = uuid};
  attocore_begin_service(device->core, &row);
  LEAVE(ATTO_OK);
}

int atto_add_row(atto *device, const atto_row *row) {
  if (row == NULL || !is_row(row) || row->kind <= ATTO_SECONDARY_SERVICE) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  LEAVE(attocore_add_row(device->core, row));
}

int atto_add_characteristic(
    atto *device, atto_uuid uuid, int properties, int source, const void *value, size_t length) {
  if (properties < 0 || properties > 255 || source < 0 || source > 255 || length > 512)
    return ATTO_ERR_ARGUMENT;
  atto_row row = {
      .kind = ATTO_CHARACTERISTIC, .properties = (uint8_t)properties, .source = (uint8_t)source,
      .uuid = uuid, .value = value, .length = (uint16_t)length};
  return atto_add_row(device, &row);
}

int atto_add_descriptor(atto *device, atto_uuid uuid, const void *value, size_t length) {
  if (length > 512) return ATTO_ERR_ARGUMENT;
  atto_row row = {
      .kind = ATTO_DESCRIPTOR, .source = ATTO_VALUE_CONSTANT, .uuid = uuid, .value = value,
      .length = (uint16_t)length};
  return atto_add_row(device, &row);
}

int atto_end_service(atto *device, uint16_t *service, int64_t now) {
  ENTER_DEVICE(device);
  int result = attocore_end_service(device->core, NULL);
  if (result > 0 && service != NULL) *service = (uint16_t)result;
  pump(device, now);
  LEAVE(result > 0 ? ATTO_OK : result);
}

int atto_add_generic_services(atto *device, const char *name, uint16_t appearance, int64_t now) {
  if (name == NULL || strlen(name) > 248) return ATTO_ERR_ARGUMENT;
  uint8_t look[] = {(uint8_t)appearance, (uint8_t)(appearance >> 8)};
  const atto_row table[] = {
      {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x1800)},
      {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A00), .properties = ATTO_READ,
       .source = ATTO_VALUE_CONSTANT, .value = name, .length = (uint16_t)strlen(name)},
      {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A01), .properties = ATTO_READ,
       .source = ATTO_VALUE_CONSTANT, .value = look, .length = sizeof look},
      {.kind = ATTO_PRIMARY_SERVICE, .uuid = ATTO_UUID16(0x1801)},
      {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2A05), .properties = ATTO_INDICATE,
       .source = ATTO_VALUE_CONSTANT, .value = "\x01\x00\xFF\xFF", .length = 4},
      {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2B29),
       .properties = ATTO_READ | ATTO_WRITE, .source = ATTO_VALUE_CLIENT_FEATURES},
      {.kind = ATTO_CHARACTERISTIC, .uuid = ATTO_UUID16(0x2B2A), .properties = ATTO_READ,
       .source = ATTO_VALUE_DATABASE_HASH}};
  return atto_add_services(device, table, sizeof table / sizeof *table, NULL, now);
}

int atto_remove_service(atto *device, uint16_t handle, int64_t now) {
  if (handle == 0) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  int result = attocore_remove_service(device->core, handle);
  pump(device, now);
  LEAVE(result);
}

int atto_set_value(atto *device, uint16_t handle, const void *value, size_t length) {
  if (handle == 0 || !is_value(value, length)) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  LEAVE(attocore_set_value(device->core, handle, value, length));
}

int atto_get_value(atto *device, uint16_t handle, void *value, size_t room, size_t *length) {
  if (handle == 0 || (value == NULL && room > 0) || length == NULL) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  LEAVE(attocore_get_value(device->core, handle, value, room, length));
}

int atto_find_handle(atto *device, atto_uuid type, uint16_t after) {
  ENTER_DEVICE(device);
  LEAVE(attocore_find_handle(device->core, type, after));
}

int atto_database_hash(atto *device, uint8_t hash[16]) {
  if (hash == NULL) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  attocore_database_hash(device->core, hash);
  LEAVE(ATTO_OK);
}
