// A Mutex of Swift that another thread holds is locked and unlocked in libswiftSynchronization, which is
// not built with ThreadSanitizer: it does not see the order that the lock makes, and reports what the
// lock guards as a race. In programs built with ThreadSanitizer, these take the place of the library's
// two slow paths, call them, and tell it. The quick paths are inlined, and seen.
#define _GNU_SOURCE
#include "CLinux.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#include <dlfcn.h>
#include <stdlib.h>

#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

typedef SWIFT void (*LockSlow)(uint32_t thread, SELF);
typedef SWIFT void (*UnlockSlow)(SELF);

static void *library(const char *symbol) {
  void *found = dlsym(RTLD_NEXT, symbol);
  // Another version of Swift, of which this file must learn.
  if (!found) abort();
  return found;
}

SWIFT void clinux_mutex_lock_slow(uint32_t thread, SELF) __asm__(LOCK_SLOW);
SWIFT void clinux_mutex_lock_slow(uint32_t thread, SELF) {
  ((LockSlow)library(LOCK_SLOW))(thread, self);
  __tsan_acquire(self);
}

SWIFT void clinux_mutex_unlock_slow(SELF) __asm__(UNLOCK_SLOW);
SWIFT void clinux_mutex_unlock_slow(SELF) {
  __tsan_release(self);
  ((UnlockSlow)library(UNLOCK_SLOW))(self);
}
#endif
#endif
