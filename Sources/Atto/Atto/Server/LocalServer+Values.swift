import AttoATT
import AttoEventLoop
import AttoGATT

/// The outcome of sending a value to subscribed clients.
public struct Delivered: Equatable, Sendable {
  /// Clients to which it was sent, or that confirmed it.
  public var count = 0
  /// Clients whose connection ended, or that did not confirm in time.
  public var failures = 0
  /// Clients whose link had no room, and that do not get the value (only with
  /// ``LocalServer/notifyIfRoom(_:of:to:)``).
  public var blocked = 0
  /// Clients whose link had no room, and for which the value is kept.
  public var kept = 0
  /// Clients among ``kept`` that have lost older values for it. See ``ConnectionOptions/backlog``.
  public var overflowed = 0
  /// Clients that get only the first ATT_MTU - 3 octets, because their ATT_MTU is too small for the
  /// value. They are counted in ``count`` or ``kept`` too, and can read the rest.
  public var cut = 0
}

extension LocalServer {
  /// Sends a value to the clients that have subscribed to its notifications. Vol 3, Part G, 4.10.
  ///
  /// Returns when the value was sent to those that have room. For the others it is kept, behind earlier
  /// ones, and sent when they have: see ``ConnectionOptions/backlog``, which limits what is kept. So
  /// the sender is as fast as the fastest client. While no client has room it waits, which may be for
  /// ever on Unix sockets and simulated radios if none reads; to one client every value is sent.
  ///
  /// The value is cut at each client's ATT_MTU - 3. An indication can overtake values that are kept.
  ///
  /// - Throws: `cancelled`, and nothing else. A client whose connection ends meanwhile is counted in
  ///   ``Delivered``.
  @discardableResult
  public func notify(
    _ value: [UInt8], of handle: AttributeHandle, to client: ClientID? = nil
  ) async throws(AttoError) -> Delivered {
    // Not `valueHere`, which would retain and release the core.
    let atOnce: (count: Int, cut: Int, isLongAtIt: Bool)? = core.here { core in
      guard let count = core.notifyAtOnce(handle, value.span.bytes, to: client) else { return nil }
      return (count, core.cuts(value.count, of: handle, to: client), core.unwaited.note())
    }
    if let atOnce {
      // A caller that sends without pause must let other work run.
      if atOnce.isLongAtIt { await loop.yield() }
      return Delivered(count: atOnce.count, cut: atOnce.cut)
    }
    return try await notifyWhenThereIsRoom(handle, value, to: client)
  }

  /// A function of its own, so that calls that do not wait have less to prepare.
  private func notifyWhenThereIsRoom(
    _ handle: AttributeHandle, _ value: [UInt8], to client: ClientID?
  ) async throws(AttoError) -> Delivered {
    let clients: [ClientID] = try await onLoop { core in
      core.subscribers(of: handle, .notification, client)
    }
    while true {
      let delivered: Delivered? = try await onLoop { core in
        core.deliver(handle, value.span.bytes, to: clients)
      }
      if let delivered { return delivered }
      let core = core
      try await loop.withWaiter { (waiter: Waiter<Void, AttoError>) in
        core.value.awaitRoom(among: clients, forValuesOf: handle, waiter)
      }
    }
  }

  /// Notifies the subscribed clients whose links have room, without waiting. The others do not get
  /// this value and are counted in ``Delivered/blocked``. Vol 3, Part G, 4.10.
  ///
  /// For values of which only the newest matters: nothing is kept for a client.
  ///
  /// - Throws: `cancelled`, and nothing else.
  @discardableResult
  public func notifyIfRoom(
    _ value: [UInt8], of handle: AttributeHandle, to client: ClientID? = nil
  ) async throws(AttoError) -> Delivered {
    try await onLoop { core in
      let targets = core.subscribers(of: handle, .notification, client)
      let (sent, cut, blocked) = core.notify(handle, value.span.bytes, to: targets)
      return Delivered(
        count: sent, failures: targets.count - sent - blocked.count, blocked: blocked.count,
        cut: cut)
    }
  }

  /// Sends several values in one PDU to a client that supports it (Multiple Handle Value
  /// Notification), or one after another to a client that does not. Vol 3, Part G, 4.10.2.
  ///
  /// A client that has disconnected, or has not subscribed to a value, does not get it.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func notify(
    _ values: [(handle: AttributeHandle, value: [UInt8])], to client: ClientID
  ) async throws(AttoError) {
    let isSent: Bool = try await onLoop { core in
      guard let connection = core.connection(client),
        values.allSatisfy({ value in
          !core.subscribers(of: value.handle, .notification, client).isEmpty
        }), let carrier = connection.carrier(ofValues: values.map(\.handle))
      else { return false }
      defer { carrier.settle() }
      return carrier.backlog == nil && carrier.session.notify(values)
    }
    if isSent { return }
    for value in values { try await notify(value.value, of: value.handle, to: client) }
  }

  /// Sends a notification on the loop, without waiting: for handlers and observers. Clients whose
  /// link has no room are skipped and counted.
  ///
  /// Traps off the loop's thread.
  @discardableResult
  public func notifyNow(_ value: RawSpan, of handle: AttributeHandle) -> Delivered {
    let core = core.value(in: #function)
    let targets = core.subscribers(of: handle, .notification, nil)
    let (sent, cut, _) = core.notify(handle, value, to: targets)
    return Delivered(count: sent, failures: targets.count - sent, cut: cut)
  }
}

extension ServerCore {
  /// The common case of ``LocalServer/notify(_:of:to:)``: notifies all subscribed clients if each has
  /// room, and returns their number. Allocates nothing. Otherwise returns nil and sends nothing.
  func notifyAtOnce(
    _ handle: AttributeHandle, _ value: RawSpan, to only: ClientID?
  ) -> Int? {
    // Most devices have one client at a time.
    if connections.count == 1 {
      return connections[0].notifyAtOnce(handle, value, only)
    }
    var targets: [BearerCore] = []
    swap(&targets, &spareTargets)
    defer {
      targets.removeAll(keepingCapacity: true)
      swap(&targets, &spareTargets)
    }
    for connection in connections where connection.wants(handle, .notification, only) {
      let carrier = connection.carrier(ofValues: handle)
      guard carrier.hasRoomForValues else { return nil }
      targets.append(carrier)
    }
    for carrier in targets {
      _ = carrier.session.notify(handle, value)
      carrier.settleLater()
    }
    return targets.count
  }

  /// The clients that have subscribed to a value in this way.
  func subscribers(
    of handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration, _ only: ClientID?
  ) -> [ClientID] {
    var ids: [ClientID] = []
    for connection in connections where connection.wants(handle, kind, only) {
      if let client = connection.session.client { ids.append(client.id) }
    }
    return ids
  }

  /// The subscribed clients for whose ATT_MTU a value of so many octets is too long.
  func cuts(_ count: Int, of handle: AttributeHandle, to only: ClientID?) -> Int {
    // No ATT_MTU is too small for 20.
    guard count > 20 else { return 0 }
    return connections.count {
      $0.cuts(count, of: handle) && $0.wants(handle, .notification, only)
    }
  }

  /// Notifies each client whose link has room. Returns their number, the number of those for which
  /// the value was cut, and the clients whose link has no room. The others have disconnected.
  func notify(
    _ handle: AttributeHandle, _ value: RawSpan, to clients: [ClientID]
  ) -> (sent: Int, cut: Int, blocked: [ClientID]) {
    var sent = 0
    var cut = 0
    var blocked: [ClientID] = []
    for id in clients {
      guard let carrier = connection(id)?.carrier(ofValues: handle) else { continue }
      if carrier.backlog == nil, carrier.session.notify(handle, value) {
        sent += 1
        if carrier.cuts(value.byteCount) { cut += 1 }
      } else {
        blocked.append(id)
      }
      carrier.settle()
    }
    return (sent, cut, blocked)
  }

  /// Sends a value to the clients that have room, and keeps it for the others. nil, and nothing sent,
  /// if some are to be awaited first.
  func deliver(
    _ handle: AttributeHandle, _ value: RawSpan, to clients: [ClientID]
  ) -> Delivered? {
    guard awaited(among: clients, forValuesOf: handle).isEmpty else { return nil }
    var delivered = Delivered()
    for id in clients {
      guard let carrier = connection(id)?.carrier(ofValues: handle) else {
        delivered.failures += 1
        continue
      }
      let isCut = carrier.cuts(value.byteCount)
      if carrier.backlog == nil, carrier.session.notify(handle, value) {
        carrier.settle()
        delivered.count += 1
      } else if let limits = carrier.options.backlog,
        let isOverflow = carrier.keep(handle, value, within: limits)
      {
        delivered.kept += 1
        if isOverflow { delivered.overflowed += 1 }
      } else {
        delivered.failures += 1
        continue
      }
      if isCut { delivered.cut += 1 }
    }
    return delivered
  }

  /// The clients whose room a sender waits for: all if none has any, otherwise those for which nothing
  /// is kept.
  private func awaited(
    among clients: [ClientID], forValuesOf handle: AttributeHandle
  ) -> [ClientID] {
    var blocked: [ClientID] = []
    var strict: [ClientID] = []
    var isRoom = false
    for id in clients {
      guard let carrier = connection(id)?.carrier(ofValues: handle) else { continue }
      if carrier.hasRoomForValues {
        isRoom = true
      } else {
        blocked.append(id)
        if carrier.options.backlog == nil { strict.append(id) }
      }
    }
    return isRoom ? strict : blocked
  }

  /// Resumes a sender when ``deliver(_:_:to:)`` is worth another try.
  func awaitRoom(
    among clients: [ClientID], forValuesOf handle: AttributeHandle,
    _ waiter: Waiter<Void, AttoError>
  ) {
    let awaited = awaited(among: clients, forValuesOf: handle)
    guard !awaited.isEmpty else { return waiter.resume(.success(())) }
    for id in awaited { connection(id)?.carrier(ofValues: handle).awaitsRoom = true }
    roomWaiters.append(waiter, for: awaited)
  }

  /// A client has room for values, or has disconnected.
  func clientHasRoom(_ client: ClientID) {
    guard !roomWaiters.isEmpty else { return }
    roomWaiters.resume(.success(())) { $0.contains(client) }
  }
}

extension LocalServer {
  /// Whether any client has subscribed to this value, in either way.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func hasSubscribers(to handle: AttributeHandle) async throws(AttoError) -> Bool {
    try await onLoop { core in
      !core.subscribers(of: handle, .notification, nil).isEmpty
        || !core.subscribers(of: handle, .indication, nil).isEmpty
    }
  }
}

extension ConnectionCore {
  /// ``ServerCore/notifyAtOnce(_:_:to:)`` for this client: 1, 0 if it has not subscribed, nil if it
  /// has no room. A function of the connection, which need not retain its own parts.
  fileprivate func notifyAtOnce(
    _ handle: AttributeHandle, _ value: RawSpan, _ only: ClientID?
  ) -> Int? {
    guard wants(handle, .notification, only) else { return 0 }
    if bearers != nil {
      let carrier = carrier(ofValues: handle)
      guard carrier.backlog == nil, carrier.session.notify(handle, value) else { return nil }
      carrier.settleLater()
      return 1
    }
    guard backlog == nil, session.notify(handle, value) else { return nil }
    settleLater()
    return 1
  }

  /// Whether a value of so many octets is too long for one notification or indication.
  func cuts(_ count: Int, of handle: AttributeHandle) -> Bool {
    carrier(ofValues: handle).cuts(count)
  }

  /// Whether this client has subscribed to a value in this way, and no other one is chosen.
  fileprivate func wants(
    _ handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration, _ only: ClientID?
  ) -> Bool {
    guard only == nil || only == session.client?.id else { return false }
    return session.deliveries(of: handle).contains(kind)
  }
}

extension BearerCore {
  /// Whether a value of so many octets is too long for one notification or indication.
  fileprivate func cuts(_ count: Int) -> Bool { count > session.bearer.mtu - 3 }
}
