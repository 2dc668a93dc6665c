#define _GNU_SOURCE
#include "CLineEditor.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

// Both libraries have these, and guarantee them.
// X(result, name, parameters)
#define FUNCTIONS(X)                                                                      \
  X(void, rl_callback_handler_install, (const char *, void (*)(char *)))                  \
  X(void, rl_callback_read_char, (void))                                                  \
  X(void, rl_callback_handler_remove, (void))                                             \
  X(int, rl_forced_update_display, (void))                                                \
  X(char **, rl_completion_matches, (const char *, char *(*)(const char *, int)))         \
  X(void, using_history, (void))                                                          \
  X(int, add_history, (const char *))                                                     \
  X(int, read_history, (const char *))                                                    \
  X(int, write_history, (const char *))                                                   \
  X(void, stifle_history, (int))
#define VARIABLES(X)                                                                      \
  X(char *, rl_line_buffer)                                                               \
  X(int, rl_point)                                                                        \
  X(int, rl_catch_signals)                                                                \
  X(int, rl_attempted_completion_over)                                                    \
  X(char **(*)(const char *, int, int), rl_attempted_completion_function)

enum { HISTORY_LINES = 1000 };

static struct {
#define X(result, name, parameters) result(*name) parameters;
  FUNCTIONS(X)
#undef X
  char **rl_line_buffer;
  int *rl_point;
  int *rl_catch_signals;
  int *rl_attempted_completion_over;
  char **(**rl_attempted_completion_function)(const char *, int, int);
} library;

// What other threads ask for, in the eventfd's number.
enum { REDISPLAY = 1, DISCARD = 1 << 10, END = 1 << 20 };
static atomic_int wake = -1;
static atomic_int is_raw;
static struct termios original;
static struct termios prepared;

// The screen, on which either the editor or the output writes.
static pthread_mutex_t screen = PTHREAD_MUTEX_INITIALIZER;
// The rows from the first one of the prompt to that of the cursor; 0: the prompt is not shown, and the
// cursor stands where a row begins. Guarded by `screen`.
static int rows;
// Something else has written on the screen: the process was stopped.
static atomic_int is_stale;

static const char *prompt;
static const char *history;
static clineeditor_callbacks callbacks;
static int is_over;
// The line that was entered, until the terminal is prepared again.
static char *entered;
// The completions that are being listed, and where the next one begins.
static char *completions;
static char *next_completion;

int32_t clineeditor_load(void) {
  const char *names[] = {"libedit.so.2", "libreadline.so.8", "libreadline.so.7", NULL};
  const char *given = secure_getenv("ATTO_LINE_EDITOR");
  if (given) names[0] = given, names[1] = NULL;
  for (size_t index = 0; names[index]; index++) {
    void *handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
    if (!handle) continue;
    int is_complete = 1;
#define X(result, name, parameters)                                                       \
  *(void **)&library.name = dlsym(handle, #name);                                         \
  is_complete &= library.name != NULL;
    FUNCTIONS(X)
#undef X
#define X(type, name)                                                                     \
  *(void **)&library.name = dlsym(handle, #name);                                         \
  is_complete &= library.name != NULL;
    VARIABLES(X)
#undef X
    if (is_complete) return 0;
    dlclose(handle);
  }
  return -1;
}

static void removed(void);

static void pass_line(void) {
  char *line = entered;
  if (!line) return;
  entered = NULL;
  callbacks.line(callbacks.context, line);
  free(line);
}

// Both libraries allow to remove the handler here. libedit leaves the terminal unprepared until it is
// installed again.
static void got_line(char *line) {
  pass_line();
  removed();
  if (!line) {
    is_over = 1;
    return;
  }
  if (history && *line && *line != ' ') library.add_history(line);
  callbacks.entered(callbacks.context);
  entered = line;
}

// The next completion that begins with a text, in memory of its own.
static char *complete(const char *text, int is_later) {
  if (!is_later) next_completion = completions;
  char *word;
  while ((word = next_completion) && *word) {
    char *end = strchr(word, '\n');
    if (!end) return NULL;
    next_completion = end + 1;
    if (strncmp(word, text, strlen(text)) == 0) return strndup(word, (size_t)(end - word));
  }
  return NULL;
}

static char **completions_of(const char *text, int start, int end) {
  completions = callbacks.completions(callbacks.context, *library.rl_line_buffer, start, end);
  *library.rl_attempted_completion_over = completions != NULL;
  if (!completions) return NULL;
  char **found = library.rl_completion_matches(text, complete);
  free(completions);
  completions = next_completion = NULL;
  return found;
}

// The columns that a text takes, each character one.
static int width(const char *text, int length) {
  int count = 0;
  for (int index = 0; index < length && text[index]; index++) count += (text[index] & 0xC0) != 0x80;
  return count;
}

// Notes where the cursor is, behind some octets of the line. A line that fills a row goes on in the next
// one: both libraries see to it.
static void measure(int point) {
  struct winsize size = {0};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0) size.ws_col = 80;
  int before = width(prompt, (int)strlen(prompt));
  if (point > 0 && *library.rl_line_buffer) before += width(*library.rl_line_buffer, point);
  rows = 1 + before / size.ws_col;
}

static void install(void) {
  library.rl_callback_handler_install(prompt, got_line);
  tcgetattr(STDIN_FILENO, &prepared);
  atomic_store(&is_raw, 1);
  measure(0);
}

static void removed(void) {
  library.rl_callback_handler_remove();
  atomic_store(&is_raw, 0);
  rows = 0;
}

static int is_shown(void) {
  if (atomic_exchange(&is_stale, 0)) rows = 0;
  return rows > 0;
}

// Shows prompt and line. The libraries take what they had shown for lost.
static int show(void) {
  if (is_shown()) return 0;
  if (write(STDOUT_FILENO, "\r\x1b[K", 4) < 0) return -1;
  library.rl_forced_update_display();
  measure(*library.rl_point);
  return 0;
}

int32_t clineeditor_hide(char *erasing, size_t capacity) {
  pthread_mutex_lock(&screen);
  int above = is_shown() ? rows - 1 : 0;
  rows = 0;
  return above ? snprintf(erasing, capacity, "\r\x1b[%dA\x1b[J", above) : snprintf(erasing, capacity, "\r\x1b[K");
}

static void ask(uint64_t what);

void clineeditor_show(void) {
  pthread_mutex_unlock(&screen);
  ask(REDISPLAY);
}

// MARK: Ctrl-Z

static struct sigaction stopping, continuing;

// The shell gets the terminal as it was.
static void stopped(int number) {
  int error = errno;
  if (atomic_load(&is_raw)) tcsetattr(STDIN_FILENO, TCSANOW, &original);
  raise(number);
  errno = error;
}

static void continued(int number) {
  (void)number;
  int error = errno;
  sigaction(SIGTSTP, &stopping, NULL);
  if (atomic_load(&is_raw) && tcgetpgrp(STDIN_FILENO) == getpgrp())
    tcsetattr(STDIN_FILENO, TCSANOW, &prepared);
  atomic_store(&is_stale, 1);
  ask(REDISPLAY);
  errno = error;
}

static void watch_stops(void) {
  // The second SIGTSTP, from the handler of the first, stops the process.
  stopping = (struct sigaction){.sa_handler = stopped, .sa_flags = (int)(SA_RESETHAND | SA_NODEFER | SA_RESTART)};
  continuing = (struct sigaction){.sa_handler = continued, .sa_flags = SA_RESTART};
  struct sigaction former;
  // A shell without job control ignores it.
  if (sigaction(SIGTSTP, NULL, &former) < 0 || former.sa_handler == SIG_IGN) return;
  sigaction(SIGTSTP, &stopping, NULL);
  sigaction(SIGCONT, &continuing, NULL);
}

void clineeditor_run(const char *text, const char *file, clineeditor_callbacks given) {
  int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (event < 0) return given.line(given.context, NULL);
  (prompt = text, history = file, callbacks = given);
  tcgetattr(STDIN_FILENO, &original);
  *library.rl_catch_signals = 0;
  *library.rl_attempted_completion_function = completions_of;
  library.using_history();
  library.stifle_history(HISTORY_LINES);
  if (history) library.read_history(history);
  // Before the prompt is shown: the session may ask for the end from then on.
  atomic_store(&wake, event);
  watch_stops();
  pthread_mutex_lock(&screen);
  install();
  pthread_mutex_unlock(&screen);
  while (!is_over) {
    struct pollfd waits[] = {{STDIN_FILENO, POLLIN, 0}, {event, POLLIN, 0}};
    if (poll(waits, 2, -1) < 0) continue;
    pthread_mutex_lock(&screen);
    uint64_t asked = 0;
    if (waits[1].revents && read(event, &asked, sizeof asked) == sizeof asked) {
      if (asked >= END) {
        is_over = 1;
      } else if (asked >= DISCARD) {
        removed();
        is_over = write(STDOUT_FILENO, "\n", 1) < 0;
      } else {
        is_over = show() < 0;
      }
    }
    if (!is_over && waits[0].revents && atomic_load(&is_raw)) {
      // What is typed is shown behind the prompt.
      show();
      library.rl_callback_read_char();
      if (atomic_load(&is_raw)) measure(*library.rl_point);
    }
    if (!is_over && !atomic_load(&is_raw)) install();
    pthread_mutex_unlock(&screen);
    // Not before: the terminal loses a Ctrl-D that is typed while it is not prepared, and whoever sees
    // the result of the line may type one.
    pass_line();
  }
  atomic_store(&wake, -1);
  pthread_mutex_lock(&screen);
  if (atomic_load(&is_raw)) removed();
  pthread_mutex_unlock(&screen);
  if (history) library.write_history(history);
  close(event);
  // The last thing: the process may end then.
  callbacks.line(callbacks.context, NULL);
}

static void ask(uint64_t what) {
  int event = atomic_load(&wake);
  if (event >= 0 && write(event, &what, sizeof what) < 0) return;
}

void clineeditor_discard(void) { ask(DISCARD); }
void clineeditor_end(void) { ask(END); }

void clineeditor_restore(void) {
  if (atomic_load(&is_raw)) tcsetattr(STDIN_FILENO, TCSANOW, &original);
}
