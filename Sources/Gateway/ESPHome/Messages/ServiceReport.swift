/// A service as clients get it.
package struct ServiceReport: Equatable, Sendable {
  package var uuid: ReportedUUID
  package var handle: UInt16
  package var characteristics: [Characteristic] = []

  package struct Characteristic: Equatable, Sendable {
    package var uuid: ReportedUUID
    /// The handle of the value.
    package var handle: UInt16
    /// As in the characteristic's declaration.
    package var properties: UInt8
    package var descriptors: [Descriptor] = []
  }

  package struct Descriptor: Equatable, Sendable {
    package var uuid: ReportedUUID
    package var handle: UInt16
  }

  func write(to body: inout ProtobufWriter) {
    uuid.writeLong(to: &body)
    body.integer(2, UInt64(handle))
    for characteristic in characteristics { body.message(3) { characteristic.write(to: &$0) } }
    uuid.writeShort(4, to: &body)
  }
}

extension ServiceReport.Characteristic {
  func write(to body: inout ProtobufWriter) {
    uuid.writeLong(to: &body)
    body.integer(2, UInt64(handle))
    body.integer(3, UInt64(properties))
    for descriptor in descriptors {
      body.message(4) {
        descriptor.uuid.writeLong(to: &$0)
        $0.integer(2, UInt64(descriptor.handle))
        descriptor.uuid.writeShort(3, to: &$0)
      }
    }
    uuid.writeShort(5, to: &body)
  }
}

/// A UUID as it is sent: in 16 or 32 bits if it is one of the SIG's, and otherwise as two numbers, the
/// high half first.
package enum ReportedUUID: Hashable, Sendable {
  case short(UInt32)
  case long(high: UInt64, low: UInt64)

  func writeLong(to body: inout ProtobufWriter) {
    if case .long(let high, let low) = self { body.integers(1, [high, low]) }
  }

  func writeShort(_ field: Int, to body: inout ProtobufWriter) {
    if case .short(let value) = self { body.integer(field, UInt64(value)) }
  }
}

/// Services in messages of a limited size.
extension ServiceReport {
  /// Divides services among messages of about this many octets: one that is exceeded holds one service.
  /// A service that is longer than `largest` is divided itself: clients join the parts by its handle.
  package static func messages(
    _ services: [ServiceReport], about limit: Int = 4096, largest: Int = 60_000
  ) -> [[ServiceReport]] {
    var messages: [[ServiceReport]] = []
    var (current, length) = ([ServiceReport](), 0)
    for part in services.flatMap({ $0.parts(largest) }) {
      let size = part.size
      if !current.isEmpty, length + size > limit {
        messages.append(current)
        (current, length) = ([], 0)
      }
      current.append(part)
      length += size
    }
    if !current.isEmpty { messages.append(current) }
    return messages
  }

  private var size: Int {
    var body = ProtobufWriter()
    write(to: &body)
    return body.octets.count
  }

  private func parts(_ largest: Int) -> [ServiceReport] {
    guard size > largest, characteristics.count > 1 else { return [self] }
    let half = characteristics.count / 2
    var (first, second) = (self, self)
    first.characteristics = Array(characteristics.prefix(half))
    second.characteristics = Array(characteristics.dropFirst(half))
    return first.parts(largest) + second.parts(largest)
  }
}
