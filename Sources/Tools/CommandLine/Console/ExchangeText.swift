import Atto
import AttoATT
import AttoFormats

/// The text of the PDUs of one connection, with the assigned names of UUIDs.
///
/// A Read By Type Response does not state what its values are, so the last search of each side is
/// remembered. Without the request its values are shown as octets.
package struct ExchangeText {
  /// The type that a side has searched for last: true is this end.
  private var searches: [Bool: BluetoothUUID] = [:]

  package init() {}

  /// - Parameters:
  ///   - mtu: ATT_MTU if it is known: a longer PDU is malformed.
  ///   - isSent: nil if the direction is unknown.
  package mutating func text(_ octets: [UInt8], mtu: Int = .max, isSent: Bool? = nil) -> String {
    let pdu = PDU(octets.span.bytes, mtu: mtu)
    switch pdu {
    case .readByTypeRequest(let request):
      searches[isSent ?? true] = request.type
      return "Read By Type Request \(request.start)-\(request.end) "
        + Shown.named(attribute: request.type)
    case .readByGroupTypeRequest(let request):
      return "Read By Group Type Request \(request.start)-\(request.end) "
        + Shown.named(attribute: request.type)
    case .readByGroupTypeResponse(let response):
      return list("Read By Group Type Response", response.count) {
        let group = response.group(at: $0)
        return "\(group.start)-\(group.end) = " + service(response.value(at: $0).owned)
      }
    case .readByTypeResponse(let response):
      let type = searches[isSent.map { !$0 } ?? true]
      return list("Read By Type Response", response.count) {
        "\(response.handle(at: $0)) = " + declaration(type, response.value(at: $0).owned)
      }
    case .findInformationResponse(let response):
      return list("Find Information Response", response.count) {
        "\(response[$0].handle) " + Shown.named(attribute: response[$0].type)
      }
    case .findByTypeValueRequest(let request):
      let type = BluetoothUUID(request.type)
      let value = request.value.owned
      return "Find By Type Value Request \(request.start)-\(request.end) "
        + Shown.named(attribute: type) + " = "
        + (type == 0x2800 || type == 0x2801 ? service(value) : Shown.pdu(value))
    default: return pdu.summary
    }
  }

  private func list(_ name: String, _ count: Int, _ entry: (Int) -> String) -> String {
    name + (0..<count).map { ($0 == 0 ? " " : ", ") + entry($0) }.joined()
  }

  private func service(_ value: [UInt8]) -> String {
    BluetoothUUID(value).map { Shown.named($0, .service) } ?? Shown.pdu(value)
  }

  /// The value of an attribute of this type: declarations are shown by their fields. Vol 3, Part G,
  /// 3.2 and 3.3.1.
  private func declaration(_ type: BluetoothUUID?, _ value: [UInt8]) -> String {
    switch (type, value.count) {
    case (0x2803, 5), (0x2803, 19):
      guard let uuid = BluetoothUUID(Array(value[3...])) else { break }
      let properties = Shown.properties(CharacteristicProperties(rawValue: value[0]))
      return "[\(properties.joined(separator: ", "))] \(handle(value[1...])) "
        + Shown.named(uuid, .characteristic)
    case (0x2802, 4), (0x2802, 6):
      let uuid = BluetoothUUID(Array(value[4...])).map { " " + Shown.named($0, .service) }
      return "\(handle(value))-\(handle(value[2...]))" + (uuid ?? "")
    case (0x2800, _), (0x2801, _): return service(value)
    default: break
    }
    return Shown.pdu(value)
  }

  private func handle(_ octets: some Collection<UInt8>) -> AttributeHandle {
    AttributeHandle(octets.prefix(2).reversed().reduce(0) { $0 << 8 | UInt16($1) })
  }
}

/// The texts of a capture's connections. Beyond a limit all are forgotten, as the decoder does.
package struct Exchanges {

  package init() {}

  private struct Bearer: Hashable {
    var connection: CapturedConnection
    var number: Int
  }

  private var texts: [Bearer: ExchangeText] = [:]

  /// That of the bearer of a PDU.
  package subscript(pdu: CapturedPDU) -> ExchangeText {
    get { texts[Bearer(connection: pdu.connection, number: pdu.bearer)] ?? ExchangeText() }
    set {
      let bearer = Bearer(connection: pdu.connection, number: pdu.bearer)
      if texts.count >= CaptureDecoder.connectionLimit, texts[bearer] == nil { texts = [:] }
      texts[bearer] = newValue
    }
  }
}

extension BluetoothUUID {
  /// Reads a UUID of 2 or 16 octets in the order of the wire, least significant first; nil for any
  /// other length.
  fileprivate init?(_ octets: [UInt8]) {
    func number(_ octets: some Collection<UInt8>) -> UInt64 {
      octets.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
    switch octets.count {
    case 2: self.init(UInt16(number(octets)))
    case 16: self.init(high: number(octets[8...]), low: number(octets[..<8]))
    default: return nil
    }
  }
}
