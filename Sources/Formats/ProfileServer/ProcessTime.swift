import Glibc

/// The CPU time of this process, of all its threads, in user and in kernel mode.
package enum ProcessTime {
  package static var nanoseconds: Int64 {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
  }

  /// Microseconds in eight octets, little-endian.
  static var value: [UInt8] {
    let microseconds = UInt64(nanoseconds / 1000)
    return (0..<8).map { UInt8(truncatingIfNeeded: microseconds >> (8 * UInt64($0))) }
  }
}
