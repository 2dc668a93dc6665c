import Foundation

/// The repository's Fixtures folder.
enum Fixtures {
  static let folder = URL(filePath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures")

  static let profiles = ["heart-rate.json", "reference-820.json", "edges.json", "uart.json"]

  static func path(_ name: String) -> String { folder.appending(path: name).path }

  static func bytes(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: folder.appending(path: name)))
  }
}
