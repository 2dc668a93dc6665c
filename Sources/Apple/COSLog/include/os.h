// The content of the modules os and OSLog and of each submodule, and so without a guard.
#include "os-lock.h"
