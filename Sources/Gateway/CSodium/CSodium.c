#define _GNU_SOURCE
#include "CSodium.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef unsigned char octet;
typedef unsigned long long length;

// X(result, name, parameters)
#define FUNCTIONS(X)                                                                       \
  X(int, sodium_init, (void))                                                              \
  X(void, randombytes_buf, (void *, size_t))                                               \
  X(int, crypto_hash_sha256, (octet *, const octet *, length))                             \
  X(int, crypto_auth_hmacsha256, (octet *, const octet *, length, const octet *))          \
  X(int, crypto_scalarmult_curve25519_base, (octet *, const octet *))                      \
  X(int, crypto_scalarmult_curve25519, (octet *, const octet *, const octet *))            \
  X(int, crypto_aead_chacha20poly1305_ietf_encrypt,                                        \
    (octet *, length *, const octet *, length, const octet *, length, const octet *,       \
     const octet *, const octet *))                                                        \
  X(int, crypto_aead_chacha20poly1305_ietf_decrypt,                                        \
    (octet *, length *, octet *, const octet *, length, const octet *, length,             \
     const octet *, const octet *))

static struct {
#define X(result, name, parameters) result(*name) parameters;
  FUNCTIONS(X)
#undef X
} sodium;

static char load_error[512];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
  const char *name = secure_getenv("ATTO_SODIUM");
  if (!name || !*name) name = "libsodium.so.23";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(load_error, sizeof load_error, "%s", dlerror());
    return;
  }
#define X(result, name, parameters)                                                       \
  *(void **)&sodium.name = dlsym(library, #name);                                         \
  if (!sodium.name) {                                                                     \
    snprintf(load_error, sizeof load_error, "missing function " #name);                   \
    return;                                                                               \
  }
  FUNCTIONS(X)
#undef X
  if (sodium.sodium_init() < 0) snprintf(load_error, sizeof load_error, "sodium_init failed");
}

int32_t csodium_load(void) {
  pthread_once(&once, load);
  return load_error[0] ? -1 : 0;
}

const char *csodium_load_error(void) { return load_error; }

void csodium_random(void *octets, size_t count) { sodium.randombytes_buf(octets, count); }

void csodium_sha256(uint8_t *digest, const uint8_t *octets, size_t count) {
  sodium.crypto_hash_sha256(digest, octets, count);
}

void csodium_hmac_sha256(
    uint8_t *code, const uint8_t *octets, size_t count, const uint8_t *key) {
  sodium.crypto_auth_hmacsha256(code, octets, count, key);
}

void csodium_public_key(uint8_t *key, const uint8_t *secret) {
  sodium.crypto_scalarmult_curve25519_base(key, secret);
}

int32_t csodium_shared_secret(uint8_t *result, const uint8_t *secret, const uint8_t *key) {
  return sodium.crypto_scalarmult_curve25519(result, secret, key);
}

void csodium_seal(
    uint8_t *sealed, const uint8_t *text, size_t count, const uint8_t *additional,
    size_t additional_count, const uint8_t *nonce, const uint8_t *key) {
  sodium.crypto_aead_chacha20poly1305_ietf_encrypt(
      sealed, NULL, text, count, additional, additional_count, NULL, nonce, key);
}

int32_t csodium_open(
    uint8_t *text, const uint8_t *sealed, size_t count, const uint8_t *additional,
    size_t additional_count, const uint8_t *nonce, const uint8_t *key) {
  return sodium.crypto_aead_chacha20poly1305_ietf_decrypt(
      text, NULL, NULL, sealed, count, additional, additional_count, nonce, key);
}
