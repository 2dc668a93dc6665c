package import AttoEventLoop
package import AttoLinks
import Synchronization

/// The kernel's socket at the SPSM of enhanced bearers, of one adapter and one loop. It is open as long
/// as anybody holds it.
///
/// A channel belongs to the link with the same addresses. One that comes before the acceptance of its
/// link, because both were ready in one turn of the loop, waits for it for ``waitTime``.
package final class EnhancedListener: Sendable {
  /// Channels that wait at a time, and how long.
  static let waitLimit = 16
  static let waitTime: Duration = .seconds(2)

  private static let held = Mutex<[Held]>([])

  private struct Held {
    weak var listener: EnhancedListener?
  }

  private let source: L2CAPSource
  private let loop: Loop
  private let core: LoopBound<Core>

  private init(_ source: L2CAPSource, mtu: Int, on loop: Loop) throws(RadioError) {
    self.source = source
    self.loop = loop
    core = LoopBound(try Core(source, mtu: mtu, on: loop), loop)
  }

  deinit {
    let core = core
    loop.execute { core.value.stop() }
  }

  /// The listener of an adapter, which is opened if there is none. The loop's thread only.
  ///
  /// - Throws: `link`, or `system` if the socket cannot be watched.
  package static func hold(
    _ source: L2CAPSource, mtu: Int, on loop: Loop
  ) throws(RadioError) -> EnhancedListener {
    let source = source.byAddress
    let known = held.withLock { entries in
      entries.removeAll { $0.listener == nil }
      return entries.compactMap(\.listener).first {
        $0.loop === loop && ($0.source == source || $0.source == .any)
      }
    }
    if let known { return known }
    let listener = try EnhancedListener(source, mtu: mtu, on: loop)
    held.withLock { $0.append(Held(listener: listener)) }
    return listener
  }

  /// Delivers the channels of a link's peer to an acceptance, which holds the listener.
  func add(_ acceptance: EnhancedAcceptance, beside link: any Link) {
    acceptance.listener = self
    core.value.add(acceptance, link)
  }
}

extension EnhancedListener {
  private final class Core {
    private struct Entry {
      weak var acceptance: EnhancedAcceptance?
      weak var link: (any Link)?

      var isOver: Bool { acceptance?.isOpen != true || link?.descriptor == nil }
    }

    private let loop: Loop
    private let mtu: Int
    private var acceptor: LinkAcceptor?
    private var entries: [Entry] = []
    private var waiting: [(link: SocketLink, timer: LoopTimer)] = []

    init(_ source: L2CAPSource, mtu: Int, on loop: Loop) throws(RadioError) {
      self.loop = loop
      self.mtu = mtu
      let listener: SocketListener<SocketLink>
      do throws(LinkError) {
        listener = try SocketListener.enhanced(source, mtu: UInt16(clamping: mtu))
      } catch {
        throw .link(error)
      }
      do throws(LoopError) {
        acceptor = try LinkAcceptor(listener, on: loop) { [weak self] in self?.accepted($0) }
      } catch {
        throw RadioError(error)
      }
    }

    func add(_ acceptance: EnhancedAcceptance, _ link: any Link) {
      entries.removeAll(where: \.isOver)
      entries.append(Entry(acceptance: acceptance, link: link))
      let known = waiting
      waiting = []
      for (link, timer) in known {
        timer.cancel()
        accepted(link)
      }
    }

    private func accepted(_ channel: SocketLink) {
      guard let ends = channel.radioAddresses else { return channel.close() }
      entries.removeAll(where: \.isOver)
      let entry = entries.first { $0.link?.radioAddresses == ends }
      guard let acceptance = entry?.acceptance else { return wait(channel) }
      // Another acceptance opened the socket, with a smaller MTU.
      if acceptance.mtu > mtu { try? channel.raiseReceiveMTU(to: acceptance.mtu) }
      acceptance.accept(channel)
    }

    private func wait(_ channel: SocketLink) {
      guard waiting.count < EnhancedListener.waitLimit else { return channel.close() }
      let timer = LoopTimer(after: EnhancedListener.waitTime, on: loop) { [weak self] in
        channel.close()
        self?.waiting.removeAll { $0.link === channel }
      }
      waiting.append((channel, timer))
    }

    func stop() {
      acceptor?.stop()
      acceptor = nil
      for (link, timer) in waiting {
        timer.cancel()
        link.close()
      }
      waiting = []
    }
  }
}
