#define _GNU_SOURCE
#include "CSQLite.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#define OPEN_READWRITE 0x00000002
// SQLITE_TRANSIENT: SQLite copies the bound value.
#define TRANSIENT ((void (*)(void *))(intptr_t)-1)

// X(result, name without "sqlite3_", parameters)
#define FUNCTIONS(X)                                                                       \
  X(int, open_v2, (const char *, csqlite_database **, int, const char *))                  \
  X(int, close_v2, (csqlite_database *))                                                   \
  X(const char *, errmsg, (csqlite_database *))                                            \
  X(int, extended_errcode, (csqlite_database *))                                           \
  X(int, busy_timeout, (csqlite_database *, int))                                          \
  X(int, changes, (csqlite_database *))                                                    \
  X(int, prepare_v2,                                                                       \
    (csqlite_database *, const char *, int, csqlite_statement **, const char **))          \
  X(int, bind_blob, (csqlite_statement *, int, const void *, int, void (*)(void *)))       \
  X(int, bind_text, (csqlite_statement *, int, const char *, int, void (*)(void *)))       \
  X(int, bind_int64, (csqlite_statement *, int, int64_t))                                  \
  X(int, step, (csqlite_statement *))                                                      \
  X(int64_t, column_int64, (csqlite_statement *, int))                                     \
  X(const void *, column_blob, (csqlite_statement *, int))                                 \
  X(int, column_bytes, (csqlite_statement *, int))                                         \
  X(int, finalize, (csqlite_statement *))

static struct {
#define X(result, name, parameters) result(*name) parameters;
  FUNCTIONS(X)
#undef X
} sqlite;

static _Thread_local char load_error[512];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_loaded;

static void load(void) {
  const char *name = secure_getenv("ATTO_SQLITE");
  if (!name || !*name) name = "libsqlite3.so.0";
  void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(load_error, sizeof load_error, "%s", dlerror());
    return;
  }
#define X(result, name, parameters)                                                       \
  *(void **)&sqlite.name = dlsym(library, "sqlite3_" #name);                              \
  if (!sqlite.name) {                                                                     \
    snprintf(load_error, sizeof load_error, "missing function sqlite3_" #name);                   \
    return;                                                                               \
  }
  FUNCTIONS(X)
#undef X
  is_loaded = true;
}

int32_t csqlite_load(void) {
  pthread_mutex_lock(&lock);
  if (!is_loaded) load();
  int32_t result = is_loaded ? 0 : -1;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *csqlite_load_error(void) { return load_error; }

int32_t csqlite_open(const char *path, csqlite_database **database) {
  return sqlite.open_v2(path, database, OPEN_READWRITE, NULL);
}

void csqlite_close(csqlite_database *database) { sqlite.close_v2(database); }

const char *csqlite_error_message(csqlite_database *database) { return sqlite.errmsg(database); }

int32_t csqlite_error_code(csqlite_database *database) {
  return sqlite.extended_errcode(database);
}

void csqlite_busy_timeout(csqlite_database *database, int32_t milliseconds) {
  sqlite.busy_timeout(database, milliseconds);
}

int64_t csqlite_changes(csqlite_database *database) { return sqlite.changes(database); }

int32_t csqlite_prepare(
    csqlite_database *database, const char *sql, csqlite_statement **statement) {
  return sqlite.prepare_v2(database, sql, -1, statement, NULL);
}

int32_t csqlite_bind_octets(
    csqlite_statement *statement, int32_t index, const void *octets, int32_t count) {
  // A null pointer would bind NULL instead of an empty value.
  return sqlite.bind_blob(statement, index, octets ? octets : "", count, TRANSIENT);
}

int32_t csqlite_bind_text(
    csqlite_statement *statement, int32_t index, const char *text, int32_t count) {
  return sqlite.bind_text(statement, index, text ? text : "", count, TRANSIENT);
}

int32_t csqlite_bind_integer(csqlite_statement *statement, int32_t index, int64_t value) {
  return sqlite.bind_int64(statement, index, value);
}

int32_t csqlite_step(csqlite_statement *statement) { return sqlite.step(statement); }

int64_t csqlite_column_integer(csqlite_statement *statement, int32_t index) {
  return sqlite.column_int64(statement, index);
}

const void *csqlite_column_octets(csqlite_statement *statement, int32_t index) {
  return sqlite.column_blob(statement, index);
}

int32_t csqlite_column_count(csqlite_statement *statement, int32_t index) {
  return sqlite.column_bytes(statement, index);
}

void csqlite_finalize(csqlite_statement *statement) { sqlite.finalize(statement); }
