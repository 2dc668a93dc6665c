public import AttoLinks

extension Connection {
  /// Calls a body with the times of each exchange on the unenhanced bearer from now on, and of each command; nil ends
  /// it. A new body replaces the one before.
  ///
  /// The body is called on the loop, before the PDU that ends the exchange is handled; it must be quick. PDUs are sent
  /// one by one meanwhile, which costs some time.
  ///
  /// - Returns: the stamps that the kernel gives of this link: none of Unix sockets and simulated radios. Times without
  ///   a stamp are nil.
  /// - Throws: what has ended the connection.
  @discardableResult
  public func timeExchanges(
    _ body: (@Sendable (TimedExchange) -> Void)?
  ) async throws(AttoError) -> KernelStamps {
    try await onLoop { core in core.sender.time(body) }
  }
}
