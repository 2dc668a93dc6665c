import ATT

/// Hostile input with a name: PDUs that are sent in one breath, and perhaps the end of the link.
public struct Attack: Sendable, Equatable {
  /// One word, by which it is chosen: `empty`, `lengths-0a`, `h20-read`.
  public let name: String
  /// What it tries.
  public let title: String
  /// In order; each is one PDU.
  public let pdus: [[UInt8]]
  /// Whether the link is closed at once afterwards, without waiting for an answer.
  public let endsLink: Bool

  /// One with these values; its properties say what each means.
  public init(_ name: String, _ title: String, _ pdus: [[UInt8]], endsLink: Bool = false) {
    self.name = name
    self.title = title
    self.pdus = pdus
    self.endsLink = endsLink
  }

  /// Whether a server, a broken one included, might change a value for it.
  public var mayWrite: Bool { pdus.contains(where: Self.mayWrite) }

  /// Whether a PDU belongs to the writes: by its opcode without the bits for commands and
  /// signatures, however malformed it is, because a server that is at fault may take it for a
  /// whole one. Vol 3, Part F, 3.3.1.
  public static func mayWrite(_ pdu: [UInt8]) -> Bool {
    switch (pdu.first ?? 0) & 0x3F {
    case 0x12, 0x16, 0x18: true
    default: false
    }
  }
}
