// The starts and ends of connections, as a controller would report them. Without them Wireshark shows
// no addresses, and that each PDU is outside of any connection.

/// A connection in a capture file that ``CaptureWriter`` encodes.
public struct WrittenConnection: Hashable, Sendable {
  /// The address of a radio.
  public struct Address: Hashable, Sendable {
    /// The 48 bits.
    public let value: UInt64
    /// Whether it is a random address rather than a public one.
    public let isRandom: Bool

    /// Creates an address; bits above the 48th are dropped.
    public init(_ value: UInt64, isRandom: Bool) {
      self.value = value & 0xFFFF_FFFF_FFFF
      self.isRandom = isRandom
    }

    /// Makes up a static random address (Vol 6, Part B, 1.3.2.1) for an endpoint that has none: the
    /// same for the same text, always.
    public init(for text: String) {
      // FNV-1a.
      let hash = text.utf8.reduce(0xCBF2_9CE4_8422_2325) { (hash: UInt64, octet) in
        (hash ^ UInt64(octet)) &* 0x100_0000_01B3
      }
      self.init(hash ^ hash >> 48 | 0xC000_0000_0000, isRandom: true)
    }

    fileprivate var octets: [UInt8] { CaptureWriter.little(value).prefix(6).map(\.self) }
    fileprivate var kind: UInt8 { isRandom ? 1 : 0 }
  }

  /// The number of connections at a time. Connection handles go from 0x0040 to 0x0EFF.
  public static let limit = 0x0EC0

  /// Distinguishes connections at the same time, from 0 to ``limit`` - 1; larger numbers wrap.
  public var number: Int
  /// The address of this end.
  public var own: Address
  /// The address of the peer.
  public var peer: Address
  /// The peer's name; empty if there is none. At most 29 octets are written.
  public var name: String
  /// Whether this end opened the connection.
  public var isCentral: Bool

  /// Creates a value with these properties.
  public init(number: Int, own: Address, peer: Address, name: String, isCentral: Bool) {
    self.number = number
    self.own = own
    self.peer = peer
    self.name = name
    self.isCentral = isCentral
  }

  static func handle(_ number: Int) -> UInt16 { UInt16(0x40 + number % limit) }
}

extension CaptureWriter {
  /// Encodes the start of a connection.
  ///
  /// - Parameters:
  ///   - statesOwn: whether the address of this end is written: for the first connection, and where
  ///     it changes.
  ///   - microseconds: the time since 1970.
  ///   - dropped: the records that are missing before the record that follows, which states those of
  ///     pcapng.
  public func start(
    of connection: WrittenConnection, statesOwn: Bool, microseconds: Int64, dropped: Dropped
  ) -> [UInt8] {
    let (own, peer) = (connection.own, connection.peer)
    var events: [[UInt8]] = []
    // Command Complete for Read BD_ADDR. Vol 4, Part E, 7.7.14 and 7.4.6.
    if statesOwn { events.append([0x0E, 10, 1, 0x09, 0x10, 0] + own.octets) }
    if connection.isCentral, !connection.name.isEmpty {
      // LE Advertising Report, undirected, RSSI unknown. 7.7.65.2.
      let name = Self.localName(connection.name)
      events.append(
        [0x3E, UInt8(12 + name.count), 2, 1, 0, peer.kind] + peer.octets + [UInt8(name.count)]
          + name + [127])
    }
    // LE Connection Complete: an interval of 30 ms and a supervision timeout of 5 s, both made up.
    // 7.7.65.1.
    events.append(
      [0x3E, 19, 1, 0] + Self.little(WrittenConnection.handle(connection.number))
        + [connection.isCentral ? 0 : 1, peer.kind] + peer.octets
        + Self.little(UInt16(24)) + [0, 0] + Self.little(UInt16(500)) + [0])
    return events.flatMap {
      event($0, microseconds: microseconds, Dropped(total: dropped.total))
    }
  }

  /// Encodes the end of a connection: Disconnection Complete. Vol 4, Part E, 7.7.5.
  ///
  /// - Parameters:
  ///   - reason: an error code of Vol 1, Part F: 0x13 if the peer closed it, 0x16 if this end did.
  ///   - microseconds: the time since 1970.
  ///   - dropped: the records that are missing before this one.
  public func end(
    ofConnection number: Int, reason: UInt8, microseconds: Int64, dropped: Dropped
  ) -> [UInt8] {
    event(
      [0x05, 4, 0] + Self.little(WrittenConnection.handle(number)) + [reason],
      microseconds: microseconds, dropped)
  }

  private func event(_ octets: [UInt8], microseconds: Int64, _ dropped: Dropped) -> [UInt8] {
    // btsnoop's flags: received, and not data.
    let flags: UInt32 = format == .btsnoop ? 3 : 1
    return record(
      [0x04] + octets, prefix: flags, missing: 0, microseconds: microseconds,
      dropped)
  }

  /// A name in advertising data, which has room for 29 octets of it: Complete or Shortened Local Name.
  private static func localName(_ name: String) -> [UInt8] {
    var short = name.unicodeScalars[...]
    while short.reduce(0, { $0 + UTF8.width($1) }) > 29 { short = short.dropLast() }
    let octets = Array(String(short).utf8)
    return [UInt8(octets.count + 1), octets.count == name.utf8.count ? 0x09 : 0x08] + octets
  }
}
