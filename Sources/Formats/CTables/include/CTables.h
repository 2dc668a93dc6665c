// The tables of assigned numbers and of values, as texts in the program's read-only data. A Swift array
// of their octets would take the compiler seconds, and each process a copy.
#pragma once

// names.txt and formats.txt, each with a zero octet at its end.
const char *_Nonnull ctables_names(void);
const char *_Nonnull ctables_formats(void);
