import Atto

/// The program's answers for the values that a profile leaves to it (`"application": true`).
public struct ProfileApplication: Sendable {
  /// Returns the whole value, as for `LocalServer.onRead(of:_:)`.
  ///
  /// - Throws: the code that refuses the read.
  public var read: @Sendable (ReadRequestContext) async throws(ErrorCode) -> [UInt8]
  /// Accepts writes, as for `LocalServer.onWrite(of:_:)`.
  ///
  /// - Throws: the code that refuses the write.
  public var write: @Sendable ([WriteRequestContext]) async throws(ErrorCode) -> Void

  /// Creates the answers.
  ///
  /// - Throws: nothing itself; both closures throw the code to refuse with.
  public init(
    read: @escaping @Sendable (ReadRequestContext) async throws(ErrorCode) -> [UInt8],
    write: @escaping @Sendable ([WriteRequestContext]) async throws(ErrorCode) -> Void
  ) {
    self.read = read
    self.write = write
  }

  /// Refuses everything.
  static let none = ProfileApplication(
    read: { (_) throws(ErrorCode) in throw .unlikelyError },
    write: { (_) throws(ErrorCode) in throw .unlikelyError })
}
