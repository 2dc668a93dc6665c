/* Plays cases of transcripts, as cases.py writes them, through atto.h against both roles in virtual
   time, each case in one block of memory that is overwritten afterwards, with the argument `malloc`
   in memory from malloc. Ends with the counts. */
#include "player.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct seat seats[10];
int current;
int64_t now;
atto *device;
static unsigned passed, failed, case_failures;
static char case_name[256];
static _Alignas(16) uint8_t memory[1 << 18];
static atto_row table[512];
static uint8_t values[512][512];
static size_t rows;
static bool is_server, holds, uses_malloc;
static size_t most;
static char results[64][8192];
static unsigned first_result, result_count;

void complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  printf("FAILED %s: ", case_name);
  vprintf(format, arguments);
  printf("\n");
  va_end(arguments);
  case_failures++;
}

size_t read_octets(const char *text, uint8_t *out, size_t room) {
  size_t count = 0;
  unsigned value;
  while (count < room && sscanf(text, "%2x", &value) == 1 && text[0] != 0 && text[1] != 0) {
    out[count++] = (uint8_t)value;
    text += 2;
  }
  return count;
}

void hex(char *out, const uint8_t *octets, size_t length) {
  for (size_t i = 0; i < length; i++) sprintf(out + 2 * i, "%02x", octets[i]);
  out[2 * length] = 0;
}

static void add_row(char *line) {
  atto_row *row = &table[rows];
  unsigned kind, properties, source, key, bits, handle, value_handle, end, length;
  char uuid[33], value[1100];
  if (sscanf(line, "row %u %u %u %u %u %u %u %u %u %32s %1099s", &kind, &properties, &source, &key,
             &bits, &handle, &value_handle, &end, &length, uuid, value) != 11)
    return complain("cannot read %s", line);
  *row = (atto_row){
      .kind = (uint8_t)kind, .properties = (uint8_t)properties, .source = (uint8_t)source,
      .key_size = (uint8_t)key, .permissions = (uint16_t)bits, .handle = (uint16_t)handle,
      .value_handle = (uint16_t)value_handle, .end_handle = (uint16_t)end,
      .max_length = (uint16_t)length, .value = values[rows]};
  uint8_t octets[16];
  read_octets(uuid, octets, 16);
  for (int i = 0; i < 8; i++) {
    row->uuid.high = row->uuid.high << 8 | octets[i];
    row->uuid.low = row->uuid.low << 8 | octets[8 + i];
  }
  row->length = (uint16_t)read_octets(value, values[rows], 512);
  rows++;
}

static void add_rows(void) {
  if (rows == 0) return;
  int result = atto_add_services(device, table, rows, NULL, now);
  if (result < 0) complain("the services were not added: %s", atto_strerror(result));
  rows = 0;
}

void open_seat(int number) {
  struct seat *seat = &seats[number];
  seat->is_open = true;
  seat->first = seat->count = 0;
  int flags = (is_server ? 0 : ATTO_CLIENT_ONLY) | ATTO_MANUAL_CONFIRM;
  int result = atto_bearer_create(device, (uint32_t)flags, 0, &seat->bearer);
  if (result < 0) complain("no bearer: %s", atto_strerror(result));
}

void came(const char *text) {
  unsigned place = (first_result + result_count++) % 64;
  snprintf(results[place], sizeof results[place], "%s", text);
}

void collect(void) {
  for (int number = 1; number < 10; number++) {
    struct seat *seat = &seats[number];
    if (!seat->is_open) continue;
    take_events(seat, holds);
    int length;
    while (seat->count < 64 &&
           (length = atto_bearer_output(seat->bearer, seat->sent[seat->count], 600)) > 0)
      seat->length[seat->count++] = (size_t)length;
  }
}

static void expect(const char *pattern) {
  struct seat *seat = &seats[current];
  if (seat->first == seat->count) return complain("nothing came, not %s", pattern);
  char found[1300];
  hex(found, seat->sent[seat->first], seat->length[seat->first]);
  seat->first++;
  const char *a = pattern, *b = found;
  while (*a != 0 && strncmp(a, "...", 3) != 0 && *b != 0 && (*a == '?' || *a == *b)) a++, b++;
  if (strncmp(a, "...", 3) != 0 && (*a != 0 || *b != 0))
    complain("%s came, not %s", found, pattern);
}

static void expect_nothing(const char *when) {
  struct seat *seat = &seats[current];
  for (; seat->first < seat->count; seat->first++) {
    char found[1300];
    hex(found, seat->sent[seat->first], seat->length[seat->first]);
    complain("%s came %s", found, when);
  }
  seat->first = seat->count = 0;
}

static void wait_until(int64_t end) {
  for (;;) {
    int64_t next = next_tick();
    for (int number = 1; number < 10; number++) {
      int64_t deadline;
      if (seats[number].is_open && atto_deadline(seats[number].bearer, &deadline) == 1 &&
          deadline < next)
        next = deadline;
    }
    if (next > end) break;
    if (next > now) now = next;
    for (int number = 1; number < 10; number++)
      if (seats[number].is_open && atto_advance(seats[number].bearer, now) == ATTO_ERR_TIMEOUT)
        seats[number].has_timed_out = true;
    tick();
    collect();
  }
  now = end;
}

static void reconnect(void) {
  struct seat *seat = &seats[current];
  disconnect(seat);
  open_seat(current);
  if (seat->has_key) atto_set_signing_key(seat->bearer, seat->key, seat->counter);
  if (seat->is_bonded &&
      atto_restore_state(seat->bearer, seat->state, seat->state_length, now) < 0)
    complain("the state was not restored");
  collect();
}

static void play(char *line) {
  char *rest = strchr(line, ' ');
  rest = rest == NULL ? line + strlen(line) : rest + 1;
  struct seat *seat = &seats[current];
  uint8_t pdu[4096];
  if (line[0] == (is_server ? '>' : '<')) {
    expect_nothing("before the peer's PDU");
    size_t length = read_octets(rest, pdu, sizeof pdu);
    /* Of this length, so that memory checkers notice reads behind its end. */
    uint8_t *copy = malloc(length > 0 ? length : 1);
    memcpy(copy, pdu, length);
    if (atto_bearer_feed(seat->bearer, copy, length, now) == ATTO_ERR_TIMEOUT)
      seat->has_timed_out = true;
    free(copy);
    collect();
  } else if (line[0] == '<' || line[0] == '>') {
    expect(rest);
  } else if (strncmp(line, "wait", 4) == 0) {
    wait_until(now + strtoll(rest, NULL, 10));
  } else if (strncmp(line, "silence", 7) == 0) {
    wait_until(now + strtoll(rest, NULL, 10));
    expect_nothing("in silence");
  } else if (strncmp(line, "security", 8) == 0) {
    char *key;
    long level = strtol(rest, &key, 10);
    atto_set_security(seat->bearer, (int)level, atoi(key));
  } else if (strncmp(line, "remove", 6) == 0) {
    int result = atto_remove_service(device, (uint16_t)atoi(rest), now);
    if (result < 0) complain("nothing was removed: %s", atto_strerror(result));
    collect();
  } else if (strncmp(line, "add", 3) == 0) {
    add_rows();
    collect();
  } else if (strncmp(line, "notify", 6) == 0) {
    notify(seat, rest);
    collect();
  } else if (strncmp(line, "indicate", 8) == 0) {
    indicate(seat, rest);
    collect();
  } else if (strncmp(line, "bond", 4) == 0) {
    bond(seat, rest);
  } else if (strncmp(line, "client", 6) == 0) {
    current = atoi(rest);
    if (!seats[current].is_open) open_seat(current);
  } else if (strcmp(line, "reconnect") == 0) {
    expect_nothing("before the end");
    reconnect();
  } else if (strcmp(line, "disconnect") == 0) {
    expect_nothing("before the end");
    disconnect(seat);
  } else if (strcmp(line, "procedure hold") == 0) {
    holds = true;
  } else if (strcmp(line, "procedure confirm") == 0) {
    atto_confirm(seat->bearer);
    collect();
  } else if (strncmp(line, "procedure", 9) == 0) {
    start_procedure(seat, rest);
    collect();
  } else if (strncmp(line, "result", 6) == 0) {
    if (result_count == 0) return complain("no result, not %s", rest);
    if (strcmp(results[first_result], rest) != 0)
      complain("the result is %s, not %s", results[first_result], rest);
    first_result = (first_result + 1) % 64;
    result_count--;
  } else {
    complain("cannot play %s", line);
  }
}

static void begin(void) {
  memset(seats, 0, sizeof seats);
  clear_behaviours();
  rows = 0;
  now = 0;
  current = 1;
  first_result = result_count = 0;
  case_failures = 0;
  holds = false;
  atto_config config;
  atto_config_init(&config);
  config.max_procedures = 256;
  int result = uses_malloc ? atto_create(&config, &device)
                           : atto_create_in(&config, memory, sizeof memory, &device);
  if (result < 0) complain("no device: %s", atto_strerror(result));
}

static void end(void) {
  for (current = 1; current < 10; current++) expect_nothing("at the end");
  for (; result_count > 0; result_count--) {
    complain("the result %s is not in the transcript", results[first_result]);
    first_result = (first_result + 1) % 64;
  }
  size_t used = 0;
  atto_memory(device, NULL, &used);
  if (used > most) most = used;
  atto_destroy(device);
  /* Nothing of the library may still use it. */
  memset(memory, 0xA5, sizeof memory);
  if (case_failures == 0) passed++; else failed++;
}

int main(int count, char **words) {
  static char line[16384];
  uses_malloc = count > 1 && strcmp(words[1], "malloc") == 0;
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = 0;
    if (strncmp(line, "case ", 5) == 0) {
      snprintf(case_name, sizeof case_name, "%.200s", line + 5);
      begin();
    } else if (strncmp(line, "row ", 4) == 0) {
      add_row(line);
    } else if (strncmp(line, "behaviour ", 10) == 0) {
      add_behaviour(line);
    } else if (strncmp(line, "start ", 6) == 0) {
      add_rows();
      is_server = strcmp(line + 6, "server") == 0;
      open_seat(1);
    } else if (strcmp(line, "end") == 0) {
      end();
    } else {
      play(line);
    }
  }
  printf("most memory of a case: %zu\n%u passed, %u failed\n", most, passed, failed);
  return failed > 0;
}
