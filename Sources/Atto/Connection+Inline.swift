import ATT
import EventLoop
import GATT

/// For those who run on the connection's loop: without waiting, and without leaving it. Every
/// function traps off the loop's thread.
extension Connection {
  /// ATT_MTU now.
  public var mtuNow: Int { coreHere.session.bearer.mtu }

  /// The security of the link now.
  public var securityNow: LinkSecurity { coreHere.security }

  /// Why the connection has ended; nil while it stands.
  public var endReasonNow: AttoError? { coreHere.end }

  /// The peer in the eyes of the server behind the connection; nil without a server.
  public var clientNow: ClientID? { coreHere.session.client?.id }

  /// Writes a value without a response. Vol 3, Part G, 4.9.1.
  ///
  /// - Returns: false, and nothing sent, if the link has no room: see ``awaitRoom()``.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3; what ended the connection.
  public func writeWithoutResponseNow(
    _ handle: AttributeHandle, _ value: RawSpan
  ) throws(AttoError) -> Bool {
    try coreHere.writeWithoutResponse(handle, value).get()
  }

  /// Stops reading from the link, or goes on: so that a peer is held back whose values nobody
  /// takes in time. As with values that wait (``ConnectionOptions/valueLimit``), this does not
  /// hold while a response is awaited, nor on L2CAP's fixed channel, which has no flow control.
  public func holdBack(_ isHeld: Bool) { coreHere.holdBack(isHeld) }
}

extension LocalServer {
  /// What became of a value for one client.
  public enum Outcome: Equatable, Sendable {
    /// It is on its way.
    case sent
    /// The client's link has no room.
    case blocked
    /// There is no such client any more.
    case gone
  }

  /// Notifies one client, whether it has subscribed or not, if its link has room. Traps off the
  /// loop's thread.
  public func notifyNow(
    _ handle: AttributeHandle, _ value: RawSpan, to client: ClientID
  ) -> Outcome {
    guard let connection = core.value.connection(client) else { return .gone }
    defer { connection.settle() }
    return connection.session.notify(handle, value) ? .sent : .blocked
  }

  /// Indicates a value to one client and waits for its confirmation.
  ///
  /// - Throws: what ended the connection; `misuse` if too many wait already.
  public func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], confirmedBy client: ClientID
  ) async throws(AttoError) {
    let core = core
    try await loop.complete { (completion: Completion<Void>) in
      guard let connection = core.value.connection(client) else {
        return completion.resume(.failure(.disconnected(peer: "the client")))
      }
      connection.indicate(handle, value, completion)
    }
  }

  /// Waits until notifications to a client have room.
  ///
  /// - Throws: what ended the connection.
  public func awaitRoom(of client: ClientID) async throws(AttoError) {
    let core = core
    try await loop.complete { (completion: Completion<Void>) in
      guard let connection = core.value.connection(client) else {
        return completion.resume(.failure(.disconnected(peer: "the client")))
      }
      connection.awaitRoom(completion)
    }
  }

  /// ``Connection/holdBack(_:)`` for the connection of a client. Traps off the loop's thread.
  public func holdBack(_ client: ClientID, _ isHeld: Bool) {
    core.value.connection(client)?.holdBack(isHeld)
  }

  /// ATT_MTU of a client's connection; nil if it is gone. Traps off the loop's thread.
  public func mtuNow(of client: ClientID) -> Int? {
    core.value.connection(client)?.session.bearer.mtu
  }

  /// Asks `application` about every attribute for which no handler is set, in place of refusing.
  /// It is made and used on the loop. What it answers with `later` is answered with
  /// ``answer(_:_:)``.
  public func useApplication(_ make: @escaping @Sendable () -> Application) {
    inline { $0.handlers.application = make() }
  }

  /// Answers a question that an application has put off. Does nothing if the client is gone.
  /// Traps off the loop's thread.
  public func answer(_ question: Question, _ answer: LateAnswer) {
    core.value.answer(question, answer)
  }
}
