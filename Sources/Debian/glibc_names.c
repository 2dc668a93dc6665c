// Functions of glibc 2.38 that Swift's libraries for arm64 call, for programs that run on 2.36. Numbers in
// the new notation of C23 (0b1) are not understood: nothing in these libraries reads any.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

long __isoc23_strtol(const char *text, char **end, int base) { return strtol(text, end, base); }

long long __isoc23_strtoll(const char *text, char **end, int base) { return strtoll(text, end, base); }

int __isoc23_sscanf(const char *text, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int count = vsscanf(text, format, arguments);
  va_end(arguments);
  return count;
}

size_t strlcpy(char *to, const char *from, size_t capacity) {
  size_t length = strlen(from);
  if (capacity > 0) {
    size_t count = length < capacity - 1 ? length : capacity - 1;
    memcpy(to, from, count);
    to[count] = 0;
  }
  return length;
}
