import AttoEventLoop
import AttoGateway
import Glibc

/// The two places at which the status is served.
actor StatusServers {
  private let loop: Loop
  private let log: Log
  private let hub: Hub
  private let status: @Sendable () async -> GatewayStatus
  private var control: Serving?
  private var metrics: Serving?

  private struct Serving {
    let place: ListeningPlace
    let server: StatusServer
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ hub: Hub, _ log: Log, _ status: @escaping @Sendable () async -> GatewayStatus) {
    self.hub = hub
    loop = hub.loop
    self.log = log
    self.status = status
  }

  /// Serves at these places and nowhere else. A place that cannot be served is logged.
  func apply(control path: String?, metrics place: ListeningPlace?) async {
    control = await replace(control, path.map { .unix(path: $0) }, isControl: true)
    metrics = await replace(metrics, place, isControl: false)
  }

  func end() async { await apply(control: nil, metrics: nil) }

  private func replace(
    _ old: Serving?, _ place: ListeningPlace?, isControl: Bool
  ) async -> Serving? {
    if let old, old.place == place { return old }
    await old?.server.stop()
    guard let place else { return nil }
    if isControl, case .unix(let path) = place { Self.makeFolder(of: path) }
    let log = log
    let server = StatusServer(place, hub, log: { log.add($0, $1) }, status)
    do {
      try await server.start()
      return Serving(place: place, server: server)
    } catch {
      log.add(.error, "the status is not served: \(error)")
      return nil
    }
  }

  /// The folder of the status socket, for this user only, below a folder that exists.
  private static func makeFolder(of path: String) {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return }
    _ = mkdir(String(path[..<slash]), 0o700)
  }
}
