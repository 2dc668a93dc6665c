import Foundation

/// What the module has to tell the developer, on standard error, as Apple's does in the log.
///
/// Nothing here ends the process: calls that cannot be carried out are ignored. Where Apple's
/// raises an exception, this module traps; see the documentation's page on misuse.
enum Misuse {
  /// Hears each line too; for tests.
  static let listener = Guarded<(@Sendable (String) -> Void)?>(nil)

  static func log(_ text: String) {
    listener.value?(text)
    FileHandle.standardError.write(Data("[CoreBluetooth] \(text)\n".utf8))
  }

  /// The wording is Apple's, so that people find what others have written about it.
  static func notPoweredOn(_ manager: NSObject) {
    log(
      "API MISUSE: \(type(of: manager)) can only accept this command while in the powered on"
        + " state")
  }
}
