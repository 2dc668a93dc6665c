// Empty but for its name: all that is in os.signpost is Swift.
#ifndef ATTO_OS_SIGNPOST
#define ATTO_OS_SIGNPOST 1
#endif
