import Atto

/// What the kernel knows of the link under a connection, as a line on standard error.
///
/// Made before the connection: interval and data length are only told when they come about.
struct LinkReport {
  private let radio: KernelAdapter
  private let peer: BluetoothAddress

  init(_ endpoint: Endpoint, on loop: Loop) async throws {
    guard case .le(let address) = endpoint else {
      throw UsageError("--link-info is for the kernel's links, le:ADDRESS, not \"\(endpoint)\"")
    }
    radio = try await KernelAdapter.open(address.source, loop: loop)
    peer = address.peer
  }

  /// The same for the model of links; nil once the link is gone.
  func measured(_ connection: Connection) async -> MeasuredLink? {
    let information = try? await radio.connectionInformation(of: peer)
    guard let security = try? await connection.security else { return nil }
    return .told(
      phy: (try? await connection.phy) ?? nil, information?.parameters,
      isEncrypted: security.level > .low)
  }

  func show(_ connection: Connection) async throws {
    let information = try? await radio.connectionInformation(of: peer)
    let parameters = information?.parameters
    var parts: [String] = []
    let phy = try await connection.phy ?? parameters?.phy
    parts.append("PHY " + (phy.map { "\($0)" } ?? "as links begin (1M)"))
    if let parameters {
      parts.append("interval \(Self.milliseconds(parameters.intervalTime))")
      parts.append("latency \(parameters.latency)")
      parts.append("supervision timeout \(Self.milliseconds(parameters.supervisionTime))")
      let length = parameters.dataLength
      parts.append("data length \(length?.transmit ?? 27)/\(length?.receive ?? 27)")
    } else {
      parts.append("interval and data length unknown (CAP_NET_RAW, or the link was there before)")
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
