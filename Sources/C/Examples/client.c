/* Discovers a server, reads what can be read, and prints notified values.
 *
 *     cc client.c $(pkg-config --cflags --libs atto) -o client && ./client unix:/tmp/strap 3 */
#include <atto_linux.h>
#include <stdio.h>
#include <stdlib.h>

int main(int count, char **words) {
  int wanted = count > 2 ? atoi(words[2]) : 0, values = 0, turn = 0, result = 0;
  int fd = atto_linux_connect(count > 1 ? words[1] : "", ATTO_LOW);
  if (fd < 0) return perror("client"), 3;
  atto *device;
  atto_bearer *bearer;
  atto_event event;
  if (atto_create(NULL, &device) < 0 || atto_bearer_create(device, 0, 0, &bearer) < 0) return 1;
  atto_exchange_mtu(bearer, 0, atto_linux_now(), NULL);
  atto_discover_all(bearer, atto_linux_now(), NULL);
  int open = 2; /* procedures that have not completed */
  while (open > 0 || values < wanted) {
    if ((turn = atto_linux_next(bearer, fd, INT64_MAX, &event)) < 0) break;
    const char *uuid = atto_uuid_text(event.uuid, (char[ATTO_UUID_TEXT]){0});
    if (event.type == ATTO_EVENT_SERVICE) {
      printf("service 0x%04X-0x%04X %s\n", event.handle, event.end_handle, uuid);
    } else if (event.type == ATTO_EVENT_CHARACTERISTIC) {
      printf("  0x%04X %s\n", event.value_handle, uuid);
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
      printf("0x%04X: %s\n", event.handle,
             event.att_error ? atto_att_error_name(event.att_error) : atto_strerror(event.result));
      if (event.result != ATTO_ERR_ATT) result = 3;
    }
  }
  atto_destroy(device);
  return turn < 0 ? 3 : result;
}
