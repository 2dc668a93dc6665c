/* Discovers a server, reads what can be read, and prints notified values.
 *
 *     cc client.c $(pkg-config --cflags --libs atto) -o client && ./client unix:/tmp/strap 3 */
#include <atto_linux.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  int fd = atto_linux_connect(count > 1 ? words[1] : "", ATTO_LOW), values = 0;
  int wanted = count > 2 ? atoi(words[2]) : 0, result = 0;
  if (fd < 0) return perror("client"), 3;
  atto *device;
  atto_bearer *bearer;
  atto_event event;
  if (atto_create(NULL, &device) < 0 || atto_bearer_create(device, 0, 0, &bearer) < 0) return 1;
  atto_exchange_mtu(bearer, 0, atto_linux_now(), NULL);
  uint64_t discovery = 0;
  atto_discover_all(bearer, atto_linux_now(), &discovery);
  int turn = 1, open = 2; /* procedures that have not completed */
  while (turn >= 0 && (open > 0 || values < wanted)) {
    turn = atto_linux_drive(bearer, fd, -1);
    while (atto_next_event(bearer, &event) == 1) {
      char uuid[ATTO_UUID_TEXT];
      if (event.type == ATTO_EVENT_SERVICE) {
        printf("service 0x%04X-0x%04X %s\n", event.handle, event.end_handle,
               atto_uuid_text(event.uuid, uuid));
      } else if (event.type == ATTO_EVENT_CHARACTERISTIC) {
        printf("  0x%04X %s\n", event.value_handle, atto_uuid_text(event.uuid, uuid));
        if (event.properties & ATTO_READ)
          open += atto_read_long(bearer, event.value_handle, 0, atto_linux_now(), NULL) == 0;
        if (wanted > 0 && event.properties & ATTO_NOTIFY)
          open += atto_subscribe(bearer, event.value_handle, 0, ATTO_NOTIFICATIONS,
                                 atto_linux_now(), NULL) == 0;
      } else if (event.type == ATTO_EVENT_VALUE || event.type == ATTO_EVENT_NOTIFICATION) {
        printf("0x%04X =", event.handle);
        for (size_t i = 0; i < event.length; i++) printf(" %02x", event.data[i]);
        printf("\n");
        values += event.type == ATTO_EVENT_NOTIFICATION;
      } else if (event.type == ATTO_EVENT_COMPLETE && open-- > 0 && event.result < 0) {
        const char *more = event.result == ATTO_ERR_ATT ? atto_att_error_name(event.att_error) : "";
        printf("0x%04X: %s %s\n", event.handle, atto_strerror(event.result), more);
        if (event.id == discovery) result = 1;
      }
    }
  }
  atto_destroy(device);
  return turn < 0 ? 3 : result;
}
