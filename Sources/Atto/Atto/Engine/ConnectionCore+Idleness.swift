import AttoATT
import AttoEventLoop
import AttoLinks

/// Clients that say nothing.
extension ConnectionCore {
  /// Whether the client has sent nothing, not even what waits to be received.
  var isSilent: Bool {
    receivedCount == 0 && !(link.descriptor.map(OwnedDescriptor.hasUnread) ?? false)
  }

  /// Ends the connection if its client has gone, which the next poll would report.
  func endIfDead() {
    guard process != nil, let descriptor = link.descriptor, OwnedDescriptor.isDead(descriptor)
    else { return }
    finish(.disconnected(peer: peerName))
  }

  /// Closes the connection when the client has sent nothing for this long, unless it has subscribed
  /// to a value then: a subscriber has nothing to say.
  func limitIdleness(to limit: Duration) {
    guard !hasEnded else { return }
    let left = limit - (now - (bearers?.lastHeard ?? lastHeard))
    let isSubscribed = session.client?.isSubscribed ?? false
    if left <= .zero, !isSubscribed {
      if let server { server.evict(self, .idle(for: limit)) } else { finish(.idle(for: limit)) }
      return
    }
    idleTimer = LoopTimer(after: left > .zero ? left : limit, on: loop) { [weak self] in
      self?.limitIdleness(to: limit)
    }
  }
}
