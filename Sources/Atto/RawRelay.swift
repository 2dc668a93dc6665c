import EventLoop
public import Links
import Radio

/// Which of the two links that a relay joins.
public enum RelaySide: String, Hashable, Sendable {
  /// The one that came.
  case client
  /// The one that was opened for it.
  case peer
}

/// How a client of a relay ended. Its link and the one to the peer are both closed by then.
///
/// `undelivered` counts PDUs that were told of and that the other side had no room for, at most one
/// for each direction. What the links' own queues held of a side that has gone is not known.
public enum RelayEnd: Equatable, Sendable {
  /// This side has closed its link in order; the other's was closed for it.
  case closed(by: RelaySide, undelivered: Int)
  /// The link of this side was lost.
  case lost(RelaySide, LinkError, undelivered: Int)
  /// A PDU from this side could not be passed on as it is.
  case notPassed(from: RelaySide, length: Int, LinkError)
  /// No link to the peer came to stand.
  case unreachable(AttoError)
  /// ``RawRelay/stop()``.
  case stopped

  func with(undelivered count: Int) -> RelayEnd {
    switch self {
    case .closed(let side, _): .closed(by: side, undelivered: count)
    case .lost(let side, let error, _): .lost(side, error, undelivered: count)
    case .notPassed, .unreachable, .stopped: self
    }
  }
}

/// What happens at a relay. Clients are numbered from 1.
public enum RelayEvent: Sendable {
  /// A client has come, from an end that its link calls so.
  case connected(client: Int, from: String)
  /// The link to the peer stands, and PDUs are passed.
  case joined(client: Int)
  /// A PDU has come: `sent` by the client, or `received` from the peer. It is passed on next.
  case pdu(client: Int, MonitoredPDU)
  /// A client and its peer are done with.
  case ended(client: Int, RelayEnd)
  /// Somebody who came could not be taken.
  case refused(AttoError)
  /// Nobody can come any more: the kernel's adapter was unplugged.
  case deaf(AttoError)
}

/// A place between clients and a peer: for each client that comes a link to the peer is opened, and
/// PDUs go from one to the other as they are, whatever they hold. For those who look at a dialogue
/// that is not theirs. Released, it ends.
///
/// Nothing is sent that a side has not sent: no exchange of ATT_MTU, no answers. Each direction keeps
/// its order, and a side that does not read holds back the other.
public final class RawRelay: Sendable {
  /// Octets of a PDU that is passed: the greatest ATT_MTU. Vol 3, Part F, 3.2.8.
  public static let longestPDU = 65_535
  /// Clients at a time.
  public static let clientLimit = 64

  /// Where clients are waited for, as people write it.
  public let endpoint: String
  /// What a person should know, see ``ServerListener/notice``.
  public let notice: String?
  private let listener: ServerListener
  private let core: LoopBound<RelayCore>

  private init(_ listener: ServerListener, _ core: RelayCore) {
    endpoint = listener.endpoint
    notice = listener.notice
    self.listener = listener
    self.core = LoopBound(core, core.loop)
  }

  deinit { stop() }

  /// Waits for clients at a place, and opens a link to the peer for each. One of the two may be a
  /// descriptor (`fd:`); then there is one client.
  ///
  /// - Parameters:
  ///   - options: of the links to the peer. `connectTimeout`, `security` and `sendBuffer` count; a
  ///     level of security is reached before anything goes to the peer.
  ///   - advertising: what the radio says of the place; used by `air:` and `le:` endpoints.
  ///   - agent: answers when clients pair, see
  ///     ``LocalServer/listen(on:options:advertising:agent:onFailure:onEnd:)``.
  ///   - adapter: the radio of links to the peer on the air; nil: each gets one of its own.
  ///   - onEvent: called on the loop. While it runs, nothing is passed.
  /// - Throws: `link` or `radio` if there is no listening there, `endpoint` if it is no such place,
  ///   or the peer none to connect to.
  public static func listen(
    on place: Endpoint, to peer: Endpoint, options: ConnectionOptions = ConnectionOptions(),
    advertising: AdvertisingParameters = AdvertisingParameters(AdvertisingData()),
    agent: (any PairingAgent)? = nil, adapter: (any Adapter)? = nil, loop: Loop = .shared,
    _ onEvent: @escaping @Sendable (RelayEvent) -> Void
  ) async throws(AttoError) -> RawRelay {
    switch peer {
    case .air(""), .leAny:
      throw .endpoint(EndpointError(text: peer.description, .noPeer))
    case .air, .le, .unix, .descriptor: break
    }
    let core = RelayCore(to: peer, options, adapter, on: loop, onEvent)
    let bound = LoopBound(core, loop)
    let reception = LinkReception(
      loop: loop, onFailure: { onEvent(.refused($0)) }, onEnd: { onEvent(.deaf($0)) }
    ) {
      (link) throws(AttoError) in try bound.value.take(link)
    }
    let listener = try await reception.listen(on: place, advertising: advertising, agent: agent)
    return RawRelay(listener, core)
  }

  /// Takes no more clients, and closes the links of those that there are.
  public func stop() {
    listener.stop()
    let core = core
    core.loop.inline { core.value.stop() }
  }
}

/// The clients of a relay. The loop's thread only.
private final class RelayCore {
  let loop: Loop
  private let peer: Endpoint
  private let options: ConnectionOptions
  private let adapter: (any Adapter)?
  private let onEvent: @Sendable (RelayEvent) -> Void
  /// One octet more tells a PDU that is too long.
  private let buffer = ReceiveBuffer(capacity: RawRelay.longestPDU + 1)
  private var last = 0
  private var pairs: [Int: RelayedPair] = [:]
  private var openings: [Int: Task<Void, Never>] = [:]
  private var isStopped = false

  init(
    to peer: Endpoint, _ options: ConnectionOptions, _ adapter: (any Adapter)?, on loop: Loop,
    _ onEvent: @escaping @Sendable (RelayEvent) -> Void
  ) {
    self.peer = peer
    self.options = options
    self.adapter = adapter
    self.loop = loop
    self.onEvent = onEvent
  }

  func take(_ link: any Link) throws(AttoError) {
    guard !isStopped else { return link.close() }
    guard pairs.count < RawRelay.clientLimit else {
      link.close()
      throw .tooManyClients(limit: RawRelay.clientLimit)
    }
    // A descriptor is one link, and its number may be another's when that has ended.
    if case .descriptor = peer, last > 0 {
      link.close()
      throw .tooManyClients(limit: 1)
    }
    last += 1
    let number = last
    let pair = RelayedPair(
      number, client: link, on: loop, buffer: buffer,
      onPDU: { [onEvent] in onEvent(.pdu(client: number, $0)) },
      onEnd: { [unowned self] in ended(number, $0) })
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
        try await peer.open(options, adapter, loop) { link in core.value.join(number, link) }
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
    onEvent(.joined(client: number))
    do throws(LoopError) {
      try pair.join(link)
    } catch {
      return .failure(.loop(error))
    }
    return .success(())
  }

  private func ended(_ number: Int, _ end: RelayEnd) {
    openings.removeValue(forKey: number)?.cancel()
    pairs[number] = nil
    onEvent(.ended(client: number, end))
  }

  func stop() {
    isStopped = true
    for pair in pairs.values.sorted(by: { $0.number < $1.number }) { pair.stop() }
  }
}
