import Foundation

/// What one manager keeps on disk under its restore identifier: a JSON file in the
/// ``StateFolder``, replaced as a whole with each change, so that it is whole after a kill -9 too.
///
/// It is removed when the app releases the manager, and stays however else the process ends.
/// Limit: ``sizeLimit``. A file that is larger, damaged, or of a later version of this module counts
/// as none, with a line on standard error, and is replaced with the next change.
struct RestorationFile: Sendable {
  static let sizeLimit = 4_000_000
  /// Raised when what stands in the files changes its meaning.
  static let version = 1

  private struct Head: Codable {
    var version: Int
  }

  fileprivate struct Kept<Content> {
    var version = RestorationFile.version
    var content: Content
  }

  private let name: String

  init(_ role: String, _ identifier: String) {
    // Any text may be an identifier, but not any text is a file's name.
    let safe = identifier.utf8.map { octet -> String in
      let isPlain =
        (0x30...0x39).contains(octet) || (0x41...0x5A).contains(octet)
        || (0x61...0x7A).contains(octet) || octet == 0x2D || octet == 0x2E
      return isPlain ? String(UnicodeScalar(octet)) : "_" + String(octet, radix: 16)
    }
    name = "\(role)-\(safe.joined().prefix(200)).json"
  }

  func load<Content: Decodable>(_ type: Content.Type) -> Content? {
    guard let data = StateFolder.read(name) else { return nil }
    guard data.count <= Self.sizeLimit else {
      return refuse("it has \(data.count) octets, and \(Self.sizeLimit) is the limit")
    }
    do {
      let version = try JSONDecoder().decode(Head.self, from: data).version
      guard version <= Self.version else {
        return refuse("it is of version \(version), and this program knows \(Self.version)")
      }
      return try JSONDecoder().decode(Kept<Content>.self, from: data).content
    } catch {
      return refuse("it is damaged")
    }
  }

  private func refuse<Content>(_ why: String) -> Content? {
    Misuse.log(
      "nothing is restored from \(StateFolder.url.appendingPathComponent(name).path): \(why). The"
        + " file is replaced with the next change of state.")
    return nil
  }

  func save(_ content: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    if let data = try? encoder.encode(Kept(content: content)) {
      StateFolder.write(data, to: name)
    }
  }

  func remove() { StateFolder.remove(name) }
}

extension RestorationFile.Kept: Encodable where Content: Encodable {}
extension RestorationFile.Kept: Decodable where Content: Decodable {}
