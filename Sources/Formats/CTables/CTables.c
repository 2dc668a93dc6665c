#include "CTables.h"

// #embed is of C23; the compiler of Swift has it in each version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const char names[] = {
#embed "names.txt" suffix(, 0)
};

static const char formats[] = {
#embed "formats.txt" suffix(, 0)
};

const char *ctables_names(void) { return names; }
const char *ctables_formats(void) { return formats; }
