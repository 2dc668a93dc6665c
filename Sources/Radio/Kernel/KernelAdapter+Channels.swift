import EventLoop
import Glibc
public import Links

/// A PSM that the kernel listens at for this process.
struct KernelPublication {
  let acceptor: SocketAcceptor<(ChannelSocket, BluetoothAddress)>
  let sink: AsyncStream<Channel>.Continuation
}

/// Channels beside ATT. The kernel uses the link that there is to the peer, of whatever program,
/// and makes one where there is none; it encrypts, and pairs, where the peer refuses for want of
/// that.
extension KernelAdapter {
  public func openChannel(
    _ psm: UInt16, to peer: BluetoothAddress, timeout: Duration = .seconds(30)
  ) async throws(RadioError) -> Channel {
    let id = nextID()
    let result: Result<Channel, RadioError> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        // One step, after any await has let others go first.
        if let end { return continuation.resume(returning: .failure(end)) }
        guard !Task.isCancelled else { return continuation.resume(returning: .failure(.cancelled)) }
        let source = address.value == 0 ? L2CAPSource.any : .adapter(index)
        let attempt = LinkAttempt(
          on: loop, timeout: timeout,
          { () throws(LinkError) in
            try ChannelConnector(L2CAPAddress(peer, source: source), psm: psm)
          },
          completion: { [weak self, loop] end in
            let isRefused =
              if case .failed(let error) = end { error.errno == ECONNREFUSED } else { false }
            let (reason, answer): (RadioError?, ChannelRefusal?) =
              self?.assumeIsolated {
                $0.channelAttempts[id] = nil
                guard isRefused else { return ($0.end, nil) }
                return ($0.end, $0.monitor?.takeRefusal(by: peer))
              } ?? (nil, nil)
            let failure: RadioError
            switch end {
            case .connected(let socket):
              do throws(RadioError) {
                let channel = try Channel(socket, peer: peer, psm: psm, on: loop)
                return continuation.resume(returning: .success(channel))
              } catch {
                failure = error
              }
            case .failed(let error): failure = Self.refusal(error, answer, peer, psm)
            case .unwatched(let error): failure = .system("watch a channel", errno: error.errno)
            case .timedOut(let time): failure = .timedOut(peer, after: time)
            case .givenUp: failure = reason ?? .cancelled
            }
            continuation.resume(returning: .failure(failure))
          })
        if channelAttempts.isEmpty { monitor?.forgetRefusals() }
        channelAttempts[id] = attempt
        attempt.start()
      }
    } onCancel: {
      later { $0.channelAttempts[id]?.giveUp() }
    }
    if case .failure(.channelRefused(_, _, let refusal)) = result, refusal.isForSecurity,
      let failure = await pairingFailure(of: peer, within: .milliseconds(200))
    {
      // The kernel has tried to pair for it, and that says more.
      throw .pairing(peer, failure)
    }
    return try result.get()
  }

  /// What a socket was told, by whatever the peer had answered.
  static func refusal(
    _ error: LinkError, _ answer: ChannelRefusal?, _ peer: BluetoothAddress, _ psm: UInt16
  ) -> RadioError {
    switch error.errno {
    case ECONNREFUSED: .channelRefused(peer, psm: psm, answer ?? .unspecified)
    case EACCES: .channelRefused(peer, psm: psm, .insufficientEncryption)
    default: .link(error)
    }
  }

  public func publishChannel(
    requiresEncryption: Bool = false
  ) async throws(RadioError) -> PublishedChannel {
    if let end { throw end }
    let source = address.value == 0 ? L2CAPSource.any : .adapter(index)
    let listener: ChannelListener
    do throws(LinkError) {
      listener = try ChannelListener(
        source: source, options: ChannelOptions(security: requiresEncryption ? .medium : .low))
    } catch {
      throw .link(error)
    }
    let psm = listener.psm
    let (stream, sink) = AsyncStream<Channel>.makeStream(
      bufferingPolicy: .bufferingOldest(PublishedChannel.queueLimit))
    do throws(LoopError) {
      let acceptor = try SocketAcceptor(
        listener.descriptor, on: loop,
        next: { () throws(LinkError) in try listener.accept() }, close: { listener.close() }
      ) { [loop] (socket: ChannelSocket, peer: BluetoothAddress) in
        // One that there is no room for is let go, and closes.
        guard let channel = try? Channel(socket, peer: peer, psm: psm, on: loop) else { return }
        sink.yield(channel)
      }
      channelAcceptors[psm] = KernelPublication(acceptor: acceptor, sink: sink)
    } catch {
      throw .system("watch a descriptor", errno: error.errno)
    }
    let isOver = Once()
    return PublishedChannel(psm, stream) { [weak self] in
      if isOver.isFirst { self?.later { $0.unpublish(psm) } }
    }
  }

  func unpublish(_ psm: UInt16) {
    guard let publication = channelAcceptors.removeValue(forKey: psm) else { return }
    publication.acceptor.stop()
    publication.sink.finish()
  }
}
