import Radio

extension LocalServer {
  /// Advertises on a radio and serves the centrals that connect. The radio must be on the
  /// server's loop.
  ///
  /// - Parameter onEnd: called on the loop when the radio was unplugged; not after `stop()`.
  public func advertise(
    on radio: any Adapter, options: ConnectionOptions = ConnectionOptions(),
    advertising parameters: AdvertisingParameters,
    onFailure: @escaping @Sendable (AttoError) -> Void = { _ in },
    onEnd: @escaping @Sendable (AttoError) -> Void = { _ in }
  ) async throws(AttoError) -> ServerListener {
    precondition(radio.loop === loop, "the radio is on another loop")
    return try await reception(options, onFailure, onEnd).advertise(on: radio, parameters)
  }
}
