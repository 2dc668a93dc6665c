// A C target has a C file.
#include "os-lock.h"
#include "os-log.h"
#include "os-signpost.h"
