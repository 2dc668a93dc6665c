import CAttoLinux
import Glibc

extension CommandLine {
  /// The arguments after the program's name. Unlike `arguments`, they do not depend on /proc.
  package static var words: [String] {
    var words: [String] = []
    while let word = clinux_argument(Int32(words.count + 1)) { words.append(String(cString: word)) }
    return words
  }

  /// Why tasks cannot run; nil if they can. libdispatch, whose threads run tasks, reads the state of these
  /// threads from /proc now and then, and ends the process where it cannot.
  package static var missingProc: (message: String, hint: String)? {
    access("/proc/self/stat", F_OK) == 0
      ? nil : ("/proc is not mounted, and Swift's runtime needs it", "mount -t proc proc /proc")
  }
}
