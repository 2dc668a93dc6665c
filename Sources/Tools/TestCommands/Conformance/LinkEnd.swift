import Atto
import AttoCommandLine

/// Ends links of the kernel's radio, so that each case and each attack has its own.
///
/// # Theory
/// All sockets to one device share a link, and the kernel keeps it for 2 s after the last of them was closed. ATT
/// has a fixed channel, so that the peer does not see when a socket is closed: it keeps ATT_MTU, configurations and
/// prepared parts, and sends late responses, which the next socket would receive. A management command ends the
/// link at once, for all programs. It requires CAP_NET_ADMIN; without it, this waits until the kernel has ended
/// the link.
final class LinkEnd {
  private let address: L2CAPAddress
  private let loop: Loop
  private var radio: Adapter?
  private var hasNoted = false
  /// Whether a connection uses the link.
  var isUsed = false

  /// nil unless the links of an endpoint are those of the kernel's radio.
  init?(_ endpoint: Endpoint, on loop: Loop) {
    guard case .le(let address) = endpoint else { return nil }
    (self.address, self.loop) = (address, loop)
  }

  /// Returns when the link, whose connection is closed, has ended.
  func end() async {
    isUsed = false
    if await isEnded() { return }
    try? await loop.sleep(for: L2CAPAddress.linkKeptTime)
  }

  /// False if the kernel does not end the link for this process.
  private func isEnded() async -> Bool {
    do throws(RadioError) {
      let radio =
        if let radio { radio } else { try await Adapter.kernel(address.source, loop: loop) }
      self.radio = radio
      try await radio.disconnect(address.peer)
      return true
    } catch {
      // The peer has ended it. The kernel may know the link by another address than a private one.
      if case .management(_, .notConnected, _) = error { return address.peer.isStable }
      if !hasNoted {
        Terminal.note(
          "each connection waits \(L2CAPAddress.linkKeptTime) until the kernel has ended the one before: "
            + "\(error)")
        Terminal.note(hintsFor: error)
      }
      hasNoted = true
      return false
    }
  }
}
