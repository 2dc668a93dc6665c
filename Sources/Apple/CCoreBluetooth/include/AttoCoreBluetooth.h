// Empty: what it stands for is Swift.
#ifndef ATTO_CORE_BLUETOOTH
#define ATTO_CORE_BLUETOOTH 1
#endif
