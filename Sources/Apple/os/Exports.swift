// The Clang module of the same name, with os_unfair_lock.
@_exported import AttoOS
