/// An interface of the gateway to a network.
package protocol FrontEnd: Sendable {
  /// The name in the status and in logs: `esphome`, `mqtt`.
  var name: String { get }

  /// Serves until the task is cancelled.
  ///
  /// - Throws: why it cannot be served at all, for instance because the port is in use. What can pass
  ///   by itself, such as a broker that is away, is no reason to return.
  func run(_ hub: Hub) async throws

  /// The hub has another configuration, which is the same to this front end except for devices.
  func reloaded() async

  /// What it does now.
  func status() async -> FrontEndStatus
}

extension FrontEnd {
  package func reloaded() async {}
}

/// What a front end does now.
package struct FrontEndStatus: Equatable, Sendable {
  /// A few words for people: `connected to broker:8883`, `2 clients`.
  package var state: String
  /// What waits in the queue, in a few words; nil: nothing does.
  package var waiting: String?
  /// Both, for people.
  package var words: String { waiting.map { "\(state); \($0)" } ?? state }
  /// Whether it does what it should.
  package var isHealthy: Bool
  /// Numbers, in order. Names are those of Prometheus without the prefix: `queue_length`,
  /// `dropped_total`.
  package var numbers: [(name: String, value: Double)]

  package init(
    state: String, isHealthy: Bool, waiting: String? = nil,
    numbers: [(name: String, value: Double)] = []
  ) {
    self.state = state
    self.waiting = waiting
    self.isHealthy = isHealthy
    self.numbers = numbers
  }

  package static func == (a: FrontEndStatus, b: FrontEndStatus) -> Bool {
    a.state == b.state && a.waiting == b.waiting && a.isHealthy == b.isHealthy
      && a.numbers.elementsEqual(b.numbers) { $0.name == $1.name && $0.value == $1.value }
  }
}
