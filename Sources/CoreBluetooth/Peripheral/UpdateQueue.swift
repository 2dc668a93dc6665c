internal import Atto
import Foundation

/// Values on their way to one client, in order. A notification leaves when the link takes it, an
/// indication when it is confirmed.
@RadioLoop final class UpdateQueue {
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

  init(_ client: ClientID, _ server: LocalServer) {
    self.client = client
    self.server = server
  }

  func append(_ entry: Entry) {
    guard !hasEnded else { return }
    entries.append(entry)
    pump()
  }

  /// The client is gone: what waits is let go.
  func end() {
    hasEnded = true
    entries = []
  }

  private func pump() {
    while !isBusy, let next = entries.first {
      if next.isIndication {
        return wait { [server, client] () async throws(AttoError) in
          try await server.indicate(next.handle, next.value, confirmedBy: client)
        } then: {
          $0.removeFirst()
        }
      }
      switch server.notifyNow(next.handle, next.value.span.bytes, to: client) {
      case .sent, .gone: removeFirst()
      case .blocked:
        return wait { [server, client] () async throws(AttoError) in
          try await server.awaitRoom(of: client)
        } then: { _ in
        }
      }
    }
  }

  private func removeFirst() {
    if !entries.isEmpty { entries.removeFirst() }
  }

  private func wait(
    _ body: @escaping @Sendable () async throws(AttoError) -> Void,
    then: @escaping @RadioLoop (UpdateQueue) -> Void
  ) {
    isBusy = true
    Task { @RadioLoop [weak self] in
      do throws(AttoError) { try await body() } catch {}
      guard let self else { return }
      isBusy = false
      then(self)
      pump()
    }
  }
}

/// One value that an app has handed over: when the last client has had it, it makes room for
/// another.
final class UpdateTicket: Sendable {
  private let window: UpdateWindow
  private let hasToldCut = Guarded(false)

  init(_ window: UpdateWindow) { self.window = window }

  deinit { window.left() }

  /// Tells the developer, once for each value, that it does not fit.
  func tellCut(_ count: Int, _ limit: Int) {
    let isFirst = hasToldCut.withLock { told in
      defer { told = true }
      return !told
    }
    guard isFirst else { return }
    Misuse.log(
      "a value of \(count) octets was cut to \(limit) for a central: see"
        + " CBCentral.maximumUpdateValueLength")
  }
}

/// How many values of one manager may be on their way.
final class UpdateWindow: Sendable {
  /// Values that wait before `updateValue` returns false.
  static let limit = 32

  private struct State {
    var count = 0
    var wantsRoom = false
    var lastWaiter: UInt64 = 0
    var waiters: [(number: UInt64, continuation: CheckedContinuation<Void, Never>)] = []
  }
  private let state = Guarded(State())
  private let isReady: @Sendable () -> Void

  /// - Parameter isReady: called, on whatever thread, when there is room for half of the limit
  ///   after there was none.
  init(isReady: @escaping @Sendable () -> Void) { self.isReady = isReady }

  /// A place for one value; nil if there is none.
  ///
  /// - Parameter tells: whether the app is to be told then that there is one.
  func take(tells: Bool = true) -> UpdateTicket? {
    let isTaken = state.withLock { state in
      guard state.count < Self.limit else {
        if tells { state.wantsRoom = true }
        return false
      }
      state.count += 1
      return true
    }
    return isTaken ? UpdateTicket(self) : nil
  }

  /// A place for one value, waited for.
  ///
  /// - Throws: `CancellationError`.
  nonisolated(nonsending) func awaitPlace() async throws -> UpdateTicket {
    while true {
      try Task.checkCancellation()
      if let ticket = take(tells: false) { return ticket }
      let number = state.withLock { state in
        state.lastWaiter += 1
        return state.lastWaiter
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          let mayGoOn = state.withLock { state in
            if Task.isCancelled || state.count < Self.limit { return true }
            state.waiters.append((number, continuation))
            return false
          }
          if mayGoOn { continuation.resume() }
        }
      } onCancel: {
        let waiter = state.withLock { state in
          state.waiters.firstIndex { $0.number == number }.map { state.waiters.remove(at: $0) }
        }
        waiter?.continuation.resume()
      }
    }
  }

  /// Whether somebody waits for a place; for tests.
  var isAwaited: Bool { !state.value.waiters.isEmpty }

  fileprivate func left() {
    let (isWanted, waiters) = state.withLock { state in
      state.count -= 1
      guard state.count <= Self.limit / 2 else { return (false, state.waiters.prefix(0)) }
      defer {
        state.wantsRoom = false
        state.waiters = []
      }
      return (state.wantsRoom, state.waiters[...])
    }
    for waiter in waiters { waiter.continuation.resume() }
    if isWanted { isReady() }
  }
}
