/* Sockets of Linux for atto.h: optional.
 *
 * Functions that fail return -1 with errno. Endpoints are written as for the command `atto`:
 *
 *     unix:PATH                          a Unix SOCK_SEQPACKET socket, one ATT PDU in each packet
 *     le:AA:BB:CC:DD:EE:FF               L2CAP CID 4 of a public address
 *     le:AA:BB:CC:DD:EE:FF/random        of a random address
 *     le:...@11:22:33:44:55:66           from the adapter with this public address
 *     le:   le:@11:22:33:44:55:66        to listen */
#ifndef ATTO_LINUX_H
#define ATTO_LINUX_H

#include "atto.h"

#ifdef __cplusplus
extern "C" {
#endif

/* CLOCK_MONOTONIC in nanoseconds, for `now`. */
int64_t atto_linux_now(void);

/* Connects to an endpoint with at least this security level (ATTO_LOW ... ATTO_FIPS; only L2CAP)
 * and returns a descriptor. EINVAL: not an endpoint. On L2CAP it waits up to the kernel's 40 s for
 * the peer to advertise; the connection is encrypted before this returns data. */
int atto_linux_connect(const char *endpoint, int level);

/* Listens at an endpoint. A path must not exist, or be a socket at which nobody listens any more. */
int atto_linux_listen(const char *endpoint, int level);

/* Waits for a client and returns its descriptor. */
int atto_linux_accept(int listener);

/* One turn of a connection: sends what is to be sent, waits for a PDU until a deadline of the
 * bearer or for `timeout` milliseconds (-1: as long as it takes), feeds it with the current
 * security of an L2CAP link, and sends the response. Take all events before the next turn.
 * Returns 1 after a PDU, 0 after the timeout or a signal, -1 if the bearer has ended: by the peer
 * (errno 0), the kernel, or the protocol (EPROTO, ETIMEDOUT). Then the bearer's procedures have
 * completed; take the events, destroy the bearer and close the descriptor. */
int atto_linux_drive(atto_bearer *bearer, int descriptor, int timeout);

/* Takes the next event of a connection, and drives the connection while there is none, until a time
 * of atto_linux_now (INT64_MAX: as long as it takes). Returns 1 with an event; 0 with event->type 0
 * at that time, or before, for example after a signal; -1 with errno as above if the bearer has
 * ended and all its events were taken, or EINVAL if the event is not one of this library. */
int atto_linux_next(atto_bearer *bearer, int descriptor, int64_t until, atto_event *event);
int atto_linux_next_sized(
    size_t event_size, atto_bearer *bearer, int descriptor, int64_t until, atto_event *event);
#define atto_linux_next(...) atto_linux_next_sized(sizeof(atto_event), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
