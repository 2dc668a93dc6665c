internal import Atto
import Foundation
import Synchronization

/// The values for one client, in order. A notification leaves the queue when the link has accepted it,
/// an indication when the client has confirmed it.
///
/// A client that is slower than others loses its oldest values beyond ``limit``.
@RadioLoop final class UpdateQueue {
  nonisolated static let limit = 1024

  struct Entry {
    let handle: AttributeHandle
    let value: [UInt8]
    let isIndication: Bool
    let ticket: UpdateTicket
  }

  private let client: ClientID
  private let server: LocalServer
  private var entries: [Entry] = []
  private var isBusy = false
  private var hasEnded = false
  private var hasWarned = false

  init(_ client: ClientID, _ server: LocalServer) {
    self.client = client
    self.server = server
  }

  func append(_ entry: Entry) {
    guard !hasEnded else { return }
    if entries.count >= Self.limit {
      // The first one may be on its way.
      entries.remove(at: 1)
      if !hasWarned {
        Warning.log("a central does not keep up with the others and loses values")
        hasWarned = true
      }
    }
    entries.append(entry)
    pump()
  }

  func end() {
    hasEnded = true
    entries = []
  }

  private func pump() {
    while !isBusy, let next = entries.first {
      if next.isIndication
        || server.sendNotificationNow(next.value.span.bytes, of: next.handle, to: client)
          == .blocked
      {
        wait(for: next)
      } else {
        entries.removeFirst().ticket.leave()
      }
    }
  }

  /// Waits until an indication is confirmed, or until the link has room for a notification.
  private func wait(for entry: Entry) {
    isBusy = true
    Task { @RadioLoop [weak self, server, client] in
      if entry.isIndication {
        try? await server.sendIndication(entry.value, of: entry.handle, to: client)
      } else {
        try? await server.awaitRoom(of: client)
      }
      guard let self else { return }
      isBusy = false
      if entry.isIndication, !entries.isEmpty { entries.removeFirst().ticket.leave() }
      pump()
    }
  }
}

/// The place of one value in the ``UpdateWindow``. It is free again when the value has been sent to
/// the first client, so that the application is as fast as the fastest one.
final class UpdateTicket: Sendable {
  private let window: UpdateWindow
  private let hasLeft = Atomic(false)
  @RadioLoop private var hasWarned = false

  init(_ window: UpdateWindow) { self.window = window }

  deinit { leave() }

  func leave() {
    if !hasLeft.exchange(true, ordering: .relaxed) { window.left() }
  }

  /// Warns, once for each value, that it is too long.
  @RadioLoop func warnTruncated(_ count: Int, _ limit: Int) {
    guard !hasWarned else { return }
    hasWarned = true
    Warning.log(
      "truncated a value of \(count) octets to \(limit) for a central: see"
        + " CBCentral.maximumUpdateValueLength")
  }
}

/// Limits the number of values of one manager that are on their way.
final class UpdateWindow: Sendable {
  /// Queued values at which `updateValue` returns false.
  static let limit = 32

  private struct State {
    var count = 0
    var isWaiting = false
  }
  private let places = Waitlist(State())
  private let isReady: @Sendable () -> Void

  /// - Parameter isReady: called on any thread when half of the places are free after the queue was
  ///   full.
  init(isReady: @escaping @Sendable () -> Void) { self.isReady = isReady }

  /// Reserves a place for one value; nil if the queue is full.
  ///
  /// - Parameter notifies: whether to call `isReady` later if the queue is full.
  func reserve(notifies: Bool = true) -> UpdateTicket? {
    let isReserved = places.withState { state in
      guard state.count < Self.limit else {
        if notifies { state.isWaiting = true }
        return false
      }
      state.count += 1
      return true
    }
    return isReserved ? UpdateTicket(self) : nil
  }

  nonisolated(nonsending) func awaitPlace() async throws -> UpdateTicket {
    while true {
      try Task.checkCancellation()
      if let ticket = reserve(notifies: false) { return ticket }
      _ = await places.wait { $0.count < Self.limit }
    }
  }

  /// Whether a task waits for a place; for tests.
  var isAwaited: Bool { !places.isEmpty }

  fileprivate func left() {
    var callsBack = false
    places.resume { state, waiting in
      state.count -= 1
      guard state.count <= Self.limit / 2 else { return 0 }
      callsBack = state.isWaiting
      state.isWaiting = false
      return waiting
    }
    if callsBack { isReady() }
  }
}
