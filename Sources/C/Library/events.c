#include "events.h"

#include <string.h>

#include "heap.h"

static size_t padded(size_t length) { return (length + 7) & ~(size_t)7; }

size_t events_size(const struct event_queue *queue) { return queue->tail - queue->head; }

void attocore_post(void *opaque, const atto_event *event, const void *data, size_t length) {
  struct event_queue *queue = opaque;
  size_t needed = sizeof *event + padded(length);
  size_t used = events_size(queue);
  if (queue->capacity - queue->tail < needed) {
    if (queue->capacity - used >= needed && used <= queue->head) {
      memmove(queue->block, queue->block + queue->head, used);
    } else {
      size_t larger = used + needed > 2 * queue->capacity ? used + needed : 2 * queue->capacity;
      uint8_t *block = heap_allocate(queue->heap, larger);
      if (block == NULL) longjmp(queue->heap->exhausted, 1);
      if (used > 0) memcpy(block, queue->block + queue->head, used);
      heap_free(queue->heap, queue->block);
      queue->block = block;
      queue->capacity = larger;
    }
    queue->head = 0;
    queue->tail = used;
  }
  atto_event *entry = (atto_event *)(queue->block + queue->tail);
  *entry = *event;
  entry->length = length;
  if (length > 0) memcpy(entry + 1, data, length);
  queue->tail += needed;
}

int events_take(struct event_queue *queue, atto_event *event) {
  if (queue->head == queue->tail) return 0;
  *event = *(const atto_event *)(queue->block + queue->head);
  event->data = queue->block + queue->head + sizeof *event;
  queue->head += sizeof *event + padded(event->length);
  if (queue->head == queue->tail) queue->head = queue->tail = 0;
  return 1;
}

void events_free(struct event_queue *queue) {
  heap_free(queue->heap, queue->block);
  queue->block = NULL;
  queue->capacity = queue->head = queue->tail = 0;
}
