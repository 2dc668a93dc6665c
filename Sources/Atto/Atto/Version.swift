/// The version of everything that is built from this repository. Scripts read it here:
/// `Sources/C/install` and `Sources/Debian/build`.
package enum Version {
  package static let number = "0.9.0"
  /// The day of this version, for man pages and packages.
  package static let date = "2026-11-23"
}
