#ifndef ATTO_OS_LOCK
#define ATTO_OS_LOCK 1

#include <stdbool.h>
#include <stdint.h>

/// A lock in four octets. It must not move while it is in use: allocate it, or use
/// OSAllocatedUnfairLock.
typedef struct os_unfair_lock_s {
  uint32_t _os_unfair_lock_opaque;
} os_unfair_lock, *os_unfair_lock_t;

#define OS_UNFAIR_LOCK_INIT ((os_unfair_lock){0})

/// Locks. Ends the process if this thread holds the lock already.
void os_unfair_lock_lock(os_unfair_lock_t _Nonnull lock);

/// Locks unless a thread, this one included, holds the lock. Returns whether it did.
bool os_unfair_lock_trylock(os_unfair_lock_t _Nonnull lock);

/// Unlocks. Ends the process if this thread does not hold the lock.
void os_unfair_lock_unlock(os_unfair_lock_t _Nonnull lock);

/// Ends the process unless this thread holds the lock.
void os_unfair_lock_assert_owner(const os_unfair_lock *_Nonnull lock);

/// Ends the process if this thread holds the lock.
void os_unfair_lock_assert_not_owner(const os_unfair_lock *_Nonnull lock);

#endif
