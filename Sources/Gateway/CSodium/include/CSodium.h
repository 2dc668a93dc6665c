// The functions of libsodium that the gateway uses, declared here and looked up at run time. Neither
// headers nor the library are needed to build Atto.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
  CSODIUM_HASH = 32,  // an SHA-256 digest
  CSODIUM_KEY = 32,   // a key of X25519, of ChaCha20-Poly1305 and of the HMAC
  CSODIUM_TAG = 16,
  CSODIUM_NONCE = 12,
};

// Loads the library and looks up its functions; 0 if it succeeds. May be called from any thread and
// repeatedly; only the first call does anything. $ATTO_SODIUM names a file other than
// libsodium.so.23; set-user-ID programs ignore it. The other functions may be called only after it
// has succeeded.
int32_t csodium_load(void);

// Why csodium_load failed.
const char *csodium_load_error(void);

void csodium_random(void *octets, size_t count);
void csodium_sha256(uint8_t *digest, const uint8_t *octets, size_t count);
void csodium_hmac_sha256(
    uint8_t *code, const uint8_t *octets, size_t count, const uint8_t *key);
void csodium_public_key(uint8_t *key, const uint8_t *secret);

// X25519. -1 if the result is all zeros: the peer's key is of low order.
int32_t csodium_shared_secret(uint8_t *result, const uint8_t *secret, const uint8_t *key);

// ChaCha20-Poly1305 (RFC 8439). `sealed` has room for `count` + CSODIUM_TAG octets.
void csodium_seal(
    uint8_t *sealed, const uint8_t *text, size_t count, const uint8_t *additional,
    size_t additional_count, const uint8_t *nonce, const uint8_t *key);

// Opens what csodium_seal made, of at least CSODIUM_TAG octets; -1 if the tag is wrong.
int32_t csodium_open(
    uint8_t *text, const uint8_t *sealed, size_t count, const uint8_t *additional,
    size_t additional_count, const uint8_t *nonce, const uint8_t *key);
