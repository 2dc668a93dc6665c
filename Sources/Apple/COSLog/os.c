#define _GNU_SOURCE
#include "os-lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// The lock is a futex with priority inheritance: the number of the thread that holds it, and the
// kernel's bit for waiting threads. Only a contended lock enters the kernel.

static uint32_t this_thread(void) {
  static __thread uint32_t number;
  if (!number) number = (uint32_t)syscall(SYS_gettid);
  return number;
}

static void fail(const char *text) {
  ssize_t written = write(STDERR_FILENO, text, strlen(text));
  (void)written;
  abort();
}

static uint32_t owner(const os_unfair_lock *lock) {
  return __atomic_load_n(&lock->_os_unfair_lock_opaque, __ATOMIC_RELAXED) & FUTEX_TID_MASK;
}

static bool change(os_unfair_lock_t lock, uint32_t from, uint32_t to) {
  return __atomic_compare_exchange_n(
      &lock->_os_unfair_lock_opaque, &from, to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

bool os_unfair_lock_trylock(os_unfair_lock_t lock) { return change(lock, 0, this_thread()); }

void os_unfair_lock_lock(os_unfair_lock_t lock) {
  if (os_unfair_lock_trylock(lock)) return;
  os_unfair_lock_assert_not_owner(lock);
  while (syscall(SYS_futex, &lock->_os_unfair_lock_opaque, FUTEX_LOCK_PI_PRIVATE, 0, NULL) != 0) {
    // EAGAIN: its owner is about to end. ESRCH: its owner has ended with the lock held.
    if (errno != EINTR && errno != EAGAIN) fail("os_unfair_lock: the owner of the lock has ended\n");
  }
  // The kernel has handed it over: pairs with the unlock of the former owner.
  (void)__atomic_load_n(&lock->_os_unfair_lock_opaque, __ATOMIC_ACQUIRE);
}

void os_unfair_lock_unlock(os_unfair_lock_t lock) {
  os_unfair_lock_assert_owner(lock);
  if (change(lock, this_thread(), 0)) return;
  (void)__atomic_fetch_or(&lock->_os_unfair_lock_opaque, 0, __ATOMIC_RELEASE);
  if (syscall(SYS_futex, &lock->_os_unfair_lock_opaque, FUTEX_UNLOCK_PI_PRIVATE, 0, NULL) != 0) {
    fail("os_unfair_lock: the lock was overwritten while a thread held it\n");
  }
}

void os_unfair_lock_assert_owner(const os_unfair_lock *lock) {
  if (owner(lock) != this_thread()) fail("os_unfair_lock: this thread does not hold the lock\n");
}

void os_unfair_lock_assert_not_owner(const os_unfair_lock *lock) {
  if (owner(lock) == this_thread()) fail("os_unfair_lock: this thread holds the lock already\n");
}
