internal import Atto
import Foundation

/// The link to one peripheral, shared by all who want it in this process.
///
/// # Theory
///
///     idle --somebody wants it--> connecting --link, MTU--> open --ends--> idle
///       ^                             |
///       '--nobody wants it | refused--'
///
/// Connecting has no end of its own: what fails for now (nobody answers, the kernel's own time is
/// up) is tried again. It ends with a link, with a refusal, or when nobody wants it any more.
///
/// Once open it does some housekeeping beside what apps ask for: it subscribes to Service Changed
/// and reads the peer's name.
@RadioLoop final class PeerLink {
  /// Before a failed attempt is repeated.
  nonisolated static let pause: Duration = .milliseconds(500)
  /// Links in a row that may be lost before their first response.
  nonisolated static let lossLimit = 3
  /// Values that wait for an app before the peer is held back.
  nonisolated static let valueLimit = 1024

  let peer: BluetoothAddress
  private let station: Station
  var adapter: (any Adapter)? { station.adapter }
  private(set) var connection: Connection?
  private var users: [RemotePeripheral] = []
  private var waiting: [RemotePeripheral] = []
  private var attempt: (number: Int, task: Task<Void, Never>)?
  private var attempts = 0
  /// Who has subscribed to which value.
  private var subscribers: [AttributeHandle: [ObjectIdentifier]] = [:]
  private var serviceChanged: AttributeHandle?
  /// Values on their way to apps.
  private let undelivered = Guarded(0)
  private(set) var isHeldBack = false
  private(set) var dropped = 0

  /// How many values are on their way to apps.
  var undeliveredNow: Int { undelivered.value }

  init(_ peer: BluetoothAddress, on station: Station) {
    self.peer = peer
    self.station = station
  }

  // MARK: Wanting it

  func want(_ user: RemotePeripheral) {
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

  /// - Returns: whether it had the link.
  @discardableResult
  func leave(_ user: RemotePeripheral) -> Bool {
    waiting.removeAll { $0 === user }
    let hadLink = users.contains { $0 === user }
    users.removeAll { $0 === user }
    for handle in subscribers.keys { unsubscribe(user, handle) }
    if users.isEmpty, waiting.isEmpty {
      attempt?.task.cancel()
      attempt = nil
      if connection != nil { end(nil) }
    }
    return hadLink
  }

  // MARK: Connecting

  private func beginAttempt() {
    guard attempt == nil, let adapter = station.adapter else { return }
    attempts += 1
    let number = attempts
    let host = station.host
    let peer = peer
    let task = Task { @RadioLoop [weak self] in
      let result = await Self.connect(to: peer, with: adapter, host)
      self?.attemptEnded(number, result)
    }
    attempt = (number, task)
  }

  private static func connect(
    to peer: BluetoothAddress, with adapter: any Adapter, _ host: Hosting
  ) async -> Result<Connection, CBError> {
    var lost = 0
    while !Task.isCancelled {
      do throws(RadioError) {
        let link = try await adapter.connect(to: peer, timeout: nil)
        do throws(AttoError) {
          let connection = try host.serve(link)
          do throws(AttoError) {
            try await connection.exchangeMTU()
          } catch .refused {
            // The peer has only the smallest ATT_MTU.
          }
          return .success(connection)
        } catch {
          // A peer that was started again leaves us, for some seconds, the link of its former
          // run, which nobody serves any more.
          lost += 1
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

  private func attemptEnded(_ number: Int, _ result: Result<Connection, CBError>) {
    guard attempt?.number == number else {
      // Nobody wanted it any more; released, the connection is closed.
      return
    }
    attempt = nil
    switch result {
    case .success(let connection): opened(connection)
    case .failure(let error):
      let disappointed = waiting
      waiting = []
      for user in disappointed { user.failedToConnect(error) }
    }
  }

  private func opened(_ connection: Connection) {
    if let end = connection.endReasonNow {
      let disappointed = waiting
      waiting = []
      for user in disappointed { user.failedToConnect(ErrorMapping.disconnection(end)) }
      return
    }
    self.connection = connection
    let bound = LoopBound(WeakReference(self), RadioLoop.loop)
    connection.observeValues { handle, value in
      let octets = Data(value.owned)
      RadioLoop.assumeIsolated { bound.value.object?.receive(handle, octets) }
    }
    Task { @RadioLoop [weak self] in
      try? await connection.closed()
      let reason = await connection.endReason
      self?.connectionEnded(connection, reason)
    }
    users = waiting
    waiting = []
    for user in users { user.connected(mtu: connection.mtuNow) }
    ConnectedPeers.connected(station.identifier(of: peer), peer, station.choice)
    station.tellConnectionEvent(.peerConnected, peer)
    Task { @RadioLoop [weak self] in await self?.keepHouse(connection) }
  }

  // MARK: The end

  private func connectionEnded(_ ended: Connection, _ reason: AttoError?) {
    guard connection === ended else { return }
    end(reason ?? .disconnected(peer: ended.peerName))
  }

  /// Ends the link for everybody. nil: nobody is left.
  func end(_ reason: AttoError?) {
    attempt?.task.cancel()
    attempt = nil
    let left = users
    let disappointed = waiting
    users = []
    waiting = []
    subscribers = [:]
    serviceChanged = nil
    isHeldBack = false
    let ended = connection
    connection = nil
    ended?.observeValues(nil)
    ended?.close()
    if ended != nil {
      ConnectedPeers.disconnected(station.identifier(of: peer))
      station.tellConnectionEvent(.peerDisconnected, peer)
    }
    let error = ErrorMapping.disconnection(reason)
    for user in left { user.disconnected(error) }
    for user in disappointed { user.failedToConnect(error) }
  }

  // MARK: Values

  func subscribe(_ user: RemotePeripheral, _ handle: AttributeHandle) {
    unsubscribe(user, handle)
    subscribers[handle, default: []].append(ObjectIdentifier(user))
  }

  /// - Returns: whether nobody else is subscribed.
  @discardableResult
  func unsubscribe(_ user: RemotePeripheral, _ handle: AttributeHandle) -> Bool {
    subscribers[handle]?.removeAll { $0 == ObjectIdentifier(user) }
    guard subscribers[handle]?.isEmpty ?? true else { return false }
    subscribers[handle] = nil
    return true
  }

  func isSubscribed(_ user: RemotePeripheral, _ handle: AttributeHandle) -> Bool {
    subscribers[handle]?.contains(ObjectIdentifier(user)) ?? false
  }

  private func receive(_ handle: AttributeHandle, _ value: Data) {
    if handle == serviceChanged { return servicesChanged(value) }
    guard let ids = subscribers[handle] else { return }
    for user in users where ids.contains(ObjectIdentifier(user)) {
      let waiting = undelivered.withLock { count in
        count += 1
        return count
      }
      // Held back, a peer on a link with flow control comes nowhere near four times the limit.
      guard waiting <= Self.valueLimit * 4 else {
        undelivered.withLock { $0 -= 1 }
        dropped += 1
        if dropped & (dropped - 1) == 0 {
          Misuse.log("the app takes values too slowly: \(dropped) of \(peer) were dropped")
        }
        continue
      }
      user.receive(handle, value) { [weak self, undelivered] in
        let left = undelivered.withLock { count in
          count -= 1
          return count
        }
        if left == Self.valueLimit / 2 { RadioLoop.later { self?.holdBackIfNeeded() } }
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

  // MARK: Housekeeping

  /// Subscribes to Service Changed and reads the name. What fails is left: few peers have both.
  private func keepHouse(_ connection: Connection) async {
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
      try? await connection.write(configuration.handle, [2, 0])
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
