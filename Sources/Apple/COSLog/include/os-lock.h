// Empty but for its name: all that is in os.lock is Swift.
#ifndef ATTO_OS_LOCK
#define ATTO_OS_LOCK 1
#endif
