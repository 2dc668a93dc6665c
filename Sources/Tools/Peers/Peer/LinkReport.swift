import Atto
import AttoCommandLine

/// The parameters of a link of the kernel and the bearers of any link, for `--link-info`.
///
/// It must exist before the connection: the kernel reports interval and data length only when they
/// change.
package struct LinkReport {
  package let kernel: (radio: Adapter, peer: BluetoothAddress)?

  package init(_ endpoint: Endpoint, on loop: Loop) async throws {
    switch endpoint {
    case .le(let address):
      kernel = (try await Adapter.kernel(address.source, loop: loop), address.peer)
    case .air: kernel = nil
    case .leAny, .unix, .descriptor:
      throw UsageError("--link-info requires an le: or air: endpoint, not \"\(endpoint)\"")
    }
  }

  package func show(_ connection: Connection) async throws {
    if let kernel { try await show(connection, kernel.radio, kernel.peer) }
    Terminal.note("bearers: \(try await Bearers.text(of: connection))")
  }

  private func show(
    _ connection: Connection, _ radio: Adapter, _ peer: BluetoothAddress
  ) async throws {
    let information = try? await radio.connectionInformation(of: peer)
    let parameters = information?.parameters
    var parts: [String] = []
    let phy = if let phy = parameters?.phy { phy } else { try await connection.phy }
    parts.append("PHY " + (phy.map { "\($0)" } ?? "unknown"))
    if let parameters {
      parts.append("interval \(Self.milliseconds(parameters.intervalTime))")
      parts.append("latency \(parameters.latency)")
      parts.append("supervision timeout \(Self.milliseconds(parameters.supervisionTime))")
      let length = parameters.dataLength
      parts.append("data length \(length?.transmit ?? 27)/\(length?.receive ?? 27)")
    } else {
      parts.append(
        "interval and data length unknown (requires CAP_NET_RAW and a link opened by this command)")
    }
    if let rssi = information?.rssi { parts.append("RSSI \(rssi) dBm") }
    if let power = information?.txPower { parts.append("power \(power) dBm") }
    Terminal.note("link: \(parts.joined(separator: ", "))")
  }

  private static func milliseconds(_ time: Duration) -> String {
    let number = time / .milliseconds(1)
    return number == number.rounded() ? "\(Int(number)) ms" : "\(number) ms"
  }
}
