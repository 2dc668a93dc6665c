/* A heart-rate strap for programs in C: ATT and GATT, compiled as Embedded Swift. */
#ifndef STRAP_H
#define STRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct strap strap;

/* What a caller must have room for: ATT_MTU as the strap offers it. */
#define STRAP_MTU 517

/* A strap with one connection, or NULL if there is no room for its client. */
strap *strap_create(void);
void strap_destroy(strap *strap);

/* Takes one PDU from the link. `now` is in nanoseconds on the caller's clock. False: the bearer
   is dead and the link should be closed. */
bool strap_receive(strap *strap, const uint8_t *pdu, size_t length, int64_t now);

/* Moves the PDU that waits longest for the link to `room`, which holds STRAP_MTU octets. Its
   length; 0 if there is none. */
size_t strap_transmit(strap *strap, uint8_t *room);

/* Notifies a heart rate, if the peer has asked for it. */
bool strap_beat(strap *strap, uint8_t rate);

/* Asks the peer for its name, as a client. */
void strap_ask_name(strap *strap, int64_t now);

/* Copies the name that the peer gave, up to `room` octets; its length, 0 if it gave none. */
size_t strap_peer_name(const strap *strap, uint8_t *name, size_t room);

/* Tells the time. False: a transaction has timed out and the bearer is dead. */
bool strap_advance(strap *strap, int64_t now);

#endif
