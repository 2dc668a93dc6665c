import AttoATT
import AttoEventLoop
import AttoGATT

/// Functions for code on the connection's loop, which do not wait. They trap off the loop's thread.
extension Connection {
  /// ATT_MTU now.
  public var mtuNow: Int { coreHere().session.bearer.mtu }

  /// The security of the link now.
  public var securityNow: LinkSecurity { coreHere().security }

  /// Why the connection has ended; nil while it is open.
  public var endReasonNow: AttoError? { coreHere().end }

  /// The peer as a client of the server behind the connection; nil without a server.
  public var clientNow: ClientID? { coreHere().session.client?.id }

  /// Writes a value without a response. Vol 3, Part G, 4.9.1.
  ///
  /// - Returns: false, and nothing sent, if the link has no room: see ``awaitRoom()``.
  /// - Throws: `misuse` if the value is longer than ATT_MTU - 3 or 512 octets; what ended the
  ///   connection.
  public func writeWithoutResponseNow(
    _ value: RawSpan, to handle: AttributeHandle
  ) throws(AttoError) -> Bool {
    try coreHere().writeWithoutResponse(handle, value).get()
  }

  /// Stops reading from the link, or continues, to hold back a peer whose values are not consumed in
  /// time. As with ``ConnectionOptions/valueLimit``, this has no effect while a response is awaited,
  /// nor on L2CAP's fixed channel, which has no flow control.
  package func holdBack(_ isHeld: Bool) { coreHere().holdBack(isHeld) }
}

extension LocalServer {
  /// The outcome of a notification to one client.
  public enum Outcome: Equatable, Sendable {
    /// It was sent.
    case sent
    /// The client's link has no room.
    case blocked
    /// The client has disconnected.
    case gone
  }

  /// Sends a notification to one client, whether it has subscribed or not, if its link has room. Traps
  /// off the loop's thread.
  public func sendNotificationNow(
    _ value: RawSpan, of handle: AttributeHandle, to client: ClientID
  ) -> Outcome {
    guard
      let connection = core.value(in: #function).connection(client)?.carrier(ofValues: handle)
    else { return .gone }
    defer { connection.settle() }
    return connection.backlog == nil && connection.session.notify(handle, value) ? .sent : .blocked
  }

  /// Sends an indication to one client, whether it has subscribed or not, and waits for its
  /// confirmation.
  ///
  /// - Throws: the error that ended the connection; `misuse` if too many wait already.
  public func sendIndication(
    _ value: [UInt8], of handle: AttributeHandle, to client: ClientID
  ) async throws(AttoError) {
    let core = core
    try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
      guard let connection = core.value.connection(client) else {
        return waiter.resume(.failure(.disconnected(peer: "the client")))
      }
      let id = connection.indicate(handle, value) { error in
        waiter.resume(error.map { .failure($0) } ?? .success(()))
      }
      if let id { waiter.whenCancelled = { connection.cancel(indication: id) } }
    }
  }

  /// Waits until notifications to a client have room.
  ///
  /// - Throws: the error that ended the connection.
  public func awaitRoom(of client: ClientID) async throws(AttoError) {
    let core = core
    try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
      guard let connection = core.value.connection(client) else {
        return waiter.resume(.failure(.disconnected(peer: "the client")))
      }
      connection.awaitRoom(waiter)
    }
  }

  /// ``Connection/holdBack(_:)`` for the connection of a client. Traps off the loop's thread.
  package func holdBack(_ client: ClientID, _ isHeld: Bool) {
    core.value(in: #function).connection(client)?.holdBack(isHeld)
  }

  /// ATT_MTU of a client's connection; nil if it has disconnected. Traps off the loop's thread.
  public func mtuNow(of client: ClientID) -> Int? {
    core.value(in: #function).connection(client)?.session.bearer.mtu
  }

  /// Asks `application` about every attribute without a handler, instead of refusing. It is created
  /// and used on the loop. Questions that it answers with `later` are answered with
  /// ``answer(_:_:)``.
  package func useApplication(_ make: @escaping @Sendable () -> Application) {
    inline { $0.handlers.application = make() }
  }

  /// Answers a question that an application has deferred. Does nothing if the client has
  /// disconnected.
  /// Traps off the loop's thread.
  package func answer(_ question: Question, _ answer: LateAnswer) {
    core.value.answer(question, answer)
  }
}
