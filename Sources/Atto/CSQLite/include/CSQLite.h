// The functions of SQLite that Atto's store uses, declared here and looked up at run time. Neither
// headers nor the library are needed to build Atto, or to run programs that store nothing. SQLite
// guarantees that its C interface does not change.
#pragma once

#include <stdint.h>

// sqlite3 and sqlite3_stmt, opaque.
typedef struct csqlite_database csqlite_database;
typedef struct csqlite_statement csqlite_statement;

// Results (SQLITE_...); others are reported by number.
static const int32_t CSQLITE_OK = 0;
static const int32_t CSQLITE_ERROR = 1;
static const int32_t CSQLITE_BUSY = 5;
static const int32_t CSQLITE_LOCKED = 6;
static const int32_t CSQLITE_NOMEM = 7;
static const int32_t CSQLITE_READONLY = 8;
static const int32_t CSQLITE_IOERR = 10;
static const int32_t CSQLITE_CORRUPT = 11;
static const int32_t CSQLITE_FULL = 13;
static const int32_t CSQLITE_CANTOPEN = 14;
static const int32_t CSQLITE_CONSTRAINT = 19;
static const int32_t CSQLITE_MISMATCH = 20;
static const int32_t CSQLITE_NOTADB = 26;
static const int32_t CSQLITE_ROW = 100;
static const int32_t CSQLITE_DONE = 101;

// Loads the library and looks up its functions; 0 if it succeeds. May be called from any thread and
// repeatedly; only the first successful call does anything. $ATTO_SQLITE names a file other than
// libsqlite3.so.0; set-user-ID programs ignore it.
int32_t csqlite_load(void);
// Why csqlite_load failed, called by the same thread.
const char *csqlite_load_error(void);

// The functions below require a successful csqlite_load.

// Opens an existing file for reading and writing. If this fails, `database` must still be closed
// unless it is null.
int32_t csqlite_open(const char *path, csqlite_database **database);
void csqlite_close(csqlite_database *database);
// In English; valid until the next call on the database.
const char *csqlite_error_message(csqlite_database *database);
// The extended result code.
int32_t csqlite_error_code(csqlite_database *database);
void csqlite_busy_timeout(csqlite_database *database, int32_t milliseconds);
int64_t csqlite_changes(csqlite_database *database);

int32_t csqlite_prepare(
    csqlite_database *database, const char *sql, csqlite_statement **statement);
// The octets are copied. A null pointer with count 0 is an empty value, not NULL.
int32_t csqlite_bind_octets(
    csqlite_statement *statement, int32_t index, const void *octets, int32_t count);
int32_t csqlite_bind_text(
    csqlite_statement *statement, int32_t index, const char *text, int32_t count);
int32_t csqlite_bind_integer(csqlite_statement *statement, int32_t index, int64_t value);
int32_t csqlite_step(csqlite_statement *statement);
int64_t csqlite_column_integer(csqlite_statement *statement, int32_t index);
// Null for an empty value or NULL; valid until the next step.
const void *csqlite_column_octets(csqlite_statement *statement, int32_t index);
int32_t csqlite_column_count(csqlite_statement *statement, int32_t index);
void csqlite_finalize(csqlite_statement *statement);
