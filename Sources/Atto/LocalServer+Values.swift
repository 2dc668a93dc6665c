import ATT
import EventLoop
import GATT

/// What became of a value that was to be sent to those who subscribed to it.
public struct Delivered: Equatable, Sendable {
  /// Clients it went to.
  public var count = 0
  /// Clients whose connection ended, or who did not confirm in time.
  public var failures = 0
  /// Clients whose link had no room; only where nobody waits for it
  /// (``LocalServer/notifyIfRoom(_:_:to:)``).
  public var blocked = 0
}

extension LocalServer {
  /// Sends a value to the clients that have asked for notifications of it. Vol 3, Part G, 4.10.
  ///
  /// Returns when the value is on its way to all of them; where a link has no room, waits for
  /// it, so that a server cannot run ahead of its links: nor ahead of its slowest client, see
  /// ``notifyIfRoom(_:_:to:)``. The value is cut at each client's ATT_MTU - 3.
  ///
  /// - Throws: `cancelled`, and nothing else: a client whose connection ends meanwhile is counted
  ///   in ``Delivered``.
  @discardableResult
  public func notify(
    _ handle: AttributeHandle, _ value: [UInt8], to client: ClientID? = nil
  ) async throws(AttoError) -> Delivered {
    // Not `valueHere`, which would count a reference up and down.
    let atOnce: (count: Int, isLongAtIt: Bool)? = core.here { core in
      guard let count = core.notifyAtOnce(handle, value.span.bytes, to: client) else { return nil }
      return (count, core.unwaited.note())
    }
    if let atOnce {
      // One that sends and sends must let others have their turns.
      if atOnce.isLongAtIt { await loop.letOthersGo() }
      return Delivered(count: atOnce.count)
    }
    return try await notifyWhenThereIsRoom(handle, value, to: client)
  }

  /// Apart from what needs no waiting, of which each call then has less to prepare.
  private func notifyWhenThereIsRoom(
    _ handle: AttributeHandle, _ value: [UInt8], to client: ClientID?
  ) async throws(AttoError) -> Delivered {
    var delivered = Delivered()
    var remaining: [ClientID] = try await onLoop { core in
      core.subscribers(of: handle, .notification, client)
    }
    while !remaining.isEmpty {
      let targets = remaining
      let (sent, blocked): (Int, [ClientID]) = try await onLoop { core in
        core.notify(handle, value.span.bytes, to: targets)
      }
      delivered.count += sent
      delivered.failures += targets.count - sent - blocked.count
      remaining = []
      for client in blocked {
        do throws(AttoError) {
          try await awaitRoom(client)
          remaining.append(client)
        } catch {
          if error == .cancelled { throw error }
          delivered.failures += 1
        }
      }
    }
    return delivered
  }

  /// Sends several values at once to a client that understands it (Multiple Handle Value
  /// Notification), or one after another to one that does not. Vol 3, Part G, 4.10.2.
  ///
  /// One that is gone, or has not asked for a value, does not get it.
  ///
  /// - Throws: `cancelled`, and nothing else.
  public func notify(
    _ values: [(handle: AttributeHandle, value: [UInt8])], to client: ClientID
  ) async throws(AttoError) {
    let isSent: Bool = try await onLoop { core in
      guard let connection = core.connection(client),
        values.allSatisfy({ value in
          !core.subscribers(of: value.handle, .notification, client).isEmpty
        })
      else { return false }
      defer { connection.settle() }
      return connection.session.notify(values)
    }
    if isSent { return }
    for value in values { try await notify(value.handle, value.value, to: client) }
  }

  /// Sends a value to the clients that have asked for indications of it, and waits for their
  /// confirmations. Vol 3, Part G, 4.11.
  ///
  /// - Throws: `cancelled` if the caller's task is; what is on the wire then goes its way.
  @discardableResult
  public func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], to client: ClientID? = nil
  ) async throws(AttoError) -> Delivered {
    let targets: [ClientID] = try await onLoop { core in
      core.subscribers(of: handle, .indication, client)
    }
    let results = await withTaskGroup(of: AttoError?.self) { group in
      for target in targets {
        group.addTask { await self.indicate(handle, value, toOne: target) }
      }
      return await group.reduce(into: []) { $0.append($1) }
    }
    if results.contains(.cancelled) { throw .cancelled }
    let failures = results.count { $0 != nil }
    return Delivered(count: results.count - failures, failures: failures)
  }

  /// Why it was not confirmed; nil if it was.
  private func indicate(
    _ handle: AttributeHandle, _ value: [UInt8], toOne client: ClientID
  ) async -> AttoError? {
    let core = core
    do throws(AttoError) {
      try await loop.complete { (completion: Completion<Void>) in
        guard let connection = core.value.connection(client) else {
          return completion.resume(.failure(.disconnected(peer: "the client")))
        }
        connection.indicate(handle, value, completion)
      }
      return nil
    } catch {
      return error
    }
  }

  private func awaitRoom(_ client: ClientID) async throws(AttoError) {
    let core = core
    try await loop.complete { (completion: Completion<Void>) in
      guard let connection = core.value.connection(client) else {
        return completion.resume(.failure(.disconnected(peer: "the client")))
      }
      connection.awaitRoom(completion)
    }
  }

  /// Sends a notification from the loop, without waiting: for handlers and observers that run
  /// there. Clients whose link has no room are passed over and counted.
  ///
  /// Traps off the loop's thread.
  @discardableResult
  public func notifyNow(_ handle: AttributeHandle, _ value: RawSpan) -> Delivered {
    let core = core.value
    let targets = core.subscribers(of: handle, .notification, nil)
    let (sent, _) = core.notify(handle, value, to: targets)
    return Delivered(count: sent, failures: targets.count - sent)
  }
}

extension ServerCore {
  /// What ``LocalServer/notify(_:_:to:)`` does most often: notifies all clients that want it, if
  /// each has room, and returns how many these were. Nothing is allocated, and nobody waits. nil,
  /// and nothing sent, otherwise.
  func notifyAtOnce(
    _ handle: AttributeHandle, _ value: RawSpan, to only: ClientID?
  ) -> Int? {
    // Most devices have one client at a time: it is asked once.
    if connections.count == 1 {
      return connections[0].notifyAtOnce(handle, value, only)
    }
    var targets: [ConnectionCore] = []
    swap(&targets, &spareTargets)
    defer {
      targets.removeAll(keepingCapacity: true)
      swap(&targets, &spareTargets)
    }
    for connection in connections where connection.wants(handle, .notification, only) {
      guard connection.session.hasRoomForValues else { return nil }
      targets.append(connection)
    }
    for connection in targets {
      _ = connection.session.notify(handle, value)
      connection.settleLater()
    }
    return targets.count
  }

  /// Clients that may be sent a value in this way now.
  func subscribers(
    of handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration, _ only: ClientID?
  ) -> [ClientID] {
    var ids: [ClientID] = []
    for connection in connections where connection.wants(handle, kind, only) {
      if let client = connection.session.client { ids.append(client.id) }
    }
    return ids
  }

  /// Notifies each client whose link has room; returns how many these were, and those whose
  /// link has none. Others are gone.
  func notify(
    _ handle: AttributeHandle, _ value: RawSpan, to clients: [ClientID]
  ) -> (sent: Int, blocked: [ClientID]) {
    var sent = 0
    var blocked: [ClientID] = []
    for id in clients {
      guard let connection = connection(id) else { continue }
      if connection.session.notify(handle, value) { sent += 1 } else { blocked.append(id) }
      connection.settle()
    }
    return (sent, blocked)
  }
}

extension LocalServer {
  /// Whether any client would be sent this value now, in either way.
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
  /// ``ServerCore/notifyAtOnce(_:_:to:)`` to this client alone: 1, 0 if it does not want the value,
  /// nil if it has no room. Here and not there, because nobody need count references to what
  /// belongs to the connection while it does something itself.
  fileprivate func notifyAtOnce(
    _ handle: AttributeHandle, _ value: RawSpan, _ only: ClientID?
  ) -> Int? {
    guard wants(handle, .notification, only) else { return 0 }
    guard session.notify(handle, value) else { return nil }
    settleLater()
    return 1
  }

  /// Whether the client, if it is the only one asked for, may be sent a value in this way now.
  fileprivate func wants(
    _ handle: AttributeHandle, _ kind: ClientCharacteristicConfiguration, _ only: ClientID?
  ) -> Bool {
    guard only == nil || only == session.client?.id else { return false }
    return session.deliveries(of: handle).contains(kind)
  }
}
