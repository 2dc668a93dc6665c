/// The version of the command. `atto --version`, results, captures and man pages show it.
enum Version {
  static let number = "0.9.0-dev"
  /// The day of this version, for man pages.
  static let date = "2026-11-22"
}
