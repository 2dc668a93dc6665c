import Atto
import AttoText

/// The forms of a status.
extension GatewayStatus {
  /// One JSON object.
  package var json: String {
    JSON.object([
      ("name", .string(name)), ("version", .string(version)),
      ("uptimeSeconds", .integer(Int(uptime.components.seconds))), ("memory", .integer(memory)),
      (
        "slots",
        .object([("free", .integer(slots.free)), ("limit", .integer(slots.limit))])
      ),
      ("adapters", .array(adapters.map(\.json))), ("devices", .array(devices.map(\.json))),
      ("frontEnds", .array(frontEnds.map { Self.json($0.name, $0.status) })),
      (
        "store",
        .object([
          ("healthy", .bool(storeFault == nil)), ("state", .string(storeFault ?? "working")),
        ])
      ),
    ]).text
  }

  private static func json(_ name: String, _ status: FrontEndStatus) -> JSON {
    .object([
      ("name", .string(name)), ("state", .string(status.state)),
      ("waiting", status.waiting.map { .string($0) } ?? .null),
      ("healthy", .bool(status.isHealthy)),
      ("numbers", .object(status.numbers.map { ($0.name, .number(number($0.value))) })),
    ])
  }

  /// A number as JSON and Prometheus write it.
  static func number(_ value: Double) -> String {
    guard value.isFinite else { return "0" }
    return Int(exactly: value).map { "\($0)" } ?? "\(value)"
  }

  /// A table for people.
  package var text: String {
    var lines = [
      "\(name), up for \(Self.words(uptime)), \(memory / 1_048_576) MiB, "
        + "\(slots.allocated.count) of \(slots.limit) connections in use"
    ]
    for adapter in adapters {
      lines.append(
        "adapter \(adapter.name): \(adapter.phase.words), devices on the air: \(adapter.present)")
    }
    for (name, status) in frontEnds { lines.append("\(name): \(status.words)") }
    if let storeFault { lines.append("bonds and services are not kept: \(storeFault)") }
    for name in asking { lines.append("\(name) pairs and waits for an answer") }
    var rows = [Self.heads]
    for device in devices { rows.append(device.cells) }
    let widths = Self.heads.indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    lines.append("")
    for row in rows {
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      let line = cells.joined(separator: "  ")
      lines.append(
        String(line[..<(line.lastIndex { $0 != " " }.map(line.index(after:)) ?? line.startIndex)]))
    }
    for device in devices {
      if let advice = device.advice { lines.append("\(device.name): \(advice)") }
    }
    return lines.map { $0.printable }.joined(separator: "\n") + "\n"
  }

  static let heads = [
    "DEVICE", "STATE", "RSSI", "HEARD", "LINKS", "FAILED", "VALUES", "DROPPED", "USERS",
    "LAST ERROR",
  ]

  static func words(_ time: Duration) -> String {
    let seconds = time.components.seconds
    return switch seconds {
    case ..<120: "\(seconds) s"
    case ..<7200: "\(seconds / 60) min"
    case ..<172_800: "\(seconds / 3600) h"
    default: "\(seconds / 86_400) days"
    }
  }
}

extension AdapterStatus {
  fileprivate var json: JSON {
    .object([
      ("name", .string("\(name)")), ("address", .string(address.digits)),
      ("state", .string(phase.words)), ("links", .integer(links)),
      ("present", .integer(present)),
    ])
  }
}

extension GatewayStatus.DeviceStatus {
  fileprivate var json: JSON {
    var mtu = JSON.null
    if case .connected(let octets) = state { mtu = .integer(octets) }
    let hearing: [(String, JSON)] = [
      ("heardSeconds", heard.map { .integer(Int($0.age.components.seconds)) } ?? .null),
      ("heardBy", heard.map { .string("\($0.adapter)") } ?? .null),
      ("advice", advice.map { .string($0) } ?? .null),
    ]
    let others: [(String, JSON)] = [
      ("name", .string(name)), ("address", address.map { .string($0.digits) } ?? .null),
      ("configured", .bool(isConfigured)), ("state", .string(state.word)), ("mtu", mtu),
      ("adapter", adapter.map { .string($0) } ?? .null),
      ("rssi", rssi.map { .integer(Int($0)) } ?? .null),
      ("links", .integer(Int(counters.links))), ("failures", .integer(Int(counters.failures))),
      ("values", .integer(Int(counters.values))), ("dropped", .integer(Int(counters.dropped))),
      ("requests", .integer(Int(counters.requests))),
      ("users", .array(users.map { .string($0) })),
      ("lastError", lastError.map { .string($0) } ?? .null),
    ]
    return .object(others + hearing)
  }

  /// The cells of a row, as ``GatewayStatus/heads`` names them.
  var cells: [String] {
    let numbers = [counters.links, counters.failures, counters.values, counters.dropped]
    let strength = rssi.map { "\($0)" } ?? "-"
    return [name, state.word, strength, heard?.words ?? "never"]
      + numbers.map { "\($0)" }
      + [users.isEmpty ? "-" : users.joined(separator: ","), lastError ?? "-"]
  }
}
