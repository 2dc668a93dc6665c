import Atto
import AttoGATT
import AttoRadio

/// Reads the parameters of a command one after another. Too few of them, too many, and values that the
/// protocol does not have are the status Fail.
struct BTPParameters {
  private var rest: ArraySlice<UInt8>

  init(_ octets: [UInt8]) { rest = octets[...] }

  /// How many octets are left.
  var count: Int { rest.count }

  mutating func octets(_ count: Int) throws(BTPStatus) -> [UInt8] {
    guard rest.count >= count else { throw .fail }
    defer { rest = rest.dropFirst(count) }
    return Array(rest.prefix(count))
  }

  mutating func number<Number: FixedWidthInteger>(
    _ type: Number.Type = Number.self
  ) throws(BTPStatus) -> Number {
    Number(octets: try octets(Number.bitWidth / 8))
  }

  mutating func flag() throws(BTPStatus) -> Bool {
    switch try number(UInt8.self) {
    case 0: false
    case 1: true
    default: throw .fail
    }
  }

  /// A type of address, public or random, and an address.
  mutating func address() throws(BTPStatus) -> BluetoothAddress {
    let kind: BluetoothAddress.Kind
    switch try number(UInt8.self) {
    case 0: kind = .public
    case 1: kind = .random
    default: throw .fail
    }
    guard let address = BluetoothAddress(littleEndian: try octets(6), kind: kind) else {
      throw .fail
    }
    return address
  }

  mutating func handle() throws(BTPStatus) -> AttributeHandle {
    AttributeHandle(try number(UInt16.self))
  }

  mutating func range() throws(BTPStatus) -> HandleRange {
    guard let range = HandleRange(try handle(), try handle()) else { throw .fail }
    return range
  }

  /// A length, 2 or 16, and a UUID.
  mutating func uuid() throws(BTPStatus) -> BluetoothUUID {
    guard let uuid = try optionalUUID() else { throw .fail }
    return uuid
  }

  /// The same; nil for the length 0.
  mutating func optionalUUID() throws(BTPStatus) -> BluetoothUUID? {
    switch try number(UInt8.self) {
    case 0: return nil
    case 2: return BluetoothUUID(try number(UInt16.self))
    case 16:
      let low = try number(UInt64.self)
      return BluetoothUUID(high: try number(), low: low)
    default: throw .fail
    }
  }

  /// A number of handles, one octet, and the handles.
  mutating func handles() throws(BTPStatus) -> [AttributeHandle] {
    var handles: [AttributeHandle] = []
    for _ in 0..<(try number(UInt8.self)) { handles.append(try handle()) }
    return handles
  }

  /// A length, two octets, and a value.
  mutating func value() throws(BTPStatus) -> [UInt8] { try octets(Int(try number(UInt16.self))) }

  func end() throws(BTPStatus) {
    guard rest.isEmpty else { throw .fail }
  }
}

// MARK: Parameters of responses and events

extension BluetoothAddress {
  /// The type and the address.
  var btp: [UInt8] { [kind == .public ? 0 : 1] + littleEndian }
}

extension AttributeHandle {
  var btp: [UInt8] { rawValue.octets(2) }
}

extension BluetoothUUID {
  /// The length and the UUID.
  var btp: [UInt8] { [UInt8(octets.count)] + octets }
}

extension [UInt8] {
  /// The length, two octets, and the value, cut at what a frame can carry beside other parameters.
  var btpValue: [UInt8] {
    let value = prefix(BTPFrame.longest - 64)
    return UInt16(value.count).octets(2) + value
  }
}

extension [[UInt8]] {
  /// The number of items, one octet, and the items: as many as can be counted and fit a frame.
  var btpList: [UInt8] {
    var (count, octets): (UInt8, [UInt8]) = (0, [])
    for item in self {
      guard count < .max, octets.count + item.count < BTPFrame.longest - 64 else { break }
      count += 1
      octets += item
    }
    return [count] + octets
  }
}
