import Atto
import AttoEventLoop
import AttoFormats
import AttoLinks
import AttoRadio

/// One of the two links that a relay joins.
package enum RelaySide: String, Hashable, Sendable {
  /// The client's link.
  case client
  /// The link that was opened to the peer.
  case peer
}

/// How a client of a relay ended. Both links are closed by then.
package enum RelayEnd: Equatable, Sendable {
  /// This side closed its link normally.
  case closed(by: RelaySide)
  /// The link of this side was lost.
  case lost(RelaySide, LinkError)
  /// A PDU from this side could not be passed on unchanged.
  case notPassed(from: RelaySide, length: Int, LinkError)
  /// The link to the peer could not be opened.
  case unreachable(AttoError)
  /// ``RawRelay/stop()``.
  case stopped
}

/// An event at a relay. Clients are numbered from 1.
package enum RelayEvent: Sendable {
  /// A client has connected; `from` is the name that its link gives the other end.
  case connected(client: Int, from: String)
  /// The link to the peer is open, and PDUs are passed. `addresses` are its radios'.
  case joined(client: Int, LinkAddresses?)
  /// A PDU has arrived: `sent` by the client, or `received` from the peer. It is passed on next.
  case pdu(client: Int, MonitoredPDU)
  /// A rule has changed what is passed on in place of the PDU that was reported last.
  case changed(client: Int, ChangedPDU)
  /// The links of a client have ended. `undelivered` counts PDUs that were reported and that the
  /// other side had no room for, at most one for each direction unless rules delay or repeat them.
  /// PDUs in the links' own queues are not counted.
  case ended(client: Int, RelayEnd, undelivered: Int)
  /// A client could not be accepted.
  case refused(AttoError)
  /// No more clients can connect: the kernel's adapter was unplugged.
  case deaf(AttoError)
}

/// A relay between clients and a peer, for watching their dialogue. For each client a link to the
/// peer is opened, and PDUs are passed from one to the other, valid or not: unchanged, but for what
/// rules say. The relay ends when it is released.
///
/// The relay sends nothing of its own: no exchange of ATT_MTU and no responses. Each direction
/// keeps its order, and a side that does not read holds back the other. A PDU is reported when it
/// arrives, not when it is passed on, because it shows what the side said.
package final class RawRelay: Sendable {
  /// The longest PDU that is passed, in octets: the greatest ATT_MTU. Vol 3, Part F, 3.2.8.
  package static let longestPDU = 65_535
  /// Clients at a time.
  package static let clientLimit = 64

  /// The endpoint that clients connect to, as text.
  package let endpoint: String
  /// A message for the user, see `ServerListener.notice`.
  package let notice: String?
  private let listener: ServerListener
  private let core: LoopBound<RelayCore>

  private init(_ listener: ServerListener, _ core: RelayCore) {
    endpoint = listener.endpoint
    notice = listener.notice
    self.listener = listener
    self.core = LoopBound(core, core.loop)
  }

  deinit { stop() }

  /// Listens for clients at `place` and opens a link to the peer for each. One of the two endpoints
  /// may be a descriptor (`fd:`); then there is one client.
  ///
  /// - Parameters:
  ///   - listening: for the links of the clients; what it says of connections is not used.
  ///   - options: for the links to the peer. Only `connectTimeout`, `security` and `sendBuffer` are
  ///     used. The security level is reached before anything is sent to the peer.
  ///   - adapter: the radio for links to an `air:` peer; nil for one radio for each link.
  ///   - changes: rules for what is passed on in place of what arrives; nil: everything as it is.
  ///   - onEvent: called on the loop. While it runs, nothing is passed.
  /// - Throws: `link` or `radio` if the relay cannot listen, `endpoint` if `place` is not an
  ///   endpoint to listen at, or `peer` not one to connect to.
  package static func listen(
    on place: Endpoint, _ listening: ListenOptions = ListenOptions(), to peer: Endpoint,
    options: ConnectionOptions = ConnectionOptions(), adapter: Adapter? = nil,
    changes: PDUChanges? = nil, loop: Loop = .shared,
    _ onEvent: @escaping @Sendable (RelayEvent) -> Void
  ) async throws(AttoError) -> RawRelay {
    switch peer {
    case .air("", _), .leAny:
      throw .endpoint(EndpointError(text: peer.description, .noPeer))
    case .air, .le, .unix, .descriptor: break
    }
    let core = RelayCore(to: peer, options, adapter, changes, on: loop, onEvent)
    let bound = LoopBound(core, loop)
    let reception = LinkReception(
      loop: loop, onFailure: { onEvent(.refused($0)) }, onEnd: { onEvent(.deaf($0)) }
    ) {
      (link) throws(AttoError) in try bound.value.accept(link)
    }
    let listener = try await reception.listen(on: place, listening)
    return RawRelay(listener, core)
  }

  /// Accepts no more clients and closes all links.
  package func stop() {
    listener.stop()
    let core = core
    core.loop.inline { core.value.stop() }
  }
}

/// The clients of a relay. Used on the loop's thread.
private final class RelayCore {
  let loop: Loop
  private let peer: Endpoint
  private let options: ConnectionOptions
  private let adapter: Adapter?
  private let changes: PDUChanges?
  private let onEvent: @Sendable (RelayEvent) -> Void
  /// One octet more reveals a PDU that is too long.
  private let buffer = ReceiveBuffer(capacity: RawRelay.longestPDU + 1)
  private var last = 0
  private var pairs: [Int: RelayedPair] = [:]
  private var openings: [Int: Task<Void, Never>] = [:]
  private var isStopped = false

  init(
    to peer: Endpoint, _ options: ConnectionOptions, _ adapter: Adapter?, _ changes: PDUChanges?,
    on loop: Loop, _ onEvent: @escaping @Sendable (RelayEvent) -> Void
  ) {
    self.peer = peer
    self.options = options
    self.adapter = adapter
    self.changes = changes
    self.loop = loop
    self.onEvent = onEvent
  }

  func accept(_ link: any Link) throws(AttoError) {
    guard !isStopped else { return link.close() }
    guard pairs.count < RawRelay.clientLimit else {
      link.close()
      throw .tooManyClients(limit: RawRelay.clientLimit)
    }
    // A descriptor is one link, and its number may be reused after that has ended.
    if case .descriptor = peer, last > 0 {
      link.close()
      throw .tooManyClients(limit: 1)
    }
    last += 1
    let number = last
    let pair = RelayedPair(
      number, client: link, on: loop, buffer: buffer, changes: changes,
      onPDU: { [onEvent] pdu, changed in
        onEvent(.pdu(client: number, pdu))
        if let changed { onEvent(.changed(client: number, changed)) }
      },
      onEnd: { [unowned self] in ended(number, $0, undelivered: $1) })
    pairs[number] = pair
    onEvent(.connected(client: number, from: pair.clientName))
    open(for: pair)
  }

  private func open(for pair: RelayedPair) {
    let number = pair.number
    let (peer, options, adapter, loop) = (peer, options, adapter, loop)
    let core = LoopBound(self, loop)
    openings[number] = Task(executorPreference: loop.tasks) {
      do throws(AttoError) {
        try await peer.open(options, adapter, loop) { link, _ in core.value.join(number, link) }
      } catch {
        loop.inline { core.value.pairs[number]?.stop(.unreachable(error)) }
      }
    }
  }

  private func join(_ number: Int, _ link: any Link) -> Result<Void, AttoError> {
    openings[number] = nil
    guard let pair = pairs[number] else {
      link.close()
      return .success(())
    }
    do throws(LinkError) {
      if let size = options.sendBuffer { try link.setSendBuffer(Int32(clamping: size)) }
      // Until the level is reached sending would block.
      if options.security > link.security.level { try link.raiseSecurity(to: options.security) }
    } catch {
      link.close()
      return .failure(.link(error))
    }
    onEvent(.joined(client: number, link.radioAddresses))
    do throws(LoopError) {
      try pair.join(link)
    } catch {
      return .failure(.loop(error))
    }
    return .success(())
  }

  private func ended(_ number: Int, _ end: RelayEnd, undelivered: Int) {
    openings.removeValue(forKey: number)?.cancel()
    pairs[number] = nil
    onEvent(.ended(client: number, end, undelivered: undelivered))
  }

  func stop() {
    isStopped = true
    for pair in pairs.values.sorted(by: { $0.number < $1.number }) { pair.stop() }
  }
}
