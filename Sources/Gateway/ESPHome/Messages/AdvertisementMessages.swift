/// What a client asks about advertisements and the scanner.
package enum AdvertisementRequest: Equatable, Sendable {
  /// Only raw advertisements exist; the decoded ones of old are not sent.
  case subscribe(raw: Bool)
  case unsubscribe
  case setScanning(active: Bool)

  init?(type: UInt64, _ fields: ProtobufReader) throws(ProtobufError) {
    switch type {
    case 66: self = .subscribe(raw: try Self.number(fields) & 1 != 0)
    case 87: self = .unsubscribe
    case 127: self = .setScanning(active: try Self.number(fields) == 1)
    default: return nil
    }
  }

  /// The first field.
  private static func number(_ fields: ProtobufReader) throws(ProtobufError) -> UInt64 {
    var fields = fields
    var value: UInt64 = 0
    while let field = try fields.next() {
      if field.number == 1 { value = try field.integer() }
    }
    return value
  }
}

/// Advertisements, and the state of the scanner.
package enum AdvertisementReport: ServerMessage {
  case advertisements([RawAdvertisement])
  case scanner(ScannerPhase, active: Bool, configuredActive: Bool)

  /// What the scanner does.
  package enum ScannerPhase: UInt64, Sendable {
    case idle, starting, running, failed, stopping, stopped
  }

  package var type: UInt16 {
    switch self {
    case .advertisements: 93
    case .scanner: 126
    }
  }

  package func write(to body: inout ProtobufWriter) {
    switch self {
    case .advertisements(let advertisements):
      for advertisement in advertisements {
        body.message(1) { advertisement.write(to: &$0) }
      }
    case .scanner(let phase, let active, let configured):
      body.integer(1, phase.rawValue)
      body.flag(2, active)
      body.flag(3, configured)
    }
  }
}

/// One advertisement with its scan response.
package struct RawAdvertisement: Equatable, Sendable {
  /// The address as a number.
  package var address: UInt64
  /// In dBm.
  package var rssi: Int8
  /// 0: public, 1: random.
  package var addressType: UInt8
  /// Advertising data and scan response, one after the other.
  package var data: [UInt8]

  func write(to body: inout ProtobufWriter) {
    body.integer(1, address)
    body.zigzag(2, Int32(rssi))
    body.integer(3, UInt64(addressType))
    body.data(4, data)
  }
}
