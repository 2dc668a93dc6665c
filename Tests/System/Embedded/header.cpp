// The headers in C++, with the warnings that its projects turn on. Compiled only.
#include <atto.h>
#include <atto_linux.h>

static const atto_uuid number = ATTO_UUID16(0x180D);
static const atto_uuid text = ATTO_UUID128(0x0000180D00001000, 0x800000805F9B34FB);

int use(atto_bearer *bearer) {
  atto *device = nullptr;
  atto_config config;
  atto_config_init(&config);
  atto_event event;
  atto_row row = {};
  row.uuid = number.high == text.high ? number : text;
  int result = atto_create(&config, &device) | ::atto_add_row(device, &row);
  result |= atto_add_services(device, &row, 1, nullptr, atto_linux_now());
  result |= atto_next_event(bearer, &event) | atto_linux_next(bearer, 0, 0, &event);
  atto_destroy(device);
  return result;
}
