import EventLoop
import Links

/// Takes the connections of an adapter's ATT channel. The loop's thread only; ``close()`` must be
/// called.
final class KernelListener: ReadinessHandler {
  /// Pause after the machine had no room for another connection.
  private static let pause: Duration = .milliseconds(100)

  private let listener: L2CAPListener
  private let loop: Loop
  private let deliver: (ConnectedLink) -> Void
  private var watch: WatchID?
  private var retry: OneTimer?

  /// - Throws: `link` if the socket cannot be had, `system` if it cannot be watched.
  init(
    _ source: L2CAPSource, on loop: Loop, _ deliver: @escaping (ConnectedLink) -> Void
  ) throws(RadioError) {
    self.loop = loop
    self.deliver = deliver
    do throws(LinkError) {
      listener = try L2CAPListener(source: source)
    } catch {
      throw .link(error)
    }
    guard let descriptor = listener.descriptor else { return }
    do throws(LoopError) {
      watch = try loop.watch(descriptor, self)
    } catch {
      throw .system("watch a descriptor", errno: error.errno)
    }
  }

  func ready(_ readiness: Readiness) { accept() }

  private func accept() {
    while watch != nil {
      do throws(LinkError) {
        guard let link = try listener.accept() else { return }
        // One whose peer has gone already has no address left, and is dropped.
        guard let peer = BluetoothAddress(link.peerName.dropFirst("le:".count)) else { continue }
        deliver(ConnectedLink(link, peer: peer, identity: "", isCentral: false, loop: loop))
      } catch {
        // No descriptors or memory: nobody tells when there are some again.
        retry = OneTimer(after: Self.pause, on: loop) { [weak self] in self?.accept() }
        return
      }
    }
  }

  func close() {
    retry?.cancel()
    guard let watch else { return }
    loop.unwatch(watch)
    self.watch = nil
    listener.close()
  }
}
