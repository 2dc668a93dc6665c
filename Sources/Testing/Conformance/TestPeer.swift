/// The implementation under test.
///
/// A player of the client's part connects to it; a player of the server's part accepts its
/// connections. Each case has its own link.
public protocol TestPeer {
  /// Opens the next link.
  ///
  /// - Throws: ``PeerError`` if that fails.
  func open() async throws(PeerError) -> any TestLink
}

/// A link that carries PDUs unchanged. It has its own clock, so that cases can run in virtual time.
public protocol TestLink: AnyObject {
  /// The time since some fixed moment.
  var elapsed: Duration { get }

  /// Sends a PDU.
  ///
  /// - Throws: ``PeerError`` if the link has ended.
  func send(_ pdu: [UInt8]) async throws(PeerError)

  /// Receives the next PDU; nil if none arrives in time.
  ///
  /// - Throws: ``PeerError`` if the link has ended.
  func receive(within time: Duration) async throws(PeerError) -> [UInt8]?

  /// Waits. PDUs that arrive meanwhile are kept for `receive`.
  ///
  /// - Throws: ``PeerError`` if the link has ended.
  func wait(_ time: Duration) async throws(PeerError)

  /// Closes the link. Repeated calls have no effect.
  func close() async

  /// Opens enhanced bearers beside the link, which is encrypted first if it is not.
  ///
  /// - Parameters:
  ///   - count: 1 to 5.
  ///   - mtu: the longest PDU that this end receives, from 64 octets on.
  /// - Returns: a link for each, perhaps fewer than wanted. Each can be closed alone.
  /// - Throws: ``PeerError``: `noBearers` if there are none.
  func openBearers(_ count: Int, mtu: Int) async throws(PeerError) -> [any TestLink]
}

extension TestLink {
  /// Throws `noBearers`.
  public func openBearers(_ count: Int, mtu: Int) async throws(PeerError) -> [any TestLink] {
    throw .noBearers("this link has no enhanced bearers")
  }
}

/// Why a link cannot be used.
public enum PeerError: Error, Equatable {
  /// The peer closed the link, or it was lost; with the reason.
  case ended(String)
  /// No link could be opened; with the reason.
  case unreachable(String)
  /// No enhanced bearers could be opened; with the reason.
  case noBearers(String)
  /// The caller's task was cancelled, which ends the run.
  case cancelled
}
