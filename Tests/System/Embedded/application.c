/* The application of the player's server: values with a behaviour, and what a line of the transcript
   makes the application do. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "player.h"

static struct behaviour {
  unsigned handle, read_error, write_error, echo, delay, every;
  uint8_t value[512];
  size_t length;
  int64_t next;
} behaviours[64];
static unsigned count;

static struct answer {
  struct seat *seat;
  int64_t at;
  uint64_t id;
  const struct behaviour *value; /* null: accept */
} delayed[16];
static unsigned delayed_count;

void clear_behaviours(void) { count = delayed_count = 0; }

void add_behaviour(const char *line) {
  struct behaviour *one = &behaviours[count++];
  char value[1100];
  sscanf(line, "behaviour %u %u %u %u %u %u %1099s", &one->handle, &one->read_error,
         &one->write_error, &one->echo, &one->delay, &one->every, value);
  one->length = read_octets(value, one->value, sizeof one->value);
  one->next = one->every * INT64_C(1000000);
}

static struct behaviour *find(unsigned handle) {
  for (unsigned i = 0; i < count; i++)
    if (behaviours[i].handle == handle) return &behaviours[i];
  return NULL;
}

static void deliver(struct seat *seat, uint16_t handle, const uint8_t *value, size_t length) {
  int kinds = atto_subscriptions(seat->bearer, handle);
  if (kinds & ATTO_NOTIFICATIONS) atto_notify(seat->bearer, handle, value, length);
  else if (kinds & ATTO_INDICATIONS) atto_indicate(seat->bearer, handle, value, length, now, NULL);
}

/* Answers now, or later if the value has a delay. */
static void answer(struct seat *seat, uint64_t id, const struct behaviour *one, bool reads) {
  unsigned code = reads ? one->read_error : one->write_error;
  if (id == 0) return;
  if (code != 0) {
    atto_answer_error(seat->bearer, id, (uint8_t)code, now);
  } else if (one->delay > 0) {
    delayed[delayed_count++] = (struct answer){
        .seat = seat, .at = now + one->delay * INT64_C(1000000), .id = id,
        .value = reads ? one : NULL};
  } else if (reads) {
    atto_answer_value(seat->bearer, id, one->value, one->length, now);
  } else {
    atto_answer_accept(seat->bearer, id, now);
  }
}

void take_events(struct seat *seat, bool holds) {
  static unsigned refused;
  atto_event event;
  while (atto_next_event(seat->bearer, &event) == 1) {
    struct behaviour *one = find(event.handle);
    switch (event.type) {
      case ATTO_EVENT_READ:
        if (one != NULL) answer(seat, event.id, one, true);
        else atto_answer_error(seat->bearer, event.id, 0x0E, now);
        break;
      case ATTO_EVENT_WRITE:
        if (one == NULL) {
          if (event.id != 0) atto_answer_error(seat->bearer, event.id, 0x0E, now);
          break;
        }
        if (one->write_error == 0) {
          memcpy(one->value, event.data, event.length);
          one->length = event.length;
          if (one->echo != 0)
            deliver(seat, (uint16_t)one->echo, one->value, one->length);
        }
        answer(seat, event.id, one, false);
        break;
      case ATTO_EVENT_PREPARED_WRITE:
        if (one != NULL && one->write_error != 0 && refused == 0) refused = one->write_error;
        break;
      case ATTO_EVENT_EXECUTE:
        if (refused != 0) atto_answer_error(seat->bearer, event.id, (uint8_t)refused, now);
        else atto_answer_accept(seat->bearer, event.id, now);
        refused = 0;
        break;
      case ATTO_EVENT_AUTHORIZE_READ:
      case ATTO_EVENT_AUTHORIZE_WRITE:
        atto_answer_error(seat->bearer, event.id, 0x08, now);
        break;
      case ATTO_EVENT_WRITTEN:
      case ATTO_EVENT_CONFIGURED:
      case ATTO_EVENT_FEATURES:
      case ATTO_EVENT_CONFIRMED: break;
      default:
        note(&event);
        if (event.type == ATTO_EVENT_INDICATION && !holds) atto_confirm(seat->bearer);
    }
  }
}

int64_t next_tick(void) {
  int64_t next = INT64_MAX;
  for (unsigned i = 0; i < count; i++)
    if (behaviours[i].every > 0 && behaviours[i].next < next) next = behaviours[i].next;
  for (unsigned i = 0; i < delayed_count; i++)
    if (delayed[i].at < next) next = delayed[i].at;
  return next;
}

void tick(void) {
  for (unsigned i = 0; i < delayed_count;) {
    struct answer due = delayed[i];
    if (due.at > now) {
      i++;
      continue;
    }
    delayed[i] = delayed[--delayed_count];
    if (due.value == NULL) atto_answer_accept(due.seat->bearer, due.id, now);
    else atto_answer_value(due.seat->bearer, due.id, due.value->value, due.value->length, now);
  }
  for (unsigned i = 0; i < count; i++) {
    struct behaviour *one = &behaviours[i];
    if (one->every == 0 || one->next > now) continue;
    one->next += one->every * INT64_C(1000000);
    if (seats[current].is_open &&
        atto_subscriptions(seats[current].bearer, (uint16_t)one->handle) & ATTO_NOTIFICATIONS)
      atto_notify(seats[current].bearer, (uint16_t)one->handle, one->value, one->length);
  }
}

void notify(struct seat *seat, char *words) {
  static uint8_t octets[16][512];
  atto_value values[16];
  size_t number = 0;
  for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
    uint16_t handle = (uint16_t)atoi(word);
    word = strtok(NULL, " ");
    if (word == NULL || !(atto_subscriptions(seat->bearer, handle) & ATTO_NOTIFICATIONS)) continue;
    size_t length = read_octets(word, octets[number], 512);
    values[number] = (atto_value){handle, (uint16_t)length, octets[number]};
    number++;
  }
  if (number > 1 && atto_notify_multiple(seat->bearer, values, number) == ATTO_OK) return;
  for (size_t i = 0; i < number; i++)
    atto_notify(seat->bearer, values[i].handle, values[i].value, values[i].length);
}

void indicate(struct seat *seat, char *words) {
  uint8_t octets[512];
  char *value;
  uint16_t handle = (uint16_t)strtol(words, &value, 10);
  size_t length = read_octets(value + (*value == ' '), octets, sizeof octets);
  atto_indicate(seat->bearer, handle, octets, length, now, NULL);
}

void bond(struct seat *seat, const char *key) {
  seat->is_bonded = true;
  if (*key == 0) return;
  seat->has_key = read_octets(key, seat->key, 16) == 16;
  if (atto_set_signing_key(seat->bearer, seat->key, 0) < 0) complain("the key was not taken");
}

void disconnect(struct seat *seat) {
  if (!seat->is_open) return;
  if (seat->is_bonded &&
      atto_save_state(seat->bearer, seat->state, sizeof seat->state, &seat->state_length) < 0)
    complain("the state was not saved");
  if (seat->has_key) atto_sign_counter(seat->bearer, &seat->counter);
  atto_bearer_link_ended(seat->bearer);
  take_events(seat, false);
  atto_bearer_destroy(seat->bearer);
  seat->is_open = false;
}
