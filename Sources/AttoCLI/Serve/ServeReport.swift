import Atto

/// Prints what happens at a server.
struct ServeReport: Sendable {
  let isJSON: Bool

  private struct Line: Encodable {
    var event: String
    var client: Int?
    var peer: String?
    var handle: Int?
    var value: String?
    var notify: Bool?
    var indicate: Bool?
    var endpoint: String?
    var error: String?
    var writes: Int?
    var octets: Int?
  }

  /// A value that the profile gives a behaviour was written.
  func written(_ handle: AttributeHandle, _ octets: [UInt8], by client: ClientID) {
    show(
      "client \(client.rawValue) wrote \(handle) = \(Shown.value(octets))",
      Line(
        event: "written", client: Int(client.rawValue), handle: Shown.json(handle),
        value: Shown.hex(octets)))
  }

  /// What a client that has gone wrote to a sink, in all.
  func sunk(_ handle: AttributeHandle, writes: Int, octets: Int, by client: ClientID) {
    show(
      "client \(client.rawValue) had sunk \(Shown.count(writes, "write")) and"
        + " \(Shown.count(octets, "octet")) in \(handle)",
      Line(
        event: "sunk", client: Int(client.rawValue), handle: Shown.json(handle), writes: writes,
        octets: octets))
  }

  func listening(_ endpoint: String) {
    show("listening on \(endpoint)", Line(event: "listening", endpoint: endpoint))
  }

  func failed(_ error: AttoError) {
    show("a client was not served: \(error)", Line(event: "failed", error: error.description))
  }

  func pairing(_ report: PairingReport) {
    if isJSON { try? Terminal.print(json: report.line) } else { Terminal.print(report.text) }
  }

  /// - Parameter value: what the server keeps for an attribute.
  func happened(_ event: ServedEvent, value: (AttributeHandle) -> [UInt8]?) {
    switch event {
    case .connected(let client, let peer):
      show(
        "client \(client.rawValue) connected\(peer.isEmpty ? "" : " from \(peer)")",
        Line(event: "connected", client: Int(client.rawValue), peer: peer))
    case .disconnected(let client, let peer):
      show(
        "client \(client.rawValue) disconnected",
        Line(event: "disconnected", client: Int(client.rawValue), peer: peer))
    case .server(.valueWritten(let handle, let client)):
      written(handle, value(handle) ?? [], by: client)
    case .server(.configured(let handle, let configuration, let client)):
      let ways = [
        configuration.contains(.notification) ? "notifications" : nil,
        configuration.contains(.indication) ? "indications" : nil,
      ].compactMap(\.self)
      show(
        "client \(client.rawValue) "
          + (ways.isEmpty
            ? "unsubscribed from \(handle)"
            : "subscribed to \(ways.joined(separator: " and ")) of \(handle)"),
        Line(
          event: "configured", client: Int(client.rawValue), handle: Shown.json(handle),
          notify: configuration.contains(.notification),
          indicate: configuration.contains(.indication)))
    case .server(.featuresWritten(let features, let client)):
      show(
        "client \(client.rawValue) supports features 0x\(String(features.rawValue, radix: 16))",
        Line(
          event: "features", client: Int(client.rawValue), value: Shown.hex([features.rawValue])))
    }
  }

  private func show(_ text: String, _ line: Line) {
    if isJSON {
      // An encoder of strings and numbers does not fail.
      try? Terminal.print(json: line)
    } else {
      Terminal.print(text)
    }
  }
}
