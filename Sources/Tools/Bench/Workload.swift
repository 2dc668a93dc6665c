import AttoLinkTiming

/// What a test or scenario sends, which way, over what, and paced how.
package struct Workload: Sendable {
  /// The end that sends the values.
  enum Sender: Sendable { case here, peer }

  /// The duration that the latency measures.
  enum Latency: String, Sendable {
    case roundTrip = "round trip"
    case procedure = "whole procedure"
    case acceptance = "until the link took it"
    case interval = "between two values"
  }

  /// In results. Its carrier tells a scenario from a test of the same name.
  let name: String
  /// nil if no values are sent, but requested.
  let sender: Sender?
  let latency: Latency
  /// The traffic whose timing is that of the workload.
  var traffic: Throughput.Traffic
  /// What carries the packets of a scenario; nil for tests.
  var carrier: ScenarioPlan.Carrier?
  /// Octets of each value that is sent.
  var size = 0
  /// The time after which it ends; nil if only ``count`` ends it.
  var time: Duration?
  /// The number of operations or values after which it ends.
  var count: Int?
  /// The time between two values; nil: as fast as possible.
  var pace: Duration?

  init(
    _ name: String, _ sender: Sender?, _ latency: Latency, as traffic: Throughput.Traffic
  ) {
    (self.name, self.sender, self.latency, self.traffic) = (name, sender, latency, traffic)
  }

  /// Whether each operation awaits an answer.
  var isRoundTrip: Bool { traffic == .read || traffic == .write }
}
