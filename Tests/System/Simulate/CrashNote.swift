import Glibc

/// Prints the seed if the process traps.
enum CrashNote {
  /// The only thread writes it before each run, and the signal handler, which has no parameters, reads
  /// it. It is a machine word, so the handler cannot see a partial value.
  nonisolated(unsafe) private static var seed: UInt64 = 0

  static func begin(_ seed: UInt64) { self.seed = seed }

  static func install() {
    for number in [SIGILL, SIGTRAP, SIGSEGV, SIGBUS, SIGABRT] {
      signal(number) { number in
        // Only what is safe in a signal handler: digits on the stack, and write.
        var digits: (UInt64, UInt64, UInt64) = (0, 0, 0)
        withUnsafeMutableBytes(of: &digits) { room in
          var rest = CrashNote.seed
          var place = 20
          room[place] = 10
          repeat {
            place -= 1
            room[place] = UInt8(48 + rest % 10)
            rest /= 10
          } while rest > 0
          _ = write(2, "trapped in seed ", 16)
          _ = write(2, room.baseAddress! + place, 21 - place)
        }
        signal(number, SIG_DFL)
        raise(number)
      }
    }
  }
}
