import Atto
import AttoATT
import AttoCommandLine
import AttoGATT
import AttoPeers

/// `atto descriptors`: Discover All Characteristic Descriptors. Vol 3, Part G, 4.7.1.
package struct DescriptorsCommand: ConnectionCommand {
  package static let description = CommandDescription(
    "descriptors", "List attributes in a range of handles with their types.",
    synopsis: ["ENDPOINT [RANGE] [OPTIONS]"], arguments: [.endpoint, .range],
    details: """
      The descriptors of a characteristic follow its value. Other attributes in the range are listed
      too. The command performs this one GATT procedure and sends nothing else.
      """,
    groups: Connecting.options, examples: ["atto descriptors air:Strap 0x0013-0x0013"])

  private let range: SearchedHandles

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    range = try arguments.operands.first.map { try SearchedHandles(argument: $0) } ?? .all
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? { CommandAccess.none }

  package func run(on peer: ConnectedPeer) async throws {
    let descriptors = try await range.search(peer.connection, .findInformationRequest) {
      try await peer.connection.perform(DiscoverDescriptors(in: $0))
    }
    for descriptor in descriptors {
      peer.results.print(
        "\(descriptor.handle)  \(Shown.named(attribute: descriptor.uuid))", json: descriptor.json)
    }
  }
}
