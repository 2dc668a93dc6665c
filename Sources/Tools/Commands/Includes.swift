import Atto
import AttoATT
import AttoCommandLine
import AttoGATT
import AttoPeers

/// `atto includes`: Find Included Services. Vol 3, Part G, 4.5.1.
package struct IncludesCommand: ConnectionCommand {
  package static let description = CommandDescription(
    "includes", "List included services in a range of handles.",
    synopsis: ["ENDPOINT [RANGE] [OPTIONS]"], arguments: [.endpoint, .range],
    details: "The command performs this one GATT procedure and sends nothing else.",
    groups: Connecting.options, examples: ["atto includes air:Strap 0x0001-0xFFFF"])

  private let range: SearchedHandles

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    range = try arguments.operands.first.map { try SearchedHandles(argument: $0) } ?? .all
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? { CommandAccess.none }

  package func run(on peer: ConnectedPeer) async throws {
    let includes = try await range.search(
      peer.connection, .readByTypeRequest, type: .include
    ) { try await peer.connection.perform(FindIncludedServices(in: $0)) }
    for include in includes {
      peer.results.print("\(include.handle)  \(include.range)", json: include.json)
    }
  }
}
