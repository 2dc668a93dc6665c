import Atto
import AttoCommandLine
import AttoConformance
import AttoPeers
import Glibc

/// The peer of conformance cases: a server to connect to, or clients that connect.
final class RawPeer: TestPeer {
  private let role: Role
  private let patience: Duration
  private let loop: Loop
  /// Ends the kernel's links to the server.
  private let linkEnd: LinkEnd?
  /// Why the last connection could not be opened.
  private(set) var failure: AttoError?

  private enum Role {
    case server(Endpoint, ConnectionOptions)
    case clients(RawListener)
  }

  private init(_ role: Role, linkEnd: LinkEnd? = nil, patience: Duration, on loop: Loop) {
    self.role = role
    self.linkEnd = linkEnd
    self.patience = patience
    self.loop = loop
  }

  /// A server, to which each case connects.
  ///
  /// - Parameter patience: how long to wait for a server to restart.
  convenience init(
    _ endpoint: Endpoint, _ options: ConnectionOptions, patience: Duration, on loop: Loop
  ) {
    self.init(
      .server(endpoint, options), linkEnd: LinkEnd(endpoint, on: loop), patience: patience,
      on: loop)
  }

  /// Listens for clients at the endpoint of `--listen`. Each case waits for a client of its own.
  static func listen(
    _ text: String, _ arguments: Arguments, patience: Duration, on loop: Loop
  ) async throws -> RawPeer {
    let endpoint = try Endpoint(argument: text)
    if endpoint.isRadio {
      throw UsageError("\(EndpointError(text: text, .notForListening))")
    }
    var options = ConnectionOptions()
    try Monitor.add(to: &options, arguments, CaptureEnds(of: endpoint, isCentral: false))
    var listening = ListenOptions(advertising: AdvertisingData(localName: "Atto"))
    listening.connection = options
    let listener = try await RawListener.listen(on: endpoint, options: listening, loop: loop)
    if let notice = listener.notice { Terminal.note("warning: \(notice)") }
    Terminal.note("listening on \(listener.endpoint)")
    return RawPeer(.clients(listener), patience: patience, on: loop)
  }

  /// Runs cases with this peer.
  ///
  /// - Throws: what `cases` throws; `AttoError.cancelled` if they were cancelled, as other work of a
  ///   command does.
  func run<Report>(
    _ cases: (RawPeer) async throws(PeerError) -> Report
  ) async throws -> Report {
    do { return try await cases(self) } catch .cancelled { throw AttoError.cancelled }
  }

  func open() async throws(PeerError) -> any TestLink {
    switch role {
    case .server(let endpoint, let options):
      guard linkEnd?.isUsed != true else {
        throw .unreachable("the kernel has one link to a device")
      }
      let connection = try await connect(to: endpoint, options)
      linkEnd?.isUsed = true
      return RawPeerLink(connection, end: linkEnd, on: loop)
    case .clients(let listener):
      do throws(AttoError) {
        if let connection = try await listener.accept(within: patience) {
          return RawPeerLink(connection, on: loop)
        }
      } catch {
        throw error == .cancelled ? .cancelled : .unreachable(error.description)
      }
      throw .unreachable("no client connected within \(patience)")
    }
  }

  private func connect(
    to endpoint: Endpoint, _ options: ConnectionOptions
  ) async throws(PeerError) -> RawConnection {
    let start = loop.now
    let waiting = WaitingNote(connectingTo: endpoint, on: loop)
    defer { waiting.end() }
    while true {
      do throws(AttoError) {
        return try await RawConnection.connect(to: endpoint, options: options, loop: loop)
      } catch {
        if error == .cancelled || error == .radio(.cancelled) { throw .cancelled }
        failure = error
        guard case .link = error, .nanoseconds(loop.now - start) < patience else {
          throw .unreachable(error.description)
        }
      }
      do { try await loop.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
    }
  }
}

private final class RawPeerLink: TestLink {
  private let connection: RawConnection
  private let loop: Loop
  private let start: Int64
  /// nil if the link ends with the connection, or has ended.
  private var end: LinkEnd?
  /// How long the peer may take to encrypt the link and to open bearers.
  private static let bearerTimeout: Duration = .seconds(30)

  init(_ connection: RawConnection, end: LinkEnd? = nil, on loop: Loop) {
    self.connection = connection
    self.end = end
    self.loop = loop
    start = loop.now
  }

  /// Read anew, because a peer that floods the loop makes its turns long.
  var elapsed: Duration { .nanoseconds(loop.refreshNow() - start) }

  func send(_ pdu: [UInt8]) async throws(PeerError) {
    do throws(AttoError) { try await connection.send(pdu) } catch { throw PeerError(error) }
  }

  func receive(within time: Duration) async throws(PeerError) -> [UInt8]? {
    do throws(AttoError) {
      return try await connection.receive(within: time)
    } catch {
      throw PeerError(error)
    }
  }

  func wait(_ time: Duration) async throws(PeerError) {
    do { try await loop.sleep(for: time) } catch { throw .cancelled }
  }

  func close() async {
    connection.close()
    let end = end
    self.end = nil
    await end?.end()
  }

  func openBearers(_ count: Int, mtu: Int) async throws(PeerError) -> [any TestLink] {
    do throws(AttoError) {
      let bearers = try await connection.openBearers(count, mtu: mtu, within: Self.bearerTimeout)
      return bearers.map { RawPeerLink($0, on: loop) }
    } catch {
      switch error {
      case .radio(.cancelled): throw .cancelled
      case .radio, .securityTimeout: throw .noBearers("no enhanced bearers: \(error)")
      // The ends did not agree to pair.
      case .link(let failure) where failure.errno == EACCES:
        throw .noBearers("no enhanced bearers: \(error)")
      default: throw PeerError(error)
      }
    }
  }
}

extension PeerError {
  fileprivate init(_ error: AttoError) {
    self = error == .cancelled ? .cancelled : .ended(error.description)
  }
}
