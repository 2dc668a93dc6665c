/// The implementation that is tested, and how to come to a link with it.
///
/// A player of the client's part connects; one of the server's part takes who comes. Either way a
/// case has a link of its own.
public protocol Peer {
  /// Opens the next link.
  ///
  /// - Throws: ``PeerError`` if no link comes to stand.
  func open() async throws(PeerError) -> any PeerLink
}

/// A link that carries PDUs as they are. Time is the link's, so that cases can be played in
/// virtual time too.
public protocol PeerLink: AnyObject {
  /// What has passed since some moment.
  var elapsed: Duration { get }

  /// Sends one PDU.
  ///
  /// - Throws: ``PeerError`` if the link has ended.
  func send(_ pdu: [UInt8]) async throws(PeerError)

  /// The next PDU; nil if none came in time.
  ///
  /// - Throws: ``PeerError`` if the link has ended.
  func receive(within time: Duration) async throws(PeerError) -> [UInt8]?

  /// Lets time pass; what comes meanwhile is kept for `receive`.
  ///
  /// - Throws: ``PeerError`` if the link has ended.
  func wait(_ time: Duration) async throws(PeerError)

  /// Ends the link. Again has no effect.
  func close() async
}

/// Why a link is of no use.
public enum PeerError: Error, Equatable {
  /// The peer has ended it, or it was lost; as people read it.
  case ended(String)
  /// None could be opened.
  case unreachable(String)
  /// The caller's task was cancelled: the run ends.
  case cancelled
}
