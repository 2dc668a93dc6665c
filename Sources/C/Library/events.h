/* The queue of events of a bearer. */
#ifndef ATTO_EVENTS_H
#define ATTO_EVENTS_H

#include "../Core/core.h"

struct heap;

struct event_queue {
  struct heap *heap;
  uint8_t *block;
  size_t capacity, head, tail;
};

/* The octets that wait. */
size_t events_size(const struct event_queue *queue);
/* Takes the first event, whose data stay where they are until the next is posted. 1, or 0. */
int events_take(struct event_queue *queue, atto_event *event);
void events_free(struct event_queue *queue);

#endif
