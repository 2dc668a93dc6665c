#include "heap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A block is a row of chunks, each with this header. The last has the size 0. A search takes the
   first free chunk that is large enough, and joins free neighbours on its way. */
struct heap_chunk {
  size_t size; /* with the header; bit 0: in use */
  size_t fill;
};

/* The alignment of memory, and of the sizes of chunks. */
#define UNIT 16

_Thread_local struct heap *heap_current;

static struct heap_chunk *after(struct heap_chunk *chunk) {
  return (struct heap_chunk *)((char *)chunk + (chunk->size & ~(size_t)1));
}

void heap_prepare(struct heap *heap, void *block, size_t size) {
  /* So that the memory after a header is aligned. */
  size_t skipped = UNIT - sizeof(struct heap_chunk);
  size = (size - skipped) & ~(size_t)(UNIT - 1);
  heap->first = heap->hint = (struct heap_chunk *)((char *)block + skipped);
  heap->first->size = size - UNIT;
  after(heap->first)->size = 0;
  heap->used = heap->most = 0;
}

static struct heap_chunk *search(struct heap_chunk *chunk, size_t wanted) {
  for (; chunk->size != 0; chunk = after(chunk)) {
    if (chunk->size & 1) continue;
    for (struct heap_chunk *next = after(chunk); next->size != 0 && !(next->size & 1);
         next = after(chunk)) {
      chunk->size += next->size;
    }
    if (chunk->size >= wanted) return chunk;
  }
  return NULL;
}

void *heap_allocate(struct heap *heap, size_t size) {
  if (heap->first == NULL) return malloc(size);
  if (size > SIZE_MAX / 2) return NULL;
  size_t wanted = (size + sizeof(struct heap_chunk) + UNIT - 1) & ~(size_t)(UNIT - 1);
  struct heap_chunk *chunk = search(heap->hint, wanted);
  if (chunk == NULL) chunk = search(heap->first, wanted);
  if (chunk == NULL) return NULL;
  if (chunk->size - wanted >= 2 * UNIT) {
    struct heap_chunk *rest = (struct heap_chunk *)((char *)chunk + wanted);
    rest->size = chunk->size - wanted;
    chunk->size = wanted;
  }
  heap->used += chunk->size;
  if (heap->used > heap->most) heap->most = heap->used;
  chunk->size |= 1;
  heap->hint = chunk;
  return chunk + 1;
}

void heap_free(struct heap *heap, void *memory) {
  if (memory == NULL) return;
  if (heap->first == NULL) {
    free(memory);
    return;
  }
  struct heap_chunk *chunk = (struct heap_chunk *)memory - 1;
  chunk->size &= ~(size_t)1;
  heap->used -= chunk->size;
  /* A later join must not swallow the chunk where a search starts. */
  if (chunk < heap->hint) heap->hint = chunk;
}

int atto_internal_memalign(void **memory, size_t alignment, size_t size) {
  struct heap *heap = heap_current;
  if (heap->first == NULL) {
    if (posix_memalign(memory, alignment, size) == 0) return 0;
  } else if (alignment <= UNIT) {
    *memory = heap_allocate(heap, size);
    if (*memory != NULL) return 0;
  }
  longjmp(heap->exhausted, 1);
}

/* For coroutines. */
void *atto_internal_malloc(size_t size) {
  void *memory;
  atto_internal_memalign(&memory, sizeof(void *), size);
  return memory;
}

void atto_internal_free(void *memory) { heap_free(heap_current, memory); }

/* Seeds the tables of the Swift part, whose keys are the caller's own and not a peer's. */
void atto_internal_random(void *memory, size_t size) { memset(memory, 0, size); }
