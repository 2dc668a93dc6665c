import Atto
import AttoATT
import AttoFormats
import AttoGATT

/// The values of a discovered database, for `discover --values` and `--save-profile`.
package struct PeerValues: Sendable {
  package private(set) var readings: [AttributeHandle: ProfileClone.Reading] = [:]

  /// Reads all characteristics with the property `read` and all descriptors, long values whole. An error
  /// of the peer for one value does not end the reading.
  ///
  /// - Throws: `AttoError` if the connection fails.
  package init(of database: RemoteDatabase, from connection: Connection) async throws(AttoError) {
    let characteristics = database.services.flatMap(\.characteristics)
    for characteristic in characteristics {
      if characteristic.properties.contains(.read) {
        try await read(characteristic.valueHandle, connection)
      }
      for descriptor in characteristic.descriptors { try await read(descriptor.handle, connection) }
    }
  }

  private mutating func read(
    _ handle: AttributeHandle, _ connection: Connection
  ) async throws(AttoError) {
    do throws(AttoError) {
      readings[handle] = .value(try await connection.readLong(handle))
    } catch {
      switch error {
      case .refused(let response), .insufficientSecurity(let response, _):
        readings[handle] = .refused(response.code)
      default: throw error
      }
    }
  }

  /// ` = 64  100 %`; empty if the value was not read.
  package func text(_ handle: AttributeHandle, _ uuid: BluetoothUUID, _ format: ValueFormat?)
    -> String
  {
    switch readings[handle] {
    case nil: ""
    case .refused(let code): "  = error: \(code)"
    case .value(let octets): "  = " + ShownValue(octets, of: uuid, presentation: format).text
    }
  }

  func json(_ handle: AttributeHandle, _ uuid: BluetoothUUID, _ format: ValueFormat?)
    -> JSONObject
  {
    switch readings[handle] {
    case nil: [:]
    case .refused(let code):
      ["error": ["code": Int(code.rawValue), "name": code.name] as JSONObject]
    case .value(let octets): ShownValue(octets, of: uuid, presentation: format).json
    }
  }

  /// The format that the Presentation Format of a characteristic describes. Several describe the parts
  /// of an aggregate.
  package func presentation(of characteristic: Characteristic) -> ValueFormat? {
    let formats = characteristic.descriptors.filter {
      $0.uuid == .characteristicPresentationFormat
    }
    guard formats.count == 1, case .value(let octets)? = readings[formats[0].handle] else {
      return nil
    }
    return ValueFormat(presentation: octets)
  }
}
