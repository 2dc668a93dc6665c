import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoStreams

/// Serves the status over HTTP: pages at `/` and `/heard`, `/metrics` for Prometheus, `/status.json` and
/// `/status.txt`. At `/pair`, clients that have the configuration's token answer devices that pair. It changes
/// nothing else, and closes each connection after its response.
package actor StatusServer {
  /// Connections at one time. Beyond it the oldest is closed.
  static let clientLimit = 16
  /// How long a request may take to arrive.
  static let patience: Duration = .seconds(10)
  /// Octets of a response that may wait.
  static let responseLimit = 16 << 20

  private nonisolated let loop: Loop
  private let place: ListeningPlace
  private let hub: Hub
  private let log: Hub.Logging
  private let status: @Sendable () async -> GatewayStatus
  private var acceptor: SocketAcceptor<StreamSocket>?
  private var clients: [UInt64: StatusClient] = [:]
  private var lastClient: UInt64 = 0

  package nonisolated var unownedExecutor: UnownedSerialExecutor {
    loop.asUnownedSerialExecutor()
  }

  /// - Parameters:
  ///   - hub: the hub whose devices are shown; the server runs on its loop.
  ///   - status: what is served.
  package init(
    _ place: ListeningPlace, _ hub: Hub, log: @escaping Hub.Logging,
    _ status: @escaping @Sendable () async -> GatewayStatus
  ) {
    self.place = place
    self.hub = hub
    loop = hub.loop
    self.log = log
    self.status = status
  }

  /// Begins to listen.
  ///
  /// - Throws: `LinkError` if the place cannot be listened at, `LoopError`.
  package func start() throws {
    let listener =
      switch place {
      case .internet(let host, let port): try TCPListening.listen(host: host, port: port)
      case .unix(let path): try UnixStreams.listen(path: path)
      }
    acceptor = try SocketAcceptor(
      listener, on: loop, { [weak self] socket in self?.here { $0.accept(socket) } },
      failure: { [log] error in log(.warning, "\(error)") })
  }

  /// Stops listening, and closes all connections.
  package func stop() {
    acceptor?.stop()
    acceptor = nil
    for client in clients.values { client.stream.close() }
    clients = [:]
  }

  private var isLocal: Bool { if case .unix = place { true } else { false } }

  private func accept(_ socket: StreamSocket) {
    if clients.count >= Self.clientLimit, let oldest = clients.keys.min() {
      clients[oldest]?.stream.close()
    }
    lastClient += 1
    let id = lastClient
    guard let stream = try? ByteStream(socket, outputLimit: Self.responseLimit, on: loop) else {
      return
    }
    let client = StatusClient(stream)
    clients[id] = client
    client.timer = LoopTimer(after: Self.patience, on: loop) { stream.close() }
    stream.onClosed = { [weak self] in
      client.timer?.cancel()
      self?.here { $0.clients[id] = nil }
    }
    stream.onOctets = { [weak self] octets in
      client.request += octets
      self?.here { $0.answer(id) }
    }
  }

  private func answer(_ id: UInt64) {
    guard let client = clients[id] else { return }
    do throws(StatusRequest.Refusal) {
      guard let request = try StatusRequest(client.request, isLocal: isLocal) else { return }
      try authorize(request)
      client.stream.onOctets = { _ in }
      Task(executorPreference: loop.tasks) {
        let result = await self.answer(request.page)
        let status = await self.status()
        await self.send(request, status, result, to: id)
      }
    } catch {
      client.stream.onOctets = { _ in }
      client.stream.send(
        Self.response("\(error.rawValue) \(error.text)", "text/plain", error.text + "\n", true))
      client.stream.finish()
    }
  }

  private func authorize(_ request: StatusRequest) throws(StatusRequest.Refusal) {
    switch request.page {
    case .pair, .answer:
      guard let token = hub.here({ $0.configuration.pageToken }) else { throw .notFound }
      if !request.has(token) { throw .unauthorized }
    case .table, .text, .metrics, .json, .heard: return
    }
  }

  /// Answers a device that pairs.
  ///
  /// - Returns: the result for people; nil: the request has no answer.
  private func answer(_ page: StatusRequest.Page) async -> String? {
    guard case .answer(let question, let text) = page else { return nil }
    guard let answer = PairingAnswer(text) else { return "Not accepted: enter one to six digits." }
    do throws(GatewayError) {
      try await hub.answer(question, answer)
      return "Answered. The status shows whether the device has paired."
    } catch {
      return "Not accepted: \(error)"
    }
  }

  private func send(
    _ request: StatusRequest, _ status: GatewayStatus, _ result: String?, to id: UInt64
  ) {
    let (type, body) =
      switch request.page {
      case .table: ("text/html; charset=utf-8", status.page)
      case .heard:
        (
          "text/html; charset=utf-8",
          GatewayStatus.page(status.name, heard: hub.here { $0.unconfigured })
        )
      case .pair, .answer:
        (
          "text/html; charset=utf-8",
          GatewayStatus.pairPage(status.name, hub.here { $0.openQuestions }, result)
        )
      case .text: ("text/plain; charset=utf-8", status.text)
      case .metrics: ("text/plain; version=0.0.4; charset=utf-8", status.metrics)
      case .json: ("application/json", status.json + "\n")
      }
    clients[id]?.stream.send(Self.response("200 OK", type, body, !request.isHead))
    clients[id]?.stream.finish()
  }

  private static func response(
    _ result: String, _ type: String, _ body: String, _ hasBody: Bool
  ) -> [UInt8] {
    let head =
      "HTTP/1.1 \(result)\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n"
      + "Connection: close\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
      + "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; "
      + "base-uri 'none'; frame-ancestors 'none'\r\n"
      + (result.hasPrefix("405") ? "Allow: GET, HEAD\r\n" : "")
      + (result.hasPrefix("401") ? "WWW-Authenticate: Basic realm=\"atto-gateway\"\r\n" : "")
      + "\r\n"
    return Array((hasBody ? head + body : head).utf8)
  }
}

/// A connection to the status server. The loop's thread only.
private final class StatusClient {
  let stream: ByteStream
  var request: [UInt8] = []
  var timer: LoopTimer?

  init(_ stream: ByteStream) { self.stream = stream }
}
