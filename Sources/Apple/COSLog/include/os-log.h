// Empty but for its name: all that is in os.log is Swift.
#ifndef ATTO_OS_LOG
#define ATTO_OS_LOG 1
#endif
