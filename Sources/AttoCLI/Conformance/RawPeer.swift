import Atto
import Conformance

/// The peer at the other end of an endpoint: for cases that are played against it.
final class RawPeer: Peer {
  private let loop: Loop
  private let way: Way

  private enum Way {
    case connecting(Endpoint, ConnectionOptions, patience: Duration)
    case listening(RawListener, patience: Duration)
  }

  /// A server, to which each case connects.
  ///
  /// - Parameter patience: how long a server that is gone may need to come back.
  init(_ endpoint: Endpoint, _ options: ConnectionOptions, patience: Duration, on loop: Loop) {
    self.loop = loop
    way = .connecting(endpoint, options, patience: patience)
  }

  /// Clients that come to a listener, one for each case.
  init(_ listener: RawListener, patience: Duration, on loop: Loop) {
    self.loop = loop
    way = .listening(listener, patience: patience)
  }

  func open() async throws(PeerError) -> any PeerLink {
    switch way {
    case .connecting(let endpoint, let options, let patience):
      return RawPeerLink(try await connect(endpoint, options, patience), on: loop)
    case .listening(let listener, let patience):
      do throws(AttoError) {
        guard let connection = try await listener.accept(within: patience) else {
          throw .connectTimeout(endpoint: listener.endpoint, after: patience)
        }
        return RawPeerLink(connection, on: loop)
      } catch {
        switch error {
        case .cancelled: throw .cancelled
        case .connectTimeout: throw .unreachable("no client came within \(patience)")
        default: throw .unreachable(error.description)
        }
      }
    }
  }

  private func connect(
    _ endpoint: Endpoint, _ options: ConnectionOptions, _ patience: Duration
  ) async throws(PeerError) -> RawConnection {
    let start = loop.now
    let note = ConnectingNote(endpoint, on: loop)
    defer { note.end() }
    while true {
      let failure: AttoError
      do throws(AttoError) {
        return try await RawConnection.connect(to: endpoint, options: options, loop: loop)
      } catch {
        failure = error
      }
      if failure == .cancelled || failure == .radio(.cancelled) { throw .cancelled }
      guard case .link = failure, .nanoseconds(loop.now - start) < patience else {
        throw .unreachable(failure.description)
      }
      do { try await loop.sleep(for: .milliseconds(50)) } catch { throw .cancelled }
    }
  }
}

/// One connection to it.
private final class RawPeerLink: PeerLink {
  private let connection: RawConnection
  private let loop: Loop
  private let start: Int64

  init(_ connection: RawConnection, on loop: Loop) {
    self.connection = connection
    self.loop = loop
    start = loop.now
  }

  var elapsed: Duration { .nanoseconds(loop.now - start) }

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

  func close() async { connection.close() }
}

extension PeerError {
  fileprivate init(_ error: AttoError) {
    self = error == .cancelled ? .cancelled : .ended(error.description)
  }
}
