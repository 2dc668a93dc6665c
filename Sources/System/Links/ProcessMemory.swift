import CAttoLinux

/// The memory of this process.
package enum ProcessMemory {
  /// Bytes that the process may still allocate under its limits (`ulimit -v`, `ulimit -d`); nil
  /// without a limit. Limits of control groups are not considered.
  package static var left: Int? {
    let left = clinux_memory_left()
    return left == .max ? nil : Int(left)
  }
}
