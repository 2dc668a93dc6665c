internal import Atto
import AttoEventLoop
import AttoGATT
import Foundation

/// A user of a ``SharedLink``: the loop's side of a peripheral of one manager.
@RadioLoop protocol LinkUser: AnyObject {
  func connected(mtu: Int)
  func failedToConnect(_ error: CBError)
  /// The link has ended, and not because of this user.
  func disconnected(_ error: CBError)
  func named(_ name: String)
  func servicesChanged(_ range: ClosedRange<UInt16>)
  /// - Parameter delivered: called when the app has the value, or cannot get it.
  func receive(
    _ handle: AttributeHandle, _ value: Data, _ delivered: @escaping @Sendable () -> Void)
}

/// The link to one peripheral, shared by its users in this process.
///
/// # Theory
///
///     idle --first user--> connecting --link, MTU--> open --ends--> idle
///       ^                      |
///       '--no user | refused---'
///
/// Connecting has no timeout. A temporary failure (no answer, the kernel's own timeout) leads to
/// another attempt. It ends with a link, with a refusal, or when the last user leaves.
///
/// After a link on which nothing answered, the next attempt waits for its end: see ``SilentLinks``.
///
/// An open link also subscribes to Service Changed and reads the peer's name.
@RadioLoop final class SharedLink {
  /// Time between two attempts.
  nonisolated static let pause: Duration = .milliseconds(500)
  /// Links in a row that may be lost before their first response.
  nonisolated static let lossLimit = 3
  /// Values on their way to apps before the peer is held back.
  nonisolated static let valueLimit = 1024

  let peer: BluetoothAddress
  private let radio: RadioContext
  var adapter: Adapter? { radio.adapter }
  private(set) var connection: Connection?
  private var users: [any LinkUser] = []
  private var waiting: [any LinkUser] = []
  private var attempt: Task<Void, Never>?
  let subscriptions = SharedSubscriptions<ObjectIdentifier>(on: RadioLoop.loop)
  private var serviceChanged: AttributeHandle?
  /// The number of values on their way to apps.
  let undelivered = Locked(0)
  private(set) var isHeldBack = false
  private(set) var dropped = 0

  init(_ peer: BluetoothAddress, on radio: RadioContext) {
    self.peer = peer
    self.radio = radio
  }

  // MARK: Users

  func join(_ user: any LinkUser) {
    guard !users.contains(where: { $0 === user }), !waiting.contains(where: { $0 === user }) else {
      return
    }
    guard let connection else {
      waiting.append(user)
      return beginAttempt()
    }
    users.append(user)
    user.connected(mtu: connection.mtuNow)
  }

  func leave(_ user: any LinkUser) {
    waiting.removeAll { $0 === user }
    users.removeAll { $0 === user }
    let id = ObjectIdentifier(user)
    subscriptions.here { _ = $0.leave(id) }
    if users.isEmpty, waiting.isEmpty {
      attempt?.cancel()
      attempt = nil
      if connection != nil { end(nil) }
    }
  }

  // MARK: Connecting

  private func beginAttempt() {
    guard attempt == nil, let adapter = radio.adapter else { return }
    attempt = Task { @RadioLoop [weak self, peer, host = radio.host, silent = radio.silentLinks] in
      let result = await Self.connect(to: peer, with: adapter, host, silent)
      // If the last user has left, the attempt is cancelled. Releasing the connection closes it.
      if !Task.isCancelled { self?.attemptEnded(result) }
    }
  }

  private static func connect(
    to peer: BluetoothAddress, with adapter: Adapter, _ host: PeripheralHost,
    _ silent: SilentLinks
  ) async -> Result<Connection, CBError> {
    var lost = 0
    while !Task.isCancelled {
      await silent.end(with: peer, on: adapter)
      if Task.isCancelled { break }
      do throws(RadioError) {
        let link = try await adapter.connect(to: peer, timeout: nil)
        do throws(AttoError) {
          let connection = try host.serve(link)
          do throws(AttoError) {
            try await connection.exchangeMTU()
          } catch .refused {
            // The peer supports only the default MTU.
          }
          return .success(connection)
        } catch {
          // After a restart of the peer, the link of its former run remains for some seconds,
          // and nothing answers on it.
          lost += 1
          silent.closed(with: peer, error)
          if lost > Self.lossLimit { return .failure(ErrorMapping.disconnection(error)) }
          try? await Task.sleep(for: pause)
        }
      } catch {
        switch error {
        case .link, .timedOut, .notFound, .notConnectable, .refused(_, .connectionTimeout),
          .refused(_, .failedToBeEstablished), .refused(_, .connectionAlreadyExists):
          try? await Task.sleep(for: pause)
        default: return .failure(ErrorMapping.connecting(error))
        }
      }
    }
    return .failure(CBError(.operationCancelled))
  }

  private func attemptEnded(_ result: Result<Connection, CBError>) {
    attempt = nil
    switch result {
    case .success(let connection): opened(connection)
    case .failure(let error): failWaiting(error)
    }
  }

  private func failWaiting(_ error: CBError) {
    let failed = waiting
    // First: a user that is told may join again.
    waiting = []
    for user in failed { user.failedToConnect(error) }
  }

  private func opened(_ connection: Connection) {
    if let end = connection.endReasonNow { return failWaiting(ErrorMapping.disconnection(end)) }
    self.connection = connection
    subscriptions.here { $0.begin(connection) }
    let bound = LoopBound(WeakReference(self), RadioLoop.loop)
    connection.observeValues { handle, value in
      let octets = Data(value.owned)
      RadioLoop.assumeIsolated { bound.value.object?.receive(handle, octets) }
    }
    Task { @RadioLoop [weak self, peer, adapter] in
      try? await connection.waitUntilClosed()
      let reason = await connection.endReason
      // Only then: the kernel tells it late.
      let isRefused = if case .link(let error) = reason { error.errno == EACCES } else { false }
      let failure = isRefused ? await adapter?.pairingFailure(of: peer, within: .seconds(1)) : nil
      self?.connectionEnded(connection, reason, failure)
    }
    users = waiting
    waiting = []
    for user in users { user.connected(mtu: connection.mtuNow) }
    KnownPeers.connected(radio.identifier(of: peer), peer, radio.choice)
    radio.tellConnectionEvent(.peerConnected, peer)
    Task { @RadioLoop [weak self] in await self?.readPeerInformation(connection) }
  }

  // MARK: The end

  private func connectionEnded(
    _ ended: Connection, _ reason: AttoError?, _ failure: PairingFailure?
  ) {
    guard connection === ended else { return }
    end(reason ?? .disconnected(peer: ended.peerName), failure)
  }

  /// Ends the link for all users.
  ///
  /// - Parameters:
  ///   - reason: nil: no user is left.
  ///   - failure: how pairing failed, if that has ended the link.
  func end(_ reason: AttoError?, _ failure: PairingFailure? = nil) {
    attempt?.cancel()
    attempt = nil
    let (left, failed) = (users, waiting)
    (users, waiting) = ([], [])
    subscriptions.here { $0.end(forgetting: true) }
    serviceChanged = nil
    isHeldBack = false
    let ended = connection
    connection = nil
    ended?.observeValues(nil)
    ended?.close()
    if ended != nil {
      radio.silentLinks.closed(with: peer, reason)
      KnownPeers.disconnected(radio.identifier(of: peer))
      radio.tellConnectionEvent(.peerDisconnected, peer)
    }
    let error =
      failure.map { ErrorMapping.disconnection($0) } ?? ErrorMapping.disconnection(reason)
    for user in left { user.disconnected(error) }
    for user in failed { user.failedToConnect(error) }
  }

  // MARK: Values

  func isSubscribed(_ user: any LinkUser, _ handle: AttributeHandle) -> Bool {
    subscriptions.users(of: handle)[ObjectIdentifier(user)] != nil
  }

  private func receive(_ handle: AttributeHandle, _ value: Data) {
    if handle == serviceChanged { return servicesChanged(value) }
    let ids = subscriptions.users(of: handle)
    for user in users where ids[ObjectIdentifier(user)] != nil {
      // A peer that is held back cannot reach four times the limit on a link with flow control.
      guard undelivered.add(1) <= Self.valueLimit * 4 else {
        undelivered.add(-1)
        dropped += 1
        if dropped & (dropped - 1) == 0 {
          Warning.log("dropped \(dropped) values of \(peer): the app handles them too slowly")
        }
        continue
      }
      user.receive(handle, value) { [weak self, undelivered] in
        if undelivered.add(-1) == Self.valueLimit / 2 {
          RadioLoop.later { self?.holdBackIfNeeded() }
        }
      }
    }
    holdBackIfNeeded()
  }

  private func holdBackIfNeeded() {
    let count = undelivered.value
    let shouldHold = isHeldBack ? count > Self.valueLimit / 2 : count >= Self.valueLimit
    guard shouldHold != isHeldBack, let connection else { return }
    isHeldBack = shouldHold
    connection.holdBack(shouldHold)
  }

  // MARK: Service Changed and the name

  /// Subscribes to Service Changed and reads the name. Failures are ignored: few peers have both.
  private func readPeerInformation(_ connection: Connection) async {
    if let services = try? await connection.perform(DiscoverPrimaryServicesByUUID(0x1801)),
      let service = services.first, let range = service.range,
      let found = try? await connection.perform(DiscoverCharacteristics(in: range)),
      let changed = found.first(where: { $0.uuid == 0x2A05 }),
      let places = changed.descriptorRange,
      let descriptors = try? await connection.perform(DiscoverDescriptors(in: places)),
      let configuration = descriptors.first(where: { $0.uuid == 0x2902 })
    {
      guard self.connection === connection else { return }
      serviceChanged = changed.valueHandle
      try? await subscriptions.set(
        .indication, of: changed.valueHandle, at: configuration.handle,
        for: ObjectIdentifier(self))
    }
    let names = try? await connection.read(uuid: 0x2A00)
    guard self.connection === connection, let name = names?.values.first?.octets, !name.isEmpty
    else {
      return
    }
    for user in users { user.named(String(decoding: name, as: UTF8.self)) }
  }

  private func servicesChanged(_ value: Data) {
    guard value.count >= 4 else { return }
    let octets = Array(value)
    let start = UInt16(octets[0]) | UInt16(octets[1]) << 8
    let end = UInt16(octets[2]) | UInt16(octets[3]) << 8
    guard start > 0, start <= end else { return }
    for user in users { user.servicesChanged(start...end) }
  }
}
