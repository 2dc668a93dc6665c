import Atto
import AttoCommandLine
import AttoLinks

/// The parameters of an open link, for `--link-info` and sessions.
///
/// Those of a link of the kernel are known only to a report that existed before the connection: the kernel
/// tells interval and data length only when they change. Links of the virtual air have those that their
/// endpoint states.
package struct LinkReport: Sendable {
  package let kernel: (radio: Adapter, peer: BluetoothAddress)?
  private let simulated: AirTiming?

  /// - Throws: `UsageError` for an endpoint whose links have no parameters, and what opening the adapter
  ///   throws.
  package init(_ endpoint: Endpoint, on loop: Loop) async throws {
    simulated = endpoint.timing
    switch endpoint {
    case .le(let address):
      kernel = (try await Adapter.kernel(address.source, loop: loop), address.peer)
    case .air: kernel = nil
    case .leAny, .unix, .descriptor:
      throw UsageError("--link-info requires an le: or air: endpoint, not \"\(endpoint)\"")
    }
  }

  /// Prints what is known on standard error.
  package func show(_ connection: Connection) async throws {
    if let text = try await facts(of: connection).text { Terminal.note("link: \(text)") }
    Terminal.note("bearers: \(try await Bearers.text(of: connection))")
  }

  /// Prints which PHY the link has, after one was asked for. The kernel's own answer (BT_PHY) may be the PHYs that
  /// are allowed, so the controller's counts.
  func showPHY(asked: LinkPHY.Kind) async {
    guard let kernel else { return }
    let information = try? await kernel.radio.connectionInformation(of: kernel.peer)
    let phy = information?.parameters?.phy
    Terminal.note(
      phy.map { "PHY: \(asked) asked for, \($0) in use" }
        ?? "PHY: \(asked) asked for; the PHY in use is unknown (requires CAP_NET_RAW and a link opened"
        + " by this command)")
  }

  /// What is known of the link now.
  package func facts(of connection: Connection) async throws -> LinkFacts {
    guard let kernel else { return LinkFacts(simulated: simulated) }
    let information = try? await kernel.radio.connectionInformation(of: kernel.peer)
    var facts = LinkFacts(information: information)
    if facts.phy == nil { facts.phy = try await connection.phy }
    return facts
  }
}

/// What is known of a link's parameters.
package struct LinkFacts: Sendable {
  package fileprivate(set) var phy: LinkPHY?
  /// nil if the link is older than the report, or without CAP_NET_RAW.
  package private(set) var parameters: AgreedParameters?
  private var rssi: Int8?
  private var txPower: Int8?
  private let simulated: AirTiming?
  private let isOfKernel: Bool

  init(information: ConnectionInformation?) {
    (parameters, phy) = (information?.parameters, information?.parameters?.phy)
    (rssi, txPower) = (information?.rssi, information?.txPower)
    (simulated, isOfKernel) = (nil, true)
  }

  package init(_ change: LinkChange) {
    self.init(information: nil)
    (parameters, phy) = (change.parameters, change.parameters.phy)
  }

  init(simulated: AirTiming?) { (self.simulated, isOfKernel) = (simulated, false) }

  /// nil for a link of the virtual air that is not timed.
  package var text: String? {
    guard isOfKernel else { return simulated.map { "\($0.parameters)" } }
    var parts = ["PHY " + (phy.map { "\($0)" } ?? "unknown")]
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
    if let subrate = parameters?.subrate {
      parts.append("subrate \(subrate.factor), continuation \(subrate.continuation)")
    }
    if let space = parameters?.frameSpace { parts.append("frame space \(space) us") }
    if let rssi { parts.append("RSSI \(rssi) dBm") }
    if let txPower { parts.append("power \(txPower) dBm") }
    return parts.joined(separator: ", ")
  }

  /// The fields that are known: microseconds, octets and dBm.
  package var json: JSONObject {
    if let simulated {
      return [
        "source": "stated", "phy": simulated.parameters.phy.name,
        "intervalMicroseconds": simulated.parameters.interval / 1000,
        "dataLength": [
          "transmit": simulated.parameters.dataLength,
          "receive": simulated.parameters.dataLength,
        ] as JSONObject,
      ]
    }
    guard isOfKernel else { return [:] }
    let length = parameters?.dataLength
    return [
      "source": "kernel", "phy": phy.map { "\($0)" },
      "intervalMicroseconds": parameters.map { Int($0.interval) * 1250 },
      "latency": parameters.map { Int($0.latency) },
      "supervisionTimeoutMicroseconds": parameters.map { Int($0.supervisionTimeout) * 10_000 },
      "dataLength": parameters.map { _ in
        ["transmit": Int(length?.transmit ?? 27), "receive": Int(length?.receive ?? 27)]
          as JSONObject
      },
      "subrate": parameters?.subrate.map { Int($0.factor) },
      "continuation": parameters?.subrate.map { Int($0.continuation) },
      "frameSpaceMicroseconds": parameters?.frameSpace.map { Int($0) },
      "rssi": rssi.map { Int($0) }, "txPower": txPower.map { Int($0) },
    ]
  }

  private static func milliseconds(_ time: Duration) -> String {
    let number = time / .milliseconds(1)
    return number == number.rounded() ? "\(Int(number)) ms" : "\(number) ms"
  }
}
