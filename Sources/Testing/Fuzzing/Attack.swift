/// Hostile input with a name.
public struct Attack: Sendable, Equatable {
  /// The name, one word such as `empty`, `lengths-0a` or `h20-read`.
  public let name: String
  /// What the attack tries.
  public let title: String
  /// The PDUs in order.
  public let pdus: [[UInt8]]
  /// How the PDUs are sent.
  public let delivery: Delivery

  /// A way to send the PDUs of an attack.
  public enum Delivery: Sendable {
    /// Waits for the response to each request.
    case oneByOne
    /// Does not wait for responses.
    case atOnce
    /// Does not wait for responses, and disconnects after the last PDU.
    case beforeDisconnecting
  }

  /// Creates an attack.
  public init(
    _ name: String, _ title: String, _ pdus: [[UInt8]], _ delivery: Delivery = .oneByOne
  ) {
    self.name = name
    self.title = title
    self.pdus = pdus
    self.delivery = delivery
  }

  /// Whether a server, even a faulty one, might change a value.
  public var mayWrite: Bool { pdus.contains(where: Self.mayWrite) }

  /// Whether a PDU has the opcode of a write, ignoring the bits for commands and signatures. A
  /// malformed one counts too, because a faulty server may accept it. Vol 3, Part F, 3.3.1.
  public static func mayWrite(_ pdu: [UInt8]) -> Bool {
    switch (pdu.first ?? 0) & 0x3F {
    case 0x12, 0x16, 0x18: true
    default: false
    }
  }
}
