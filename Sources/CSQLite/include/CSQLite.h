// The few functions of SQLite that Atto's store uses, declared here and looked up when the first
// of them is wanted: neither a header nor the library is needed to build Atto or to run what
// keeps nothing. SQLite's C interface promises that these never change.
#pragma once

#include <stdint.h>

// sqlite3 and sqlite3_stmt: never looked into.
typedef struct csqlite_database csqlite_database;
typedef struct csqlite_statement csqlite_statement;

// Results (SQLITE_...); what is not named here is told by its number.
static const int32_t CSQLITE_OK = 0;
static const int32_t CSQLITE_BUSY = 5;
static const int32_t CSQLITE_LOCKED = 6;
static const int32_t CSQLITE_READONLY = 8;
static const int32_t CSQLITE_CORRUPT = 11;
static const int32_t CSQLITE_FULL = 13;
static const int32_t CSQLITE_NOTADB = 26;
static const int32_t CSQLITE_ROW = 100;
static const int32_t CSQLITE_DONE = 101;

// Finds the library and all that is wanted of it; 0 if it is there. Any thread, any number of
// times: the first decides. $ATTO_SQLITE names another file than libsqlite3.so.0, but not to a
// program with more privileges than the one who started it.
int32_t csqlite_load(void);
// Why csqlite_load has failed.
const char *csqlite_load_error(void);

// Everything below wants a csqlite_load that has succeeded.

// Opens a file that exists, for reading and writing. There may be a database to be closed even
// where this fails.
int32_t csqlite_open(const char *path, csqlite_database **database);
void csqlite_close(csqlite_database *database);
// English, valid until the next call on the database.
const char *csqlite_error_message(csqlite_database *database);
// With the finer reason in the upper octets.
int32_t csqlite_error_code(csqlite_database *database);
void csqlite_busy_timeout(csqlite_database *database, int32_t milliseconds);
int64_t csqlite_changes(csqlite_database *database);

int32_t csqlite_prepare(
    csqlite_database *database, const char *sql, csqlite_statement **statement);
// The octets are copied. A null pointer with no octets is an empty value.
int32_t csqlite_bind_octets(
    csqlite_statement *statement, int32_t index, const void *octets, int32_t count);
int32_t csqlite_bind_text(
    csqlite_statement *statement, int32_t index, const char *text, int32_t count);
int32_t csqlite_bind_integer(csqlite_statement *statement, int32_t index, int64_t value);
int32_t csqlite_step(csqlite_statement *statement);
int64_t csqlite_column_integer(csqlite_statement *statement, int32_t index);
// Null for an empty or absent value; valid until the next step.
const void *csqlite_column_octets(csqlite_statement *statement, int32_t index);
int32_t csqlite_column_count(csqlite_statement *statement, int32_t index);
void csqlite_finalize(csqlite_statement *statement);
