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
}

/// Why a link cannot be used.
public enum PeerError: Error, Equatable {
  /// The peer closed the link, or it was lost; with the reason.
  case ended(String)
  /// No link could be opened; with the reason.
  case unreachable(String)
  /// The caller's task was cancelled, which ends the run.
  case cancelled
}
