public import AttoLinks

extension Adapter {
  /// Opens an L2CAP channel beside ATT. If the peer requires an encrypted link, the link is
  /// encrypted, which pairs if there is no key.
  ///
  /// The kernel connects if there is no link to the peer. On the virtual air there must be one.
  ///
  /// - Parameter psm: the PSM that the peer has published, 0x0001 to 0x00FF.
  /// - Throws: `channelRefused`, `pairing` if pairing for the channel failed, `notConnected`,
  ///   `timedOut`, `cancelled`, `closed`, or a system error.
  public func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration = .seconds(30)
  ) async throws(RadioError) -> Channel {
    do throws(RadioError) {
      return try await perform { backend.openChannel(psm, to: peer, timeout: timeout, $0) }
    } catch {
      // A failure of pairing tells more than the refusal.
      guard case .channelRefused(_, _, let refusal) = error, refusal.isForSecurity,
        let failure = await pairingFailure(of: peer, within: .milliseconds(200))
      else { throw error }
      throw .pairing(peer, failure)
    }
  }

  /// Accepts channels at a PSM, until the result is stopped or released, or the adapter is closed.
  ///
  /// - Parameters:
  ///   - psm: 0x0001 to 0x00FF, of which those below 0x0080 are the SIG's; nil: the radio chooses one.
  ///   - requiresEncryption: whether the link of a peer must be encrypted.
  /// - Throws: `tooManyChannels` if no PSM is free, or this one is not; `closed`, `link`, or a system
  ///   error. A kernel adapter throws `link` if the PSM is in use or is not permitted.
  public func publishChannel(
    psm: UInt16? = nil, requiresEncryption: Bool = false
  ) async throws(RadioError) -> PublishedChannel {
    if let endReason { throw endReason }
    if let psm, publications[psm] != nil { throw .tooManyChannels }
    let (stream, sink) = AsyncStream<Channel>.makeStream(
      bufferingPolicy: .bufferingOldest(PublishedChannel.queueLimit))
    let publication = ChannelPublication(requiresEncryption: requiresEncryption, sink)
    let psm = try backend.publish(publication, at: psm)
    publications[psm] = publication
    return PublishedChannel(psm, stream) { [weak self] in
      self?.later {
        // The PSM may belong to another publication by now.
        if $0.publications[psm] === publication { $0.unpublish(psm) }
      }
    }
  }

  func unpublish(_ psm: UInt16) {
    guard let publication = publications.removeValue(forKey: psm) else { return }
    backend.unpublish(psm)
    publication.finish()
  }
}
