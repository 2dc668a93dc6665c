import Foundation

/// The repository's Fixtures folder.
package enum Fixtures {
  package static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .appending(path: "Fixtures")

  /// The profiles of servers.
  package static let profiles = [
    "heart-rate.json", "reference-820.json", "edges.json", "uart.json",
  ]

  package static func path(_ name: String) -> String { folder.appending(path: name).path }

  package static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: folder.appending(path: name)))
  }
}
