import Atto
import AttoATT
import AttoCommandLine
import AttoGATT
import AttoPeers

/// `atto characteristics`: Discover All Characteristics of a Service, or by UUID. Vol 3, Part
/// G, 4.6.
package struct CharacteristicsCommand: ConnectionCommand {
  private static let uuid = Option.uuid(
    "uuid", .characteristic, summary: "List only the characteristics with this UUID.")

  package static let description = CommandDescription(
    "characteristics", "List characteristics in a range of handles.",
    synopsis: ["ENDPOINT [RANGE] [--uuid UUID] [OPTIONS]"], arguments: [.endpoint, .range],
    details: "The command performs this one GATT procedure and sends nothing else.",
    options: [uuid], groups: Connecting.options,
    examples: ["atto characteristics air:Strap 0x0010-0x0017"])

  private let range: SearchedHandles
  private let uuid: BluetoothUUID?

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    range = try arguments.operands.first.map { try SearchedHandles(argument: $0) } ?? .all
    uuid = arguments[Self.uuid]
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? { CommandAccess.none }

  package func run(on peer: ConnectedPeer) async throws {
    let characteristics = try await range.search(
      peer.connection, .readByTypeRequest, type: .characteristic
    ) { range in
      if let uuid {
        return try await peer.connection.perform(DiscoverCharacteristicsByUUID(uuid, in: range))
      }
      return try await peer.connection.perform(DiscoverCharacteristics(in: range))
    }
    for characteristic in characteristics {
      peer.results.print(
        "\(characteristic.declarationHandle)  value \(characteristic.valueHandle)"
          + "  \(Shown.named(characteristic.uuid, .characteristic))  \(characteristic.propertyList)",
        json: characteristic.json)
    }
  }
}
