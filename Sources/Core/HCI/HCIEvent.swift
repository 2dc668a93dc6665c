/// A successful HCI event about an LE connection, or the end of a command. Vol 4, Part E, 7.7.
///
/// Captures may hold only the beginning of an event. Fields that are cut off are nil where the rest
/// of the event is of use without them; otherwise the event is not read.
public enum HCIEvent: Hashable, Sendable {
  /// LE Connection Complete or LE Enhanced Connection Complete, version 1 or 2. 7.7.65.1 and
  /// 7.7.65.10.
  case connectionComplete(handle: UInt16, peer: Peer?, ConnectionParameters?)
  /// Disconnection Complete. 7.7.5.
  case disconnectionComplete(handle: UInt16)
  /// LE Connection Update Complete. 7.7.65.3.
  case connectionUpdateComplete(handle: UInt16, ConnectionParameters)
  /// LE Data Length Change. 7.7.65.7.
  case dataLengthChange(handle: UInt16, DataLength)
  /// LE PHY Update Complete: 1 is LE 1M, 2 is LE 2M, 3 is LE Coded. 7.7.65.12.
  case phyUpdateComplete(handle: UInt16, transmit: UInt8, receive: UInt8)
  /// LE Subrate Change. 7.7.65.35.
  case subrateChange(handle: UInt16, Subrate)
  /// LE Frame Space Update Complete: the space in microseconds. 7.7.65.53.
  case frameSpaceUpdateComplete(handle: UInt16, space: UInt16)
  /// Command Complete or Command Status: its status, a success or not, and what it returns after that. 7.7.14 and
  /// 7.7.15.
  case commandEnded(opcode: UInt16, status: UInt8, ArraySlice<UInt8>)

  /// The address of the peer.
  public struct Peer: Hashable, Sendable {
    /// The 48 bits of the address.
    public let address: UInt64
    /// Whether it is a random address, or a random identity address, rather than a public one.
    public let isRandom: Bool
  }

  /// The parameters that a connection has from now on.
  public struct ConnectionParameters: Hashable, Sendable {
    /// Units of 1.25 ms.
    public let interval: UInt16
    /// Events that the peripheral may skip.
    public let latency: UInt16
    /// Units of 10 ms.
    public let supervisionTimeout: UInt16
  }

  /// The largest packet of each direction.
  public struct DataLength: Hashable, Sendable {
    /// Octets.
    public let transmit: UInt16
    /// Microseconds.
    public let transmitTime: UInt16
    /// Octets.
    public let receive: UInt16
    /// Microseconds.
    public let receiveTime: UInt16
  }

  /// Of how many connection events one is used.
  public struct Subrate: Hashable, Sendable {
    /// 1 without subrating.
    public let factor: UInt16
    /// The subrated events that the peripheral may skip.
    public let latency: UInt16
    /// The events that are used after one with data.
    public let continuation: UInt16
    /// Units of 10 ms.
    public let supervisionTimeout: UInt16
  }

  /// Reads an event: its code, the length of its parameters, and the parameters.
  ///
  /// - Returns: nil for other events, for those of connections that report a failure, and for those that end too
  ///   early.
  public init?(_ octets: ArraySlice<UInt8>) {
    var fields = Fields(octets.dropFirst(2))
    switch octets.first {
    case 0x05:
      guard let handle = fields.successfulHandle() else { return nil }
      self = .disconnectionComplete(handle: handle)
    case 0x0E:
      _ = fields.number8()
      guard let opcode = fields.number16(), let status = fields.number8() else { return nil }
      self = .commandEnded(opcode: opcode, status: status, fields.rest)
    case 0x0F:
      guard let status = fields.number8(), fields.number8() != nil,
        let opcode = fields.number16()
      else { return nil }
      self = .commandEnded(opcode: opcode, status: status, [])
    case 0x3E:
      guard let event = HCIEvent(subevent: fields.number8(), &fields) else { return nil }
      self = event
    default: return nil
    }
  }

  private init?(subevent: UInt8?, _ fields: inout Fields) {
    switch subevent {
    case 0x01, 0x0A, 0x29:
      guard let handle = fields.successfulHandle() else { return nil }
      _ = fields.number8()
      let peer = fields.peer()
      // The enhanced events carry two resolvable private addresses.
      if subevent != 0x01 { fields.skip(12) }
      self = .connectionComplete(handle: handle, peer: peer, fields.parameters())
    case 0x03:
      guard let handle = fields.successfulHandle(), let parameters = fields.parameters() else {
        return nil
      }
      self = .connectionUpdateComplete(handle: handle, parameters)
    case 0x07:
      guard let handle = fields.handle(), let transmit = fields.number16(),
        let transmitTime = fields.number16(), let receive = fields.number16(),
        let receiveTime = fields.number16()
      else { return nil }
      self = .dataLengthChange(
        handle: handle,
        DataLength(
          transmit: transmit, transmitTime: transmitTime, receive: receive,
          receiveTime: receiveTime))
    case 0x0C:
      guard let handle = fields.successfulHandle(), let transmit = fields.number8(),
        let receive = fields.number8()
      else { return nil }
      self = .phyUpdateComplete(handle: handle, transmit: transmit, receive: receive)
    case 0x23:
      guard let handle = fields.successfulHandle(), let factor = fields.number16(),
        let latency = fields.number16(), let continuation = fields.number16(),
        let timeout = fields.number16()
      else { return nil }
      self = .subrateChange(
        handle: handle,
        Subrate(
          factor: factor, latency: latency, continuation: continuation, supervisionTimeout: timeout)
      )
    case 0x35:
      guard let handle = fields.successfulHandle(), fields.number8() != nil,
        let space = fields.number16()
      else { return nil }
      self = .frameSpaceUpdateComplete(handle: handle, space: space)
    default: return nil
    }
  }
}

/// The parameters of an event, from first to last. A field that is cut off is nil, and so are all
/// that follow it.
private struct Fields {
  private(set) var rest: ArraySlice<UInt8>

  init(_ rest: ArraySlice<UInt8>) { self.rest = rest }

  mutating func skip(_ count: Int) { rest = rest.dropFirst(count) }

  mutating func number8() -> UInt8? { rest.popFirst() }

  mutating func number16() -> UInt16? { number(octets: 2).map { UInt16(truncatingIfNeeded: $0) } }

  /// A connection handle, which has 12 bits.
  mutating func handle() -> UInt16? { number16().map { $0 & 0x0FFF } }

  /// A handle after a status; nil if the status is a failure.
  mutating func successfulHandle() -> UInt16? { number8() == 0 ? handle() : nil }

  mutating func peer() -> HCIEvent.Peer? {
    guard let kind = number8(), let address = number(octets: 6), kind < 4 else { return nil }
    // Kinds 2 and 3 are identity addresses, public and random.
    return HCIEvent.Peer(address: address, isRandom: kind & 1 == 1)
  }

  mutating func parameters() -> HCIEvent.ConnectionParameters? {
    guard let interval = number16(), let latency = number16(), let timeout = number16() else {
      return nil
    }
    return HCIEvent.ConnectionParameters(
      interval: interval, latency: latency, supervisionTimeout: timeout)
  }

  private mutating func number(octets count: Int) -> UInt64? {
    guard rest.count >= count else {
      rest = []
      return nil
    }
    let octets = rest.prefix(count)
    skip(count)
    return octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
