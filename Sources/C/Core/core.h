/* What the Swift part of the library takes from the C part, besides the types of atto.h. */
#ifndef ATTO_CORE_H
#define ATTO_CORE_H

#include "../include/atto.h"

/* Appends an event, and a copy of its data, to a queue of Library/events.h. */
void attocore_post(void *queue, const atto_event *event, const void *data, size_t length);

#endif
