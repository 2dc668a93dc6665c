import EventLoop
public import Links

/// Channels beside ATT. A link to the peer must stand, at whichever end it was made.
extension AirAdapter {
  public func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration = .seconds(30)
  ) async throws(RadioError) -> Channel {
    let peer = BluetoothAddress(peer.value, kind: .random)
    let id = nextID()
    let result: Result<Channel, RadioError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // One step, after any await has let others go first.
        guard !isClosed else { return continuation.resume(returning: .failure(.closed)) }
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        guard let link = channels.link(to: peer) else {
          return continuation.resume(returning: .failure(.notConnected(peer)))
        }
        let request = ChannelRequest(psm, to: peer, timeout: timeout, on: loop) {
          [weak self] result in
          self?.assumeIsolated { $0.channelRequests[id] = nil }
          continuation.resume(returning: result)
        }
        channelRequests[id] = request
        link.openChannel(request)
      }
    } onCancel: {
      later { $0.channelRequests[id]?.end(.failure(.cancelled)) }
    }
    return try result.get()
  }

  public func publishChannel(
    requiresEncryption: Bool = false
  ) async throws(RadioError) -> PublishedChannel {
    guard !isClosed else { throw .closed }
    guard let (psm, stream) = channels.publish(requiresEncryption: requiresEncryption) else {
      throw .tooManyChannels
    }
    let channels = LoopBound(channels, loop)
    let loop = loop
    let isOver = Once()
    return PublishedChannel(psm, stream) {
      // A second end must not end another that has the PSM by then.
      if isOver.isFirst { loop.execute { channels.value.unpublish(psm) } }
    }
  }
}
