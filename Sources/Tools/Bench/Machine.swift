import AttoText
import Glibc

/// What a measurement ran on, and how it was started.
enum Machine {
  /// The command line as a shell takes it, without the passkey: pages are passed on.
  static var commandLine: String {
    var words = ["atto"]
    var isSecret = false
    for word in CommandLine.arguments.dropFirst() {
      let name = String(word.prefix { $0 != "=" })
      // Options may be abbreviated.
      let isPasskey = name.count > 2 && "--passkey".hasPrefix(name)
      let shown = isPasskey && name != word ? name + "=..." : quoted(word)
      words.append(isSecret ? "..." : shown)
      isSecret = isPasskey && name == word
    }
    return words.joined(separator: " ")
  }

  private static func quoted(_ word: String) -> String {
    let isPlain = word.unicodeScalars.allSatisfy {
      $0.isASCII
        && ($0.properties.isAlphabetic || "0123456789-_./:=,@%+".unicodeScalars.contains($0))
    }
    return isPlain && !word.isEmpty ? word : "'" + word.replacing(each: "'", with: #"'\''"#) + "'"
  }

  static var host: String {
    var name = utsname()
    uname(&name)
    return string(name.nodename)
  }

  static var text: String {
    var name = utsname()
    uname(&name)
    let cores = sysconf(Int32(_SC_NPROCESSORS_ONLN))
    let parts = [
      processor, "\(cores) \(cores == 1 ? "core" : "cores")",
      "\(string(name.sysname)) \(string(name.release)) \(string(name.machine))",
    ]
    return parts.compactMap(\.self).joined(separator: ", ")
  }

  private static var processor: String? {
    guard let bytes = try? FileBytes.read("/proc/cpuinfo") else { return nil }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").first {
      $0.hasPrefix("model name")
    }?
    .split(separator: ":", maxSplits: 1).last
    .map { $0.split(separator: " ").joined(separator: " ") }
  }

  private static func string(_ field: some Any) -> String {
    withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
  }
}
