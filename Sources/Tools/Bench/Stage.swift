import AttoLinks

/// The parts of a latency, in the order in which they pass.
enum Stage: String, Codable, Sendable, CaseIterable {
  /// From the call until Atto gives the request to the socket: its queue.
  case queue
  /// Until the kernel gives the request to the controller: its queue, and the wait for a buffer of the
  /// controller.
  case kernel
  /// Until the controller reports the request as completed: its queue, the wait for a connection event, the
  /// air, and the acknowledgement of the peer's link layer.
  case controller
  /// Until the kernel receives the response: the peer's host, and the way back.
  case peer
  /// From ``kernel`` to ``peer``, where the kernel stamps only what it receives.
  case away
  /// From ``kernel`` to ``delivery``, where the kernel stamps nothing.
  case outside
  /// From the kernel to Atto: until this process runs and reads.
  case delivery
  /// Until the caller continues.
  case application

  /// For people.
  var text: String {
    switch self {
    case .queue: "in Atto, before the socket"
    case .kernel: "in the socket and the kernel, until the controller has it"
    case .controller: "in the controller and on the air"
    case .peer: "at the peer, and on the way back"
    case .away: "in the kernel, on the air and at the peer"
    case .outside: "in the socket and at the peer"
    case .delivery: "from the kernel to Atto"
    case .application: "in Atto and the caller"
    }
  }

  /// Whether the connection interval is part of it.
  var isOnAir: Bool {
    switch self {
    case .controller, .peer, .away, .outside: true
    default: false
    }
  }

  /// The stages of operations that can be had with these stamps.
  static func known(_ kinds: KernelStamps, of operation: StagedOperation) -> [Stage] {
    switch operation {
    case .value: return kinds.contains(.arrived) ? [.delivery, .application] : [.application]
    case .command: return kinds.contains(.completed) ? [.queue, .kernel, .controller] : [.queue]
    case .roundTrip: break
    }
    if kinds.contains(.completed) {
      return [.queue, .kernel, .controller, .peer, .delivery, .application]
    }
    if kinds.contains(.arrived) { return [.queue, .away, .delivery, .application] }
    return [.queue, .outside, .application]
  }

  /// The stages that cannot be told apart with these stamps.
  static func missing(_ kinds: KernelStamps, of operation: StagedOperation) -> [Stage] {
    let all = known([.arrived, .given, .completed], of: operation)
    let known = known(kinds, of: operation)
    return all.filter { !known.contains($0) }
  }
}

/// What stages are measured of.
package enum StagedOperation: Sendable {
  case roundTrip
  /// A received value, of which only the end is timed.
  case value
  /// A command that is sent, whose stages end when the controller has completed it.
  case command
}
