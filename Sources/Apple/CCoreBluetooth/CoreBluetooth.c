// A C target has a C file.
