import Atto
import AttoFormats

extension GatewayStatus {
  /// The metrics in the text format of Prometheus, 0.0.4. Names begin with `atto_`.
  package var metrics: String {
    var text = ""
    func family(_ name: String, _ type: String, _ help: String, _ samples: [(String, Double)]) {
      text += "# HELP atto_\(name) \(help)\n# TYPE atto_\(name) \(type)\n"
      for (labels, value) in samples { text += "atto_\(name)\(labels) \(Self.number(value))\n" }
    }
    family(
      "uptime_seconds", "gauge", "Time since the gateway began.",
      [("", Double(uptime.components.seconds))])
    family("memory_bytes", "gauge", "Resident memory of the process.", [("", Double(memory))])
    family("connections_limit", "gauge", "Links that may be held.", [("", Double(slots.limit))])
    family(
      "connections", "gauge", "Links and attempts.", [("", Double(slots.allocated.count))])
    family(
      "adapter_up", "gauge", "Whether an adapter is open and scans.",
      adapters.map { (Self.label("adapter", "\($0.name)"), $0.phase == .running ? 1 : 0) })
    let counters: [(String, String, String, (DeviceStatus) -> Double)] = [
      (
        "device_connected", "gauge", "Whether there is a link.",
        { if case .connected = $0.state { 1 } else { 0 } }
      ),
      ("device_links_total", "counter", "Links that were made.", { Double($0.counters.links) }),
      (
        "device_failures_total", "counter", "Attempts to connect that failed.",
        { Double($0.counters.failures) }
      ),
      ("device_values_total", "counter", "Values received.", { Double($0.counters.values) }),
      (
        "device_dropped_total", "counter", "Values that a slow user did not receive.",
        { Double($0.counters.dropped) }
      ),
      (
        "device_requests_total", "counter", "Requests carried out for users.",
        { Double($0.counters.requests) }
      ),
    ]
    for (name, type, help, value) in counters {
      family(name, type, help, devices.map { (Self.label("device", $0.name), value($0)) })
    }
    family(
      "device_rssi_dbm", "gauge", "Signal strength when the device was heard last.",
      devices.compactMap { device in
        device.rssi.map { (Self.label("device", device.name), Double($0)) }
      })
    family(
      "frontend_up", "gauge", "Whether a front end does what it should.",
      frontEnds.map { (Self.label("frontend", $0.name), $0.status.isHealthy ? 1 : 0) })
    family(
      "store_up", "gauge", "Whether bonds and services are kept.",
      [("", storeFault == nil ? 1 : 0)])
    for (name, status) in frontEnds {
      for number in status.numbers {
        family(
          "\(name)_\(number.name)", number.name.hasSuffix("_total") ? "counter" : "gauge",
          "See the documentation of \(name).", [("", number.value)])
      }
    }
    return text
  }

  /// Names are of letters, digits, `-`, `_` and `:`, so nothing is escaped.
  private static func label(_ name: String, _ value: String) -> String { "{\(name)=\"\(value)\"}" }
}
