import Foundation

/// Warnings to the developer, on standard error. Apple's framework writes its own to the log.
///
/// A warning never ends the process: the call that caused it is ignored. Where Apple's framework
/// raises an exception, this module traps; the table "Misuse" in the documentation lists both.
enum Warning {
  /// Called with each warning; for tests.
  static let listener = Locked<(@Sendable (String) -> Void)?>(nil)

  static func log(_ text: String) {
    listener.value?(text)
    FileHandle.standardError.write(Data("[CoreBluetooth] \(text)\n".utf8))
  }
}
