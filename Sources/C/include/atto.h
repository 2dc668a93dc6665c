/* Atto: ATT and GATT of Bluetooth (Core Specification, Vol 3, Parts F and G) as a C11 library.
 *
 * The library does no input or output. The caller owns the sockets, the buffers and the clock: it
 * feeds received PDUs, takes PDUs to send, and takes events. atto_linux.h does this for Linux
 * sockets.
 *
 *     atto_bearer_feed(bearer, pdu, length, now);      a PDU has arrived
 *     while (atto_next_event(bearer, &event) == 1)     what it means
 *       ...
 *     while ((n = atto_bearer_output(bearer, buffer, sizeof buffer)) > 0)
 *       send(fd, buffer, n, 0);                        what is to be sent
 *
 * An `atto` is a device: a GATT server's database, and the bearers of its connections. A bearer is
 * client and server at once. Calls with one `atto` and its bearers must come from one thread at a
 * time. Different ones are independent, once the first atto_create of the process has returned.
 *
 * Times are nanoseconds on any clock of the caller that does not go back, for example
 * CLOCK_MONOTONIC. Lengths are octets. Functions return 0 or a positive number, or one of the
 * negative results below. Every function checks its arguments and returns ATTO_ERR_ARGUMENT for a
 * null pointer, a handle of 0x0000, or a number out of its range; a bearer or device that was
 * destroyed cannot be recognized. In an `atto` that has run out of memory every function returns
 * ATTO_ERR_MEMORY; destroy it.
 *
 * atto_config, atto_row and atto_event may get fields at their end in later versions. Therefore the
 * functions that take them are also macros, which pass the sizes that the program was compiled
 * with. A program that is older than the library works as before: the fields that it does not know
 * have their defaults. A program that is newer gets ATTO_ERR_VERSION, first from atto_create, if one
 * of the structures has grown. Bindings for other languages, which see no macros, call the functions
 * with `_sized`, or the functions without, whose structures stay as they were in version 0.9. No
 * other structure grows. */
#ifndef ATTO_H
#define ATTO_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct atto atto;
typedef struct atto_bearer atto_bearer;

/* ---- Results ---- */

enum {
  ATTO_OK = 0,
  ATTO_ERR_ARGUMENT = -1,       /* an argument is null or out of range */
  ATTO_ERR_MEMORY = -2,         /* no memory, or the block is too small */
  ATTO_ERR_AGAIN = -3,          /* no room now: take output and events, then repeat the call */
  ATTO_ERR_LIMIT = -4,          /* a limit of atto_config is reached */
  ATTO_ERR_DATABASE = -5,       /* handles collide, are not increasing, or there are none left */
  ATTO_ERR_NOT_FOUND = -6,      /* no such attribute, service, question or procedure */
  ATTO_ERR_LENGTH = -7,         /* a value is too long, or its length is fixed */
  ATTO_ERR_STATE = -8,          /* not possible on this bearer now */
  ATTO_ERR_FAILED = -9,         /* the bearer has failed or its link has ended: close the link */
  ATTO_ERR_ATT = -10,           /* the peer answered with an ATT error: atto_event.att_error */
  ATTO_ERR_PROTOCOL = -11,      /* the peer broke the protocol */
  ATTO_ERR_TIMEOUT = -12,       /* the peer did not respond within the transaction timeout */
  ATTO_ERR_CANCELLED = -13,     /* atto_cancel */
  ATTO_ERR_NOT_SUBSCRIBED = -14, /* the client has not configured this, or may not have it now */
  ATTO_ERR_VERSION = -15 /* the program was compiled with a newer atto.h than the library */
};

/* The text of a result: lower case, no full stop. Never null. */
const char *atto_strerror(int result);

/* The specification's name of an ATT error code, "Invalid Handle" for 0x01; "error" if it has
 * none. */
const char *atto_att_error_name(uint8_t code);

/* The version of the library, such as "0.9.0". */
const char *atto_version(void);

/* ---- UUIDs ---- */

/* The 128 bits in the order of the text form. A 16-bit UUID is the same as its 128-bit form. */
typedef struct {
  uint64_t high, low;
} atto_uuid;

#define ATTO_UUID16(n) {UINT64_C(0x100000000) * (n) | 0x1000u, UINT64_C(0x800000805F9B34FB)}
#define ATTO_UUID128(high, low) {UINT64_C(high), UINT64_C(low)}
/* The size of a UUID's text, with its zero. */
#define ATTO_UUID_TEXT 37

/* A UUID from its 16-bit number. */
atto_uuid atto_uuid16(uint16_t number);
/* The 16-bit number; 0 if the UUID has none. */
uint16_t atto_uuid_short(atto_uuid uuid);
/* Parses `180D` or `0000180d-0000-1000-8000-00805f9b34fb`, in either case. */
int atto_uuid_parse(const char *text, atto_uuid *uuid);
/* Writes `180D`, or the long form if there is no short one. Returns `text`. */
char *atto_uuid_text(atto_uuid uuid, char text[ATTO_UUID_TEXT]);

/* ---- Devices ---- */

/* The limits of a device. Fill it with atto_config_init and change what should differ. */
typedef struct {
  uint32_t size;                 /* of this structure; set by atto_config_init */
  uint32_t max_bearers;          /* at a time, 1 to 65535: 16 */
  uint32_t mtu;                  /* the longest PDU that this device receives, 23 to 65535: 517 */
  uint32_t max_procedures;       /* that wait on a bearer, and as many indications: 16 */
  uint32_t max_pipelined;        /* requests that a peer sends without waiting for responses: 16 */
  uint32_t outbox_limit;         /* octets to send, from which a bearer accepts no input: 4096 */
  uint32_t event_limit;          /* octets of events, from which a bearer accepts no input: 4096 */
  uint32_t prepared_writes;      /* of one client: 128 */
  uint32_t prepared_octets;      /* of one client: 4096 */
  uint32_t max_results;          /* services, characteristics, values ... of a procedure: 4096 */
  int64_t transaction_timeout;   /* nanoseconds: 30 s (Vol 3, Part F, 3.3.3) */
} atto_config;

/* Writes the defaults. ATTO_ERR_VERSION: the structure is larger than that of the library, and
 * atto_create will not take it. */
int atto_config_init(atto_config *config);
int atto_config_init_sized(size_t size, atto_config *config);
#define atto_config_init(...) atto_config_init_sized(sizeof(atto_config), __VA_ARGS__)

/* Creates a device whose memory comes from malloc. `config` may be null for the defaults. Results:
 * ATTO_ERR_ARGUMENT, ATTO_ERR_MEMORY, ATTO_ERR_VERSION. */
int atto_create(const atto_config *config, atto **device);
int atto_create_sized(
    size_t row_size, size_t event_size, const atto_config *config, atto **device);
#define atto_create(...) atto_create_sized(sizeof(atto_row), sizeof(atto_event), __VA_ARGS__)

/* Creates a device that uses nothing but this block, aligned to 16 octets, which the caller may
 * free after atto_destroy. When the block is full, the call returns ATTO_ERR_MEMORY and the device
 * is lost. ATTO_ERR_MEMORY also if the block has less than 4096 octets. ATTO_MINIMUM is enough for
 * atto_add_generic_services. See Sources/C/README.md for what services and connections take. */
int atto_create_in(const atto_config *config, void *block, size_t size, atto **device);
int atto_create_in_sized(
    size_t row_size, size_t event_size, const atto_config *config, void *block, size_t size,
    atto **device);
#define atto_create_in(...) \
  atto_create_in_sized(sizeof(atto_row), sizeof(atto_event), __VA_ARGS__)
#define ATTO_MINIMUM 6144

/* Destroys a device with its bearers. Null is ignored. */
void atto_destroy(atto *device);

/* The octets in use of a block now, and at most so far. ATTO_ERR_STATE without a block. Either
 * pointer may be null. */
int atto_memory(const atto *device, size_t *used, size_t *most);

/* ---- The database ---- */

/* The properties of a characteristic. Vol 3, Part G, 3.3.1.1. */
enum {
  ATTO_BROADCAST = 0x01,
  ATTO_READ = 0x02,
  ATTO_WRITE_WITHOUT_RESPONSE = 0x04,
  ATTO_WRITE = 0x08,
  ATTO_NOTIFY = 0x10,
  ATTO_INDICATE = 0x20,
  ATTO_AUTHENTICATED_SIGNED_WRITES = 0x40,
  ATTO_EXTENDED_PROPERTIES = 0x80
};

/* Permissions of a value. 0: as the properties say, on any link; for a descriptor, read. */
enum {
  ATTO_MAY_READ = 0x0001,
  ATTO_MAY_WRITE = 0x0002,
  ATTO_READ_ENCRYPTED = 0x0004,
  ATTO_WRITE_ENCRYPTED = 0x0008,
  ATTO_READ_AUTHENTICATED = 0x0010,
  ATTO_WRITE_AUTHENTICATED = 0x0020,
  ATTO_READ_SECURE = 0x0040,      /* LE Secure Connections, 128-bit key */
  ATTO_WRITE_SECURE = 0x0080,
  ATTO_READ_AUTHORIZED = 0x0100,  /* the application is asked: ATTO_EVENT_AUTHORIZE_READ */
  ATTO_WRITE_AUTHORIZED = 0x0200, /* likewise; commands are ignored, they cannot wait for it */
  ATTO_NO_ACCESS = 0x8000
};

/* The source of a value. */
enum {
  ATTO_VALUE_STORED = 0,      /* in the library; clients write it within max_length */
  ATTO_VALUE_CONSTANT = 1,    /* in the library; clients cannot write it */
  ATTO_VALUE_FIXED = 2,       /* stored, and writes keep its length */
  ATTO_VALUE_APPLICATION = 3, /* the application is asked: ATTO_EVENT_READ, ATTO_EVENT_WRITE */
  ATTO_VALUE_CLIENT_FEATURES = 4, /* Client Supported Features, of each client */
  ATTO_VALUE_DATABASE_HASH = 5    /* Database Hash */
};

/* The rows of a table of services. */
enum {
  ATTO_PRIMARY_SERVICE = 0,
  ATTO_SECONDARY_SERVICE = 1,
  ATTO_INCLUDE = 2,        /* value_handle: the included service, or 0 for the last with `uuid` */
  ATTO_CHARACTERISTIC = 3, /* a configuration descriptor is added to ATTO_NOTIFY, ATTO_INDICATE */
  ATTO_DESCRIPTOR = 4
};

/* One row of a table of services. Zero is a default for everything but `kind` and `uuid`. */
typedef struct {
  uint8_t kind;          /* ATTO_PRIMARY_SERVICE ... ATTO_DESCRIPTOR */
  uint8_t properties;    /* of a characteristic */
  uint8_t source;        /* ATTO_VALUE_STORED ... */
  uint8_t key_size;      /* the shortest encryption key: 7 to 16, or 0 for any */
  uint16_t permissions;  /* ATTO_MAY_READ ... */
  uint16_t handle;       /* 0: the next free one */
  uint16_t value_handle; /* of a characteristic's value; of an included service */
  uint16_t end_handle;   /* the last handle of a service or an included service; 0: as needed */
  uint16_t max_length;   /* 0: 512 */
  uint16_t length;       /* of `value`, at most 512 */
  atto_uuid uuid;
  const void *value;     /* copied */
} atto_row;

/* Adds the services of a table: a service's row, then those of its includes, characteristics and
 * their descriptors. Writes into `handles`, unless it is null, for each row the handle of the
 * service, include, descriptor, or of the characteristic's value. Clients are told by Service
 * Changed at `now`. Services before the row that fails are kept.
 * Results: ATTO_ERR_ARGUMENT, ATTO_ERR_DATABASE, ATTO_ERR_NOT_FOUND (an included service),
 * ATTO_ERR_LENGTH. */
int atto_add_services(
    atto *device, const atto_row *table, size_t rows, uint16_t *handles, int64_t now);
int atto_add_services_sized(
    size_t row_size, atto *device, const atto_row *table, size_t rows, uint16_t *handles,
    int64_t now);
#define atto_add_services(...) atto_add_services_sized(sizeof(atto_row), __VA_ARGS__)

/* The same in several calls: each of the first four adds one row to the service, and
 * atto_end_service adds the service to the database. `service` may be null. ATTO_ERR_STATE if no
 * service was begun. A failed atto_end_service drops the service. */
int atto_begin_service(atto *device, atto_uuid uuid, int kind);
int atto_add_row(atto *device, const atto_row *row);
int atto_add_row_sized(size_t row_size, atto *device, const atto_row *row);
#define atto_add_row(...) atto_add_row_sized(sizeof(atto_row), __VA_ARGS__)
int atto_add_characteristic(
    atto *device, atto_uuid uuid, int properties, int source, const void *value, size_t length);
int atto_add_descriptor(atto *device, atto_uuid uuid, const void *value, size_t length);
int atto_end_service(atto *device, uint16_t *service, int64_t now);

/* Adds Generic Access with a device name of at most 248 octets and an appearance, and Generic
 * Attribute with Service Changed, Client Supported Features and Database Hash. Vol 3, Part C, 12
 * and Part G, 7. */
int atto_add_generic_services(atto *device, const char *name, uint16_t appearance, int64_t now);

/* Removes the service at a handle. ATTO_ERR_NOT_FOUND; ATTO_ERR_STATE if another includes it. */
int atto_remove_service(atto *device, uint16_t handle, int64_t now);

/* Replaces a value in the library, whatever its permissions. Notifies nobody. ATTO_ERR_NOT_FOUND,
 * ATTO_ERR_LENGTH. */
int atto_set_value(atto *device, uint16_t handle, const void *value, size_t length);

/* Copies a value in the library and sets `length` to its length, also if it is longer than `room`,
 * which is ATTO_ERR_LENGTH. `value` may be null if `room` is 0. ATTO_ERR_NOT_FOUND. */
int atto_get_value(atto *device, uint16_t handle, void *value, size_t room, size_t *length);

/* The first handle after `after` (0: of all) of an attribute with this type. 0 if there is none. */
int atto_find_handle(atto *device, atto_uuid type, uint16_t after);

/* Copies the Database Hash, least significant octet first. Vol 3, Part G, 7.3. */
int atto_database_hash(atto *device, uint8_t hash[16]);

/* ---- Bearers ---- */

enum {
  ATTO_CLIENT_ONLY = 1,     /* the peer finds no attributes */
  ATTO_MANUAL_CONFIRM = 2,  /* indications are confirmed by atto_confirm, not when taken */
  ATTO_ASK_SECURITY = 4,    /* ATTO_EVENT_SECURITY_WANTED instead of a failed procedure */
  ATTO_LINK_MAY_BE_REUSED = 8 /* Linux keeps LE links after the last socket closes; on CID 4 */
};

/* Security levels: LE security mode 1, levels 1 to 4, as Linux names them. */
enum { ATTO_LOW = 1, ATTO_MEDIUM = 2, ATTO_HIGH = 3, ATTO_FIPS = 4 };

/* Creates the bearer of a new link. `enhanced_mtu` is 0 for the fixed channel of LE, whose ATT_MTU
 * is 23 until it is exchanged, and the MTU of the channel for an enhanced bearer. Each bearer is a
 * client of its own to the server. ATTO_ERR_LIMIT: max_bearers. */
int atto_bearer_create(atto *device, uint32_t flags, uint32_t enhanced_mtu, atto_bearer **bearer);

/* Destroys a bearer, after its link has ended. Null is ignored. */
void atto_bearer_destroy(atto_bearer *bearer);

/* Ends what is in progress, because the link has ended: procedures complete with ATTO_ERR_FAILED.
 * Events can still be taken. */
int atto_bearer_link_ended(atto_bearer *bearer);

/* Feeds one received PDU. It is not kept.
 * ATTO_ERR_AGAIN: nothing was accepted; take output and events first. ATTO_ERR_PROTOCOL,
 * ATTO_ERR_TIMEOUT: the bearer has failed by this PDU or its deadline; take the events and close
 * the link. ATTO_ERR_FAILED: it had failed before. */
int atto_bearer_feed(atto_bearer *bearer, const void *pdu, size_t length, int64_t now);

/* Moves the next PDU to send into `buffer`. Returns its length, or 0 if there is none.
 * ATTO_ERR_LENGTH: it is longer than `room`, which should be the ATT_MTU; it stays. */
int atto_bearer_output(atto_bearer *bearer, void *buffer, size_t room);

/* The next PDU to send, where it is. Returns its length, or 0; remove it with atto_bearer_sent
 * before the next call with this bearer. */
int atto_bearer_peek(atto_bearer *bearer, const void **pdu);
int atto_bearer_sent(atto_bearer *bearer);

/* Returns 1 and the time at which to call atto_advance, or 0 if nothing is in flight. */
int atto_deadline(atto_bearer *bearer, int64_t *time);

/* Tells the time. ATTO_ERR_TIMEOUT: a transaction has timed out and the bearer has failed. */
int atto_advance(atto_bearer *bearer, int64_t now);

/* The current ATT_MTU. */
int atto_mtu(atto_bearer *bearer);

/* Frees the buffers of a bearer that has nothing to send and no events, until it needs them
 * again. For devices with many idle connections. Without effect on a busy bearer. */
int atto_bearer_trim(atto_bearer *bearer);

/* Tells the security of the link: ATTO_LOW ... ATTO_FIPS, and the length of its key, 7 to 16, or 0
 * if it is not encrypted. A new bearer has ATTO_LOW. */
int atto_set_security(atto_bearer *bearer, int level, int key_size);

/* ---- Events ---- */

enum {
  /* Questions of the server. Answer each with `id` by one of the atto_answer functions, at once or
     later; the request waits. id 0: it was a command, and no answer is wanted. */
  ATTO_EVENT_READ = 1,            /* handle; offset: of the first octet that is sent */
  ATTO_EVENT_WRITE = 2,           /* handle, data */
  ATTO_EVENT_PREPARED_WRITE = 3,  /* handle, offset, data; one part of the next event. No answer */
  ATTO_EVENT_EXECUTE = 4,         /* accept or refuse all parts before it with this id */
  ATTO_EVENT_AUTHORIZE_READ = 5,  /* handle */
  ATTO_EVENT_AUTHORIZE_WRITE = 6, /* handle */
  /* News of the server. */
  ATTO_EVENT_WRITTEN = 7,    /* handle: the client has written a value in the library */
  ATTO_EVENT_CONFIGURED = 8, /* handle of the value, flags: ATTO_NOTIFICATIONS, ATTO_INDICATIONS */
  ATTO_EVENT_FEATURES = 9,   /* flags: the client's supported features. Vol 3, Part G, 7.2 */
  ATTO_EVENT_CONFIRMED = 10, /* id: the indication was confirmed */
  /* Values from the peer's server. */
  ATTO_EVENT_NOTIFICATION = 11, /* handle, data */
  ATTO_EVENT_INDICATION = 12,   /* handle, data */
  /* Results of a procedure, then its end. */
  ATTO_EVENT_SERVICE = 13,        /* handle, end_handle, uuid; flags: 1 if primary */
  ATTO_EVENT_INCLUDE = 14,        /* handle; value_handle, end_handle, uuid of the service */
  ATTO_EVENT_CHARACTERISTIC = 15, /* handle, value_handle, end_handle, properties, uuid */
  ATTO_EVENT_DESCRIPTOR = 16,     /* handle, uuid; any attribute in discover_descriptors */
  ATTO_EVENT_VALUE = 17,          /* handle (0: of several), data */
  ATTO_EVENT_COMPLETE = 18,       /* id, result; with ATTO_ERR_ATT att_error and handle */
  ATTO_EVENT_SECURITY_WANTED = 19 /* att_error: raise the link's security, then
                                     atto_security_raised */
};

enum { ATTO_NOTIFICATIONS = 1, ATTO_INDICATIONS = 2 };

typedef struct {
  uint32_t type;
  int32_t result;
  uint64_t id;         /* of the question, the indication or the procedure */
  atto_uuid uuid;
  const uint8_t *data; /* valid until the next call with this bearer */
  size_t length;
  uint16_t handle, end_handle, value_handle, offset;
  uint8_t properties, att_error, flags, reserved;
} atto_event;

/* Takes the next event. Returns 1, or 0 if there is none. */
int atto_next_event(atto_bearer *bearer, atto_event *event);
int atto_next_event_sized(size_t event_size, atto_bearer *bearer, atto_event *event);
#define atto_next_event(...) atto_next_event_sized(sizeof(atto_event), __VA_ARGS__)

/* ---- Server ---- */

/* Answers ATTO_EVENT_READ with the whole value, of at most 512 octets. ATTO_ERR_NOT_FOUND: the
 * question is not open, for example because the link has ended. */
int atto_answer_value(
    atto_bearer *bearer, uint64_t id, const void *value, size_t length, int64_t now);
/* Accepts a write, the execution of prepared writes, or an access. */
int atto_answer_accept(atto_bearer *bearer, uint64_t id, int64_t now);
/* Refuses with an ATT error code, for example 0x80 to 0x9F. */
int atto_answer_error(atto_bearer *bearer, uint64_t id, uint8_t code, int64_t now);

/* How the client has configured a value: ATTO_NOTIFICATIONS, ATTO_INDICATIONS; 0 also while the
 * link is not secure enough, or the client does not know the database. */
int atto_subscriptions(atto_bearer *bearer, uint16_t handle);

/* Notifies a value, cut at ATT_MTU - 3. ATTO_ERR_NOT_SUBSCRIBED, ATTO_ERR_AGAIN, ATTO_ERR_FAILED. */
int atto_notify(atto_bearer *bearer, uint16_t handle, const void *value, size_t length);

typedef struct {
  uint16_t handle;
  uint16_t length;
  const void *value;
} atto_value;
/* Notifies several values in one PDU. ATTO_ERR_STATE if the client does not support it,
 * ATTO_ERR_LENGTH if they do not fit; then notify each. */
int atto_notify_multiple(atto_bearer *bearer, const atto_value *values, size_t count);

/* Indicates a value, cut at ATT_MTU - 3, or queues it behind others. ATTO_EVENT_CONFIRMED with `id`
 * follows; `id` may be null. ATTO_ERR_NOT_SUBSCRIBED, ATTO_ERR_LIMIT, ATTO_ERR_FAILED. */
int atto_indicate(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length, int64_t now,
    uint64_t *id);

/* The state of a bonded client to keep between connections: its configurations and features. Sets
 * `length` also if it is more than `room`, which is ATTO_ERR_LENGTH. Save it after
 * ATTO_EVENT_CONFIGURED and ATTO_EVENT_FEATURES and at the end. `state` may be null if `room` is
 * 0. */
int atto_save_state(atto_bearer *bearer, void *state, size_t room, size_t *length);
/* Restores it on a new bearer, before its first PDU. ATTO_ERR_ARGUMENT: not such a state. */
int atto_restore_state(atto_bearer *bearer, const void *state, size_t length, int64_t now);

/* Lets a bonded client sign its writes with its CSRK, most significant octet first, from this sign
 * counter on. atto_sign_counter is the next one, to keep with the bond; ATTO_ERR_STATE without a
 * key. */
int atto_set_signing_key(atto_bearer *bearer, const uint8_t key[16], uint32_t counter);
int atto_sign_counter(atto_bearer *bearer, uint32_t *counter);

/* ---- Client ----
 *
 * Each function starts a procedure of Vol 3, Part G, 4, or queues it behind those in progress. The
 * results are events, the last one ATTO_EVENT_COMPLETE with `id`, which may be null. Results:
 * ATTO_ERR_ARGUMENT, ATTO_ERR_LIMIT (max_procedures), ATTO_ERR_LENGTH, ATTO_ERR_STATE,
 * ATTO_ERR_FAILED; then no event follows. */

/* 4.3.1, once for each bearer. Names `mtu`, from 23 to that of the device, or with 0 that of the
 * device; atto_mtu is the result. */
int atto_exchange_mtu(atto_bearer *bearer, uint32_t mtu, int64_t now, uint64_t *id);

/* 4.4.1, 4.4.2 and secondary services. ATTO_EVENT_SERVICE. */
int atto_discover_primary_services(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id);
int atto_discover_primary_services_by_uuid(
    atto_bearer *bearer, atto_uuid uuid, int64_t now, uint64_t *id);
int atto_discover_secondary_services(atto_bearer *bearer, int64_t now, uint64_t *id);
/* 4.5.1. ATTO_EVENT_INCLUDE. */
int atto_find_included_services(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id);
/* 4.6.1 and 4.6.2. ATTO_EVENT_CHARACTERISTIC. */
int atto_discover_characteristics(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id);
int atto_discover_characteristics_by_uuid(
    atto_bearer *bearer, atto_uuid uuid, uint16_t start, uint16_t end, int64_t now, uint64_t *id);
/* 4.7.1. ATTO_EVENT_DESCRIPTOR. */
int atto_discover_descriptors(
    atto_bearer *bearer, uint16_t start, uint16_t end, int64_t now, uint64_t *id);
/* The whole database with few requests: for each service ATTO_EVENT_SERVICE, its includes, and its
 * characteristics, each with its descriptors. */
int atto_discover_all(atto_bearer *bearer, int64_t now, uint64_t *id);

/* 4.8.1: up to ATT_MTU - 1 octets. 4.8.3 from an offset: all. One Read Blob Request. 4.8.2: one
 * ATTO_EVENT_VALUE for each attribute. */
int atto_read(atto_bearer *bearer, uint16_t handle, int64_t now, uint64_t *id);
int atto_read_long(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, int64_t now, uint64_t *id);
int atto_read_blob(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, int64_t now, uint64_t *id);
int atto_read_by_uuid(
    atto_bearer *bearer, atto_uuid uuid, uint16_t start, uint16_t end, int64_t now, uint64_t *id);
/* 4.8.4: the values joined. 4.8.5: one ATTO_EVENT_VALUE for each. At least two handles. */
int atto_read_multiple(
    atto_bearer *bearer, const uint16_t *handles, size_t count, int64_t now, uint64_t *id);
int atto_read_multiple_variable(
    atto_bearer *bearer, const uint16_t *handles, size_t count, int64_t now, uint64_t *id);

/* 4.9.3 and 4.12.3: up to ATT_MTU - 3 octets, and 512. */
int atto_write(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length, int64_t now,
    uint64_t *id);
/* 4.9.4 and 4.12.4: prepared and executed; up to 512 octets. */
int atto_write_long(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, const void *value, size_t length,
    int64_t now, uint64_t *id);
/* 4.9.5: several values, written together or not at all. */
int atto_reliable_writes(
    atto_bearer *bearer, const atto_value *values, size_t count, int64_t now, uint64_t *id);
/* The two requests of these procedures. */
int atto_prepare_write(
    atto_bearer *bearer, uint16_t handle, uint16_t offset, const void *part, size_t length,
    int64_t now, uint64_t *id);
int atto_execute_write(atto_bearer *bearer, int execute, int64_t now, uint64_t *id);

/* 4.9.1: a command of up to ATT_MTU - 3 octets, and 512, sent in order and not answered.
 * ATTO_ERR_AGAIN. */
int atto_write_without_response(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length);
/* 4.9.2: up to ATT_MTU - 15 octets. Use no counter twice with a key. */
int atto_signed_write(
    atto_bearer *bearer, uint16_t handle, const void *value, size_t length, uint32_t counter,
    const uint8_t key[16]);

/* 4.10 and 4.11: finds the Client Characteristic Configuration of a value and writes
 * ATTO_NOTIFICATIONS, ATTO_INDICATIONS or 0. `configuration` is its handle, or 0 to search.
 * ATTO_ERR_NOT_FOUND in the event: the characteristic has none. */
int atto_subscribe(
    atto_bearer *bearer, uint16_t value_handle, uint16_t configuration, int kinds, int64_t now,
    uint64_t *id);

/* Cancels a procedure, which completes with ATTO_ERR_CANCELLED, or an indication that waits. */
int atto_cancel(atto_bearer *bearer, uint64_t id, int64_t now);

/* Confirms the oldest unconfirmed indication, with ATTO_MANUAL_CONFIRM. ATTO_ERR_STATE: none. */
int atto_confirm(atto_bearer *bearer);

/* After ATTO_EVENT_SECURITY_WANTED: sends the refused requests again, or fails them. */
int atto_security_raised(atto_bearer *bearer, int raised, int64_t now);

/* Sends a PDU of at most ATT_MTU octets as it is, to test a peer. ATTO_ERR_LENGTH,
 * ATTO_ERR_AGAIN. */
int atto_send_raw(atto_bearer *bearer, const void *pdu, size_t length);

#ifdef __cplusplus
}
#endif

#endif
