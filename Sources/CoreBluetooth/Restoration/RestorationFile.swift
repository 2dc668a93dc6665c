import Foundation

/// What one manager keeps on disk under its restore identifier: a JSON file in the
/// ``StateFolder``, replaced as a whole with each change, so that it is whole after a kill -9 too.
///
/// It is removed when the app releases the manager, and stays however else the process ends.
/// Limit: ``sizeLimit``; a file that is larger or damaged counts as none.
struct RestorationFile: Sendable {
  static let sizeLimit = 4_000_000
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
    guard let data = StateFolder.read(name), data.count <= Self.sizeLimit else { return nil }
    return try? JSONDecoder().decode(type, from: data)
  }

  func save(_ content: some Encodable) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    if let data = try? encoder.encode(content) { StateFolder.write(data, to: name) }
  }

  func remove() { StateFolder.remove(name) }
}
