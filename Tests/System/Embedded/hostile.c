/* Uses most procedures against any server, within limits, for System/Hostile's servers that
   misbehave. Ends with 0 if the server answered to the end, and 3 if the bearer failed. */
#include <atto_linux.h>
#include <stdio.h>
#include <unistd.h>

int main(int count, char **words) {
  int fd = atto_linux_connect(count > 1 ? words[1] : "", ATTO_LOW);
  if (fd < 0) return perror("hostile"), 2;
  static _Alignas(16) char memory[1 << 19];
  atto *device;
  atto_bearer *bearer;
  atto_config config;
  atto_config_init(&config);
  config.transaction_timeout = 300000000;
  config.max_results = 1024;
  if (atto_create_in(&config, memory, sizeof memory, &device) < 0) return 2;
  if (atto_bearer_create(device, 0, 0, &bearer) < 0) return 2;
  int64_t begun = atto_linux_now();
  const uint16_t handles[] = {4, 8};
  const atto_value values[] = {{4, 1, "\x01"}, {8, 1, "\x02"}};
  atto_exchange_mtu(bearer, 0, begun, NULL);
  atto_discover_all(bearer, begun, NULL);
  atto_discover_primary_services_by_uuid(bearer, atto_uuid16(0x180D), begun, NULL);
  atto_find_included_services(bearer, 1, 0xFFFF, begun, NULL);
  atto_discover_characteristics(bearer, 1, 0xFFFF, begun, NULL);
  atto_discover_descriptors(bearer, 1, 0xFFFF, begun, NULL);
  atto_read_long(bearer, 4, 0, begun, NULL);
  atto_read_by_uuid(bearer, atto_uuid16(0x2A37), 1, 0xFFFF, begun, NULL);
  atto_read_multiple(bearer, handles, 2, begun, NULL);
  atto_read_multiple_variable(bearer, handles, 2, begun, NULL);
  atto_write_long(bearer, 4, 0, memory, 40, begun, NULL);
  atto_reliable_writes(bearer, values, 2, begun, NULL);
  atto_subscribe(bearer, 4, 0, ATTO_NOTIFICATIONS, begun, NULL);
  int turn = 0, open = 13;
  while (turn >= 0 && open > 0 && atto_linux_now() - begun < 5000000000) {
    turn = atto_linux_drive(bearer, fd, 100);
    atto_event event;
    while (atto_next_event(bearer, &event) == 1) open -= event.type == ATTO_EVENT_COMPLETE;
  }
  size_t most = 0;
  if (atto_memory(device, NULL, &most) < 0 || most > sizeof memory) return 2;
  atto_destroy(device);
  close(fd);
  return turn < 0 ? 3 : 0;
}
