/* Prints the sizes and places of what a program that was compiled with atto.h relies on. */
#include <atto.h>
#include <stdio.h>

#define SIZE(type) printf("size %s %zu\n", #type, sizeof(type))
#define PLACE(type, field) printf("place %s.%s %zu\n", #type, #field, offsetof(type, field))

int main(void) {
  SIZE(atto_uuid);
  SIZE(atto_config);
  PLACE(atto_config, transaction_timeout);
  SIZE(atto_row);
  PLACE(atto_row, length);
  PLACE(atto_row, uuid);
  PLACE(atto_row, value);
  SIZE(atto_value);
  PLACE(atto_value, value);
  SIZE(atto_event);
  PLACE(atto_event, uuid);
  PLACE(atto_event, data);
  PLACE(atto_event, handle);
  PLACE(atto_event, properties);
  printf("last event %d\nlast error %d\n", ATTO_EVENT_SECURITY_WANTED, ATTO_ERR_VERSION);
  return 0;
}
