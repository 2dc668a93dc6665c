/* What the files of the player share. */
#ifndef PLAYER_H
#define PLAYER_H

#include <atto.h>
#include <stdbool.h>

/* One link of a case, and the PDUs that the library has sent on it. */
struct seat {
  atto_bearer *bearer;
  bool is_open, is_bonded, has_key, has_timed_out;
  uint8_t sent[64][600];
  size_t length[64];
  unsigned first, count;
  uint8_t key[16], state[4096];
  size_t state_length;
  uint32_t counter;
};

extern struct seat seats[10];
extern int current;
extern int64_t now;
extern atto *device;

void complain(const char *format, ...) __attribute__((format(printf, 1, 2)));
size_t read_octets(const char *text, uint8_t *out, size_t room);
void hex(char *out, const uint8_t *octets, size_t length);
void came(const char *text);

/* application.c: the server's application, and the events of both roles. */
void clear_behaviours(void);
void add_behaviour(const char *line);
void take_events(struct seat *seat, bool holds);
int64_t next_tick(void);
void tick(void);
void notify(struct seat *seat, char *words);
void indicate(struct seat *seat, char *words);
void bond(struct seat *seat, const char *key);
void disconnect(struct seat *seat);

/* procedures.c */
void start_procedure(struct seat *seat, char *words);
/* An event of a procedure, or its end. */
void note(const atto_event *event);

#endif
