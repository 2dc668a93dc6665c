// The content of the module CoreBluetooth and of each submodule, and so without a guard.
#include "AttoCoreBluetooth.h"
