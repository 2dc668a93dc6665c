#pragma once

#include <getopt.h>
#include <stdint.h>

// getopt_long, whose results are in global variables: from one thread only, one command line at
// a time.

static const int32_t CLINUX_OPTION_END = -1;
static const int32_t CLINUX_OPTION_UNKNOWN = -2;
static const int32_t CLINUX_OPTION_LACKS_ARGUMENT = -3;

/// Begins with a command line.
static inline void clinux_options_begin(void) {
  optind = 0;
  opterr = 0;
}

/// The `val` of the next option, or one of the constants above. `argv` is reordered.
static inline int32_t clinux_options_next(
    int32_t argc, char *const *argv, const struct option *options) {
  int found = getopt_long(argc, argv, ":", options, NULL);
  if (found == -1) return CLINUX_OPTION_END;
  if (found == ':') return CLINUX_OPTION_LACKS_ARGUMENT;
  if (found == '?') return CLINUX_OPTION_UNKNOWN;
  return found;
}

/// The argument of the option found last.
static inline const char *clinux_option_argument(void) { return optarg; }

/// Where the next word stands in argv.
static inline int32_t clinux_options_index(void) { return optind; }
