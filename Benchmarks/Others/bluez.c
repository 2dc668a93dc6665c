// A client that calls BlueZ's GATT client (src/shared), whose source is not part of this repository.
#include <stdbool.h>

#include "client.h"
#include "lib/bluetooth.h"
#include "lib/uuid.h"
#include "src/shared/queue.h"
#include "src/shared/att.h"
#include "src/shared/gatt-db.h"
#include "src/shared/gatt-client.h"
#include "src/shared/mainloop.h"

static struct bt_gatt_client *client;

static void begin(void);

static void got(bool success, uint8_t error, const uint8_t *value, uint16_t size, void *data) {
  if (!counted(success ? size : 0)) return begin();
  check(bt_gatt_client_read_value(client, READ_HANDLE, got, NULL, NULL) != 0, "cannot send a request");
}

static void subscribed(uint16_t error, void *data) {
  check(error == 0, "cannot subscribe");
}

static void notified(uint16_t handle, const uint8_t *value, uint16_t size, void *data) {
  if (!counted_value(value, size)) begin();
}

static void begin(void) {
  unsigned int id = next_test() == 'r'
    ? bt_gatt_client_read_value(client, READ_HANDLE, got, NULL, NULL)
    : bt_gatt_client_register_notify(client, STREAM_HANDLE, subscribed, notified, NULL, NULL);
  check(id != 0, "cannot begin a test");
}

static void ready(bool success, uint8_t error, void *data) {
  check(success, "cannot discover the services");
  begin();
}

int main(int count, char **words) {
  int link = connected(count == 2 ? words[1] : "");
  mainloop_init();
  client = bt_gatt_client_new(gatt_db_new(), bt_att_new(link, false), MTU, 0);
  check(client && bt_gatt_client_ready_register(client, ready, NULL, NULL), "cannot make a client");
  return mainloop_run();
}
