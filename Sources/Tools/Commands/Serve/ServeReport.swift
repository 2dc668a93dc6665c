import Atto
import AttoCommandLine
import AttoEventLoop
import AttoFormats
import AttoPeers
import AttoProfileServer

/// Prints the events of a server.
struct ServeReport: Sendable {
  let results: Results
  private let crowd: CrowdLog

  init(results: Results, on loop: Loop) {
    self.results = results
    crowd = CrowdLog(loop) { results.print($0, json: $1) }
  }

  /// Shows what was held back.
  func end() { crowd.flush() }

  /// - Parameter layout: the handles that a program is to know; nil: none.
  func listening(_ endpoint: String, _ layout: ProfileLayout?) {
    let values = layout.map { layout in
      layout.services.flatMap(\.characteristics).map {
        ["handle": $0.valueHandle.map(Shown.json), "uuid": Shown.json($0.uuid)] as JSONObject
      }
    }
    results.print(
      "listening on \(endpoint)",
      json: ["event": "listening", "endpoint": endpoint, "values": values])
  }

  func failed(_ error: AttoError) {
    guard crowd.showsFailure() else { return }
    results.print(
      "cannot serve a client: \(error)", json: ["event": "failed", "error": error.description])
    Terminal.note(hintsFor: error)
  }

  func changed(_ change: LinkChange) {
    let facts = LinkFacts(change)
    results.print(
      "link of \(change.peer): \(facts.text ?? "")",
      json: facts.json.adding(["event": "link", "peer": change.peer.description]))
  }

  func pairing(_ report: PairingReport) { results.print(report.text, json: report.json) }

  /// - Parameter value: the value of an attribute in the server's database.
  func happened(_ event: ProfileServerEvent, value: (AttributeHandle) -> [UInt8]?) {
    switch event {
    case .written(let handle, let octets, let client): written(handle, octets, by: client)
    case .discarded(let handle, let writes, let octets, let client):
      show(
        client, "sunk",
        "wrote \(Shown.count(writes, "value")) (\(Shown.count(octets, "octet"))) to the sink \(handle)",
        ["handle": Shown.json(handle), "writes": writes, "octets": octets])
    case .server(.connected(let client, let peer)):
      if crowd.shows(client, peer) { connected(client, peer) }
    case .server(.disconnected(let client, let peer)):
      guard crowd.showsEnd(of: client) else { return }
      show(client, "disconnected", "disconnected", ["peer": peer])
    case .server(.evicted(let client, let peer, let reason)):
      guard !crowd.hides(client) else { return }
      show(
        client, "evicted", "loses its connection: \(reason)",
        ["peer": peer, "reason": reason.description])
    case .server(.valuesDropped(let client, let peer, let count)):
      show(
        client, "dropped",
        "does not keep up with the other clients and has lost \(Shown.count(Int(count), "value"))",
        ["peer": peer, "count": Int(count)])
    case .server(.server(.valueWritten(let handle, let client))):
      written(handle, value(handle) ?? [], by: client)
    case .server(.server(.configured(let handle, let configuration, let client))):
      let notifies = configuration.contains(.notification)
      let indicates = configuration.contains(.indication)
      let ways = (notifies ? ["notifications"] : []) + (indicates ? ["indications"] : [])
      show(
        client, "configured",
        ways.isEmpty
          ? "unsubscribed from \(handle)"
          : "subscribed to \(ways.joined(separator: " and ")) of \(handle)",
        ["handle": Shown.json(handle), "notify": notifies, "indicate": indicates])
    case .server(.server(.featuresWritten(let features, let client))):
      show(
        client, "features", "supports features 0x\(String(features.rawValue, radix: 16))",
        ["value": Shown.hex([features.rawValue])])
    }
  }

  /// Asks the program of a session about a value. It is not dropped where other events are.
  static func ask(
    _ results: Results, _ event: String, _ client: ClientID, _ handle: AttributeHandle,
    _ fields: JSONObject
  ) {
    let question: JSONObject = [
      "event": event, "client": Int(client.rawValue), "handle": Shown.json(handle),
    ]
    results.print(json: question.adding(fields), delivery: .complete)
  }

  private func connected(_ client: ClientID, _ peer: String) {
    print(
      client, "connected", "connected" + (peer.isEmpty ? "" : " from \(peer)"), ["peer": peer])
  }

  private func written(_ handle: AttributeHandle, _ octets: [UInt8], by client: ClientID) {
    show(
      client, "written", "wrote \(handle) = \(Shown.value(octets))",
      ["handle": Shown.json(handle), "value": Shown.hex(octets)])
  }

  private func show(_ client: ClientID, _ event: String, _ text: String, _ fields: JSONObject) {
    if let peer = crowd.reveal(client) { connected(client, peer) }
    print(client, event, text, fields)
  }

  private func print(_ client: ClientID, _ event: String, _ text: String, _ fields: JSONObject) {
    results.print(
      "client \(client.rawValue) \(text)",
      json: fields.adding(["event": event, "client": Int(client.rawValue)]))
  }
}
