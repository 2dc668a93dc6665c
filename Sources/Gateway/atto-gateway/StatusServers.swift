import AttoEventLoop
import AttoGateway

/// Serves the status. The loop's thread only.
struct StatusServers: Sendable {
  init(_ loop: Loop, _ log: Log, _ status: @escaping @Sendable () async -> GatewayStatus) {}
  func apply(control: String?, metrics: ListeningPlace?) async {}
  func end() async {}
}

enum StatusCommand {
  static func run(_ control: String?, isJSON: Bool) {}
}
