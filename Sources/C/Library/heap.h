/* The memory of a device: malloc, or a block of the caller.
 *
 * The Swift part allocates through posix_memalign and free, which the build renames to the two
 * functions at the end. They work in the heap of the device that a call has entered, which is
 * thread-local. When memory is short, they jump back to where the call has entered, and the device
 * is lost: its state is half changed, but nothing outside of its memory is. */
#ifndef ATTO_HEAP_H
#define ATTO_HEAP_H

#include <setjmp.h>
#include <stddef.h>

struct heap_chunk;

struct heap {
  struct heap_chunk *first; /* of the block; null: malloc */
  struct heap_chunk *hint;  /* where the next search starts */
  size_t used, most;        /* octets of the block, with headers */
  jmp_buf exhausted;
};

/* The heap of the call in progress on this thread. */
extern _Thread_local struct heap *heap_current __attribute__((visibility("hidden")));

/* Prepares a block of at least 64 octets, aligned to 16. */
void heap_prepare(struct heap *heap, void *block, size_t size);
/* Null if there is no memory. */
void *heap_allocate(struct heap *heap, size_t size);
void heap_free(struct heap *heap, void *memory);

int atto_internal_memalign(void **memory, size_t alignment, size_t size);
void atto_internal_free(void *memory);

#endif
