import TestSupport
import AttoATT
import AttoConformance
import AttoFormats
import Foundation
import AttoGATT

/// Our server in virtual time, with what may go wrong in it.
final class VirtualServer: TestPeer {
  let server: Server
  private let mtu: Int
  /// What becomes of the server's answers to a PDU; nil ends the link.
  var fault: (_ pdu: [UInt8], _ answers: [[UInt8]]) -> [[UInt8]]? = { _, answers in answers }
  /// Links that were opened.
  private(set) var opened = 0
  /// How many links may be opened.
  var linkLimit = Int.max
  /// The time that each PDU of the server takes.
  var pace: Duration = .zero
  /// How many enhanced bearers a link may have.
  var bearerLimit = 0 {
    didSet {
      guard let features = server.database.handles(of: .serverSupportedFeatures).first else {
        return
      }
      try? server.setValue(of: features, to: [bearerLimit > 0 ? 1 : 0])
    }
  }
  /// Whether each bearer is served as if it were another client.
  var hasClientsByBearer = false

  init(_ profile: Profile) throws {
    server = Server(try profile.database())
    mtu = Int(profile.mtu ?? 517)
  }

  func open() async throws(PeerError) -> any TestLink {
    guard opened < linkLimit else { throw .unreachable("nobody answers") }
    opened += 1
    guard let client = server.connect() else { throw .unreachable("too many clients") }
    let session = Session(
      BearerConfiguration(receiveMTU: mtu), server: server, client: client)
    return VirtualServerLink(self, SessionGroup(session), session, client)
  }
}

private final class VirtualServerLink: TestLink {
  private let peer: VirtualServer
  private let group: SessionGroup
  private let session: Session
  private let client: ServerClient
  private var now = Instant.zero
  private var waiting: [[UInt8]] = []
  private var isOpen = true

  init(_ peer: VirtualServer, _ group: SessionGroup, _ session: Session, _ client: ServerClient) {
    self.peer = peer
    self.group = group
    self.session = session
    self.client = client
  }

  func openBearers(_ count: Int, mtu: Int) async throws(PeerError) -> [any TestLink] {
    let room = peer.bearerLimit - group.enhanced.count
    guard room > 0 else { throw .noBearers("nobody accepts them") }
    client.security = LinkSecurity(.medium)
    let configuration = BearerConfiguration(channel: .enhanced(mtu: mtu))
    var links: [any TestLink] = []
    for _ in 0..<min(count, room) {
      let other = peer.hasClientsByBearer ? peer.server.connect() : nil
      let session =
        if let other { Session(configuration, server: peer.server, client: other) } else {
          group.add(configuration, carriesProcedures: false)
        }
      guard let session else { break }
      links.append(VirtualServerLink(peer, group, session, other ?? client))
    }
    return links
  }

  var elapsed: Duration { .nanoseconds(now.nanoseconds) }

  func send(_ pdu: [UInt8]) async throws(PeerError) {
    guard isOpen else { throw .ended("closed") }
    _ = session.receive(pdu.span.bytes, at: now)
    guard let answers = peer.fault(pdu, taken()) else {
      await close()
      throw .ended("the server has gone")
    }
    waiting += answers
  }

  private func taken() -> [[UInt8]] {
    var answers: [[UInt8]] = []
    var next: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &next)
      answers.append(next)
    }
    return answers
  }

  func receive(within time: Duration) async throws(PeerError) -> [UInt8]? {
    if !waiting.isEmpty {
      now = now + peer.pace
      return waiting.removeFirst()
    }
    guard isOpen else { throw .ended("closed") }
    now = now + time
    return nil
  }

  func wait(_ time: Duration) async throws(PeerError) { now = now + time }

  func close() async {
    guard isOpen else { return }
    isOpen = false
    if session.number > 0 { return group.remove(session, at: now) }
    if session === group.main { group.linkEnded() } else { session.linkEnded() }
    peer.server.disconnect(client)
  }
}

/// A client in virtual time: our session with procedures, or a list of PDUs that knows no better.
final class VirtualClients: TestPeer {
  private let begin: (VirtualClientLink) -> Void

  /// - Parameter begin: told of each link, to send its first PDUs.
  init(_ begin: @escaping (VirtualClientLink) -> Void) { self.begin = begin }

  func open() async throws(PeerError) -> any TestLink {
    let link = VirtualClientLink()
    begin(link)
    return link
  }
}

final class VirtualClientLink: TestLink {
  /// nil for a client that is none of ours.
  var session: Session?
  /// What the client says to a PDU, if it has no session.
  var reply: ([UInt8]) -> [[UInt8]] = { _ in [] }
  private var now = Instant.zero
  private var waiting: [[UInt8]] = []

  var elapsed: Duration { .nanoseconds(now.nanoseconds) }

  /// Sends PDUs of the client.
  func say(_ pdus: [[UInt8]]) { waiting += pdus }

  func send(_ pdu: [UInt8]) async throws(PeerError) {
    guard let session else {
      waiting += reply(pdu)
      return
    }
    if session.receive(pdu.span.bytes, at: now) == .indication { session.confirm() }
    collect()
  }

  func collect() {
    guard let session else { return }
    var next: [UInt8] = []
    while !session.bearer.outbox.isEmpty {
      session.bearer.outbox.removeFirst(into: &next)
      waiting.append(next)
    }
  }

  func receive(within time: Duration) async throws(PeerError) -> [UInt8]? {
    collect()
    if !waiting.isEmpty { return waiting.removeFirst() }
    now = now + time
    if let session { _ = session.advance(to: now) }
    collect()
    return waiting.isEmpty ? nil : waiting.removeFirst()
  }

  func wait(_ time: Duration) async throws(PeerError) { now = now + time }
  func close() async {}
}

extension Fixtures {
  static func profile(_ name: String) throws -> Profile { try Profile(contentsOfFile: path(name)) }
}
