// The line editor of a terminal, by libedit or readline: whichever is found at run time, in this order,
// or else the one that $ATTO_LINE_EDITOR names. Neither is needed to build.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Loads a library; 0 if it succeeds.
int32_t clineeditor_load(void);

// What a program does with lines. Called on the thread of clineeditor_run.
typedef struct {
  void *context;
  // A line was entered. The prompt is shown again next.
  void (*entered)(void *context);
  // The line, without its end; NULL at the end of the input.
  void (*line)(void *context, const char *line);
  // Texts that may stand between two places of the line, each ended by a line break, in memory from
  // malloc; NULL where the names of files are completed.
  char *(*completions)(void *context, const char *line, int32_t start, int32_t end);
} clineeditor_callbacks;

// Reads lines from the terminal until its end, or until clineeditor_end is called. It must run on a
// thread of its own, once in a process. Loads the history from a file and stores it there at the end,
// but for lines that begin with a space; NULL: no history is kept.
void clineeditor_run(const char *prompt, const char *history, clineeditor_callbacks callbacks);

// These may be called from any thread. The editor...
// ... leaves the screen to output: writes into `erasing` what to send first, which erases prompt and line
// with all rows that they take; returns its length.
int32_t clineeditor_hide(char *erasing, size_t capacity);
// ... shows them again. Each call follows one of clineeditor_hide, on the same thread; between them the
// editor writes nothing.
void clineeditor_show(void);
// ... discards the line.
void clineeditor_discard(void);
// ... ends.
void clineeditor_end(void);
// Gives the terminal back as it was; for a process that ends at once.
void clineeditor_restore(void);
