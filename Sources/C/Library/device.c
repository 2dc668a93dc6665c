/* Devices and their database. */
#include "device.h"

#include <stdlib.h>
#include <string.h>

/* Less is refused at once. */
#define LEAST_BLOCK 4096

static const atto_config defaults = {
    .size = sizeof defaults, .max_bearers = 16, .mtu = 517, .max_procedures = 16,
    .max_pipelined = 16, .outbox_limit = 4096, .event_limit = 4096, .prepared_writes = 128,
    .prepared_octets = 4096, .max_results = 4096, .transaction_timeout = 30000000000};

int atto_config_init_sized(size_t size, atto_config *config) {
  if (config == NULL || size < CONFIG_0_9) return ATTO_ERR_ARGUMENT;
  memset(config, 0, size);
  memcpy(config, &defaults, size < sizeof defaults ? size : sizeof defaults);
  config->size = size > UINT32_MAX ? UINT32_MAX : (uint32_t)size;
  return judge_size(size, CONFIG_0_9, sizeof defaults);
}

int(atto_config_init)(atto_config *config) { return atto_config_init_sized(CONFIG_0_9, config); }

static bool is_valid(const atto_config *config) {
  return config->max_bearers >= 1 && config->max_bearers <= 65535 &&
         config->mtu >= 23 && config->mtu <= 65535 &&
         config->max_procedures >= 1 && config->max_procedures <= 65535 &&
         config->max_pipelined <= 65535 && config->outbox_limit >= 1 &&
         config->outbox_limit <= 1 << 30 && config->event_limit >= 1 &&
         config->event_limit <= 1 << 30 && config->prepared_writes <= 65535 &&
         config->prepared_octets <= 1 << 24 && config->max_results >= 1 &&
         config->max_results <= 65535 && config->transaction_timeout > 0;
}

/* Whether the library knows the caller's structures. */
static int judge_sizes(size_t row_size, size_t event_size, const atto_config *config) {
  int result = judge_size(row_size, ROW_0_9, sizeof(atto_row));
  if (result == ATTO_OK) result = judge_size(event_size, EVENT_0_9, sizeof(atto_event));
  if (result < 0 || config == NULL) return result;
  return judge_size(config->size, CONFIG_0_9, sizeof *config);
}

static int start(atto *device, const atto_config *wanted) {
  atto_config config = defaults;
  if (wanted != NULL) memcpy(&config, wanted, wanted->size);
  if (!is_valid(&config)) return ATTO_ERR_ARGUMENT;
  device->event_limit = config.event_limit;
  ENTER_DEVICE(device);
  device->core = attocore_create(&config);
  LEAVE(ATTO_OK);
}

int atto_create_sized(
    size_t row_size, size_t event_size, const atto_config *config, atto **out) {
  if (out == NULL) return ATTO_ERR_ARGUMENT;
  *out = NULL;
  int result = judge_sizes(row_size, event_size, config);
  if (result < 0) return result;
  atto *device = calloc(1, sizeof *device);
  if (device == NULL) return ATTO_ERR_MEMORY;
  result = start(device, config);
  if (result == ATTO_OK) *out = device; else free(device);
  return result;
}

int(atto_create)(const atto_config *config, atto **out) {
  return atto_create_sized(ROW_0_9, EVENT_0_9, config, out);
}

int atto_create_in_sized(
    size_t row_size, size_t event_size, const atto_config *config, void *block, size_t size,
    atto **out) {
  if (out == NULL) return ATTO_ERR_ARGUMENT;
  *out = NULL;
  int result = judge_sizes(row_size, event_size, config);
  if (result < 0) return result;
  if (block == NULL || (uintptr_t)block % 16 != 0) return ATTO_ERR_ARGUMENT;
  if (size < LEAST_BLOCK) return ATTO_ERR_MEMORY;
  atto *device = block;
  memset(device, 0, sizeof *device);
  size_t head = (sizeof *device + 15) & ~(size_t)15;
  heap_prepare(&device->heap, (char *)block + head, size - head);
  device->has_block = true;
  result = start(device, config);
  if (result == ATTO_OK) *out = device;
  return result;
}

int(atto_create_in)(const atto_config *config, void *block, size_t size, atto **out) {
  return atto_create_in_sized(ROW_0_9, EVENT_0_9, config, block, size, out);
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

/* The row at a place of a caller's table, whose rows have this size. */
static atto_row row_at(const atto_row *table, size_t index, size_t size) {
  atto_row row = {0};
  memcpy(&row, (const char *)table + index * size, size);
  return row;
}

int atto_add_services_sized(
    size_t row_size, atto *device, const atto_row *table, size_t rows, uint16_t *handles,
    int64_t now) {
  int known = judge_size(row_size, ROW_0_9, sizeof *table);
  if (known < 0) return known;
  if (table == NULL || rows == 0 || rows > SIZE_MAX / row_size) return ATTO_ERR_ARGUMENT;
  for (size_t i = 0; i < rows; i++) {
    atto_row row = row_at(table, i, row_size);
    if (!is_row(&row)) return ATTO_ERR_ARGUMENT;
  }
  if (table->kind > ATTO_SECONDARY_SERVICE) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  volatile size_t first = 0;
  int result = ATTO_OK;
  for (size_t i = 0; result == ATTO_OK && i < rows; i++) {
    atto_row row = row_at(table, i, row_size);
    if (row.kind <= ATTO_SECONDARY_SERVICE) {
      first = i;
      attocore_begin_service(device->core, &row);
    } else {
      result = attocore_add_row(device->core, &row);
    }
    bool is_last =
        i + 1 == rows || row_at(table, i + 1, row_size).kind <= ATTO_SECONDARY_SERVICE;
    if (result == ATTO_OK && is_last) {
      result = attocore_end_service(device->core, handles == NULL ? NULL : handles + first);
      if (result > 0) result = ATTO_OK;
    }
  }
  pump(device, now);
  LEAVE(result);
}

int(atto_add_services)(
    atto *device, const atto_row *table, size_t rows, uint16_t *handles, int64_t now) {
  return atto_add_services_sized(ROW_0_9, device, table, rows, handles, now);
}

int atto_begin_service(atto *device, atto_uuid uuid, int kind) {
  if (kind != ATTO_PRIMARY_SERVICE && kind != ATTO_SECONDARY_SERVICE) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  atto_row row = {.kind = (uint8_t)kind, .uuid = uuid};
  attocore_begin_service(device->core, &row);
  LEAVE(ATTO_OK);
}

int atto_add_row_sized(size_t row_size, atto *device, const atto_row *given) {
  int known = judge_size(row_size, ROW_0_9, sizeof *given);
  if (known < 0) return known;
  if (given == NULL) return ATTO_ERR_ARGUMENT;
  atto_row row = row_at(given, 0, row_size);
  if (!is_row(&row) || row.kind <= ATTO_SECONDARY_SERVICE) return ATTO_ERR_ARGUMENT;
  ENTER_DEVICE(device);
  LEAVE(attocore_add_row(device->core, &row));
}

int(atto_add_row)(atto *device, const atto_row *row) {
  return atto_add_row_sized(ROW_0_9, device, row);
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
