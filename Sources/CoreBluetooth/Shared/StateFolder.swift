import Foundation

/// Where this module keeps what shall outlive the process: `$ATTO_STATE`, else
/// `$XDG_STATE_HOME/atto`, else `~/.local/state/atto`; in it the folder `corebluetooth`.
enum StateFolder {
  static var url: URL {
    let environment = ProcessInfo.processInfo.environment
    let base: URL
    if let path = environment["ATTO_STATE"], !path.isEmpty {
      base = URL(fileURLWithPath: path, isDirectory: true)
    } else if let path = environment["XDG_STATE_HOME"], path.hasPrefix("/") {
      base = URL(fileURLWithPath: path, isDirectory: true).appendingPathComponent("atto")
    } else {
      base = FileManager.default.homeDirectoryForCurrentUser
        .appendingPathComponent(".local/state/atto")
    }
    return base.appendingPathComponent("corebluetooth")
  }

  static func read(_ name: String) -> Data? {
    try? Data(contentsOf: url.appendingPathComponent(name))
  }

  /// Replaces a file as a whole, so that whoever reads it, and whenever this process is killed,
  /// there is the old content or the new. For its owner only.
  static func write(_ data: Data, to name: String) {
    do {
      try FileManager.default.createDirectory(
        at: url, withIntermediateDirectories: true,
        attributes: [.posixPermissions: NSNumber(value: 0o700)])
      try data.write(to: url.appendingPathComponent(name), options: .atomic)
    } catch {
      Misuse.log(
        "state cannot be kept in \(url.path): \(error.localizedDescription) Set ATTO_STATE to a"
          + " folder that may be written to.")
    }
  }

  static func remove(_ name: String) {
    try? FileManager.default.removeItem(at: url.appendingPathComponent(name))
  }
}
