import CLinux

/// A listening socket and what keeps it going when descriptors run out.
///
/// With edge-triggered readiness an accept that fails with EMFILE would leave the connection in
/// the queue with no further event; level-triggered it would spin. So one descriptor is held in
/// reserve: it is closed, the connection taken and closed at once, the reserve reopened.
struct AcceptQueue: ~Copyable {
  private let listening: OwnedDescriptor
  private var reserve: OwnedDescriptor?
  private(set) var refused = 0
  /// Why the last of those was refused.
  private(set) var refusal: LinkError?

  /// In one call; more die in the queue only under attack, and the rest is for the next turn.
  private static let attempts = 64

  init(_ listening: consuming OwnedDescriptor) {
    self.listening = listening
    reserve = AcceptQueue.openReserve()
  }

  var descriptor: Int32 { listening.rawValue }

  /// `accept` is the system call, but for a test that runs out of descriptors.
  mutating func accept(
    endpoint: String, calling accept: (Int32) -> Int32 = clinux_accept
  ) throws(LinkError) -> OwnedDescriptor? {
    var result: Int32 = 0
    for _ in 0..<AcceptQueue.attempts {
      result = accept(listening.rawValue)
      if result >= 0 { return OwnedDescriptor(owning: result) }
      switch -result {
      case EAGAIN:
        if reserve == nil { reserve = AcceptQueue.openReserve() }
        return nil
      case EINTR: continue
      // Errors of the connection, not of the listener: accept(2) tells to go on.
      case ECONNABORTED, EPROTO, ENETDOWN, EHOSTDOWN, ENETUNREACH, EHOSTUNREACH: continue
      case EMFILE, ENFILE:
        let error = LinkError(.accept, result: result, endpoint: endpoint)
        guard reserve != nil else { throw error }
        reserve = nil
        result = accept(listening.rawValue)
        if result >= 0 {
          _ = OwnedDescriptor(owning: result)
          refused += 1
          refusal = error
        }
        reserve = AcceptQueue.openReserve()
        // The kernel wants a descriptor before it looks whether anybody waits.
        if result == -EAGAIN { return nil }
        if result == -ENFILE || result == -EMFILE {
          // Another took the one that was given back.
          throw LinkError(.accept, result: result, endpoint: endpoint)
        }
      default:
        throw LinkError(.accept, result: result, endpoint: endpoint)
      }
    }
    throw LinkError(.accept, .system(EAGAIN), endpoint: endpoint)
  }

  private static func openReserve() -> OwnedDescriptor? {
    let result = clinux_open("/dev/null", O_RDONLY, 0)
    return result >= 0 ? OwnedDescriptor(owning: result) : nil
  }
}
