import Foundation

/// Elements on their way from callbacks to one who awaits them.
///
/// The one who takes has one call under way at a time. Ended, it gives what waits still, then its
/// error if there is one, and then nil; cancelled, it gives nil at once.
final class Handover<Element>: Sendable {
  private struct State {
    var waiting: [Carried<Element>] = []
    var taker: CheckedContinuation<Carried<Element>?, any Error>?
    var isOver = false
    var error: (any Error)?
  }

  private let state = Guarded(State())
  private let limit: Int

  /// - Parameter limit: elements that may wait; those that come then are dropped.
  init(limit: Int) { self.limit = limit }

  func add(_ element: Element) {
    let carried = Carried(element)
    let taker = state.withLock { state -> CheckedContinuation<Carried<Element>?, any Error>? in
      guard !state.isOver else { return nil }
      if let taker = state.taker {
        state.taker = nil
        return taker
      }
      if state.waiting.count < limit { state.waiting.append(carried) }
      return nil
    }
    taker?.resume(returning: carried)
  }

  /// No more elements come.
  func finish(_ error: (any Error)? = nil) {
    let taker = state.withLock { state -> CheckedContinuation<Carried<Element>?, any Error>? in
      guard !state.isOver else { return nil }
      state.isOver = true
      defer { state.taker = nil }
      if state.taker == nil { state.error = error }
      return state.taker
    }
    if let error { taker?.resume(throwing: error) } else { taker?.resume(returning: nil) }
  }

  /// The next element; nil at the end, and when the caller's task is cancelled.
  func next(isolation actor: isolated (any Actor)? = #isolation) async throws -> Element? {
    let carried: Carried<Element>? = try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result = state.withLock { state -> Result<Carried<Element>?, any Error>? in
          if Task.isCancelled { return .success(nil) }
          if !state.waiting.isEmpty { return .success(state.waiting.removeFirst()) }
          guard state.isOver else {
            precondition(state.taker == nil, "an iterator is used by two at a time")
            state.taker = continuation
            return nil
          }
          defer { state.error = nil }
          return state.error.map { .failure($0) } ?? .success(nil)
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let taker = state.withLock { state in
        defer { state.taker = nil }
        return state.taker
      }
      taker?.resume(returning: nil)
    }
    return carried?.content
  }
}

/// Does something when the last reference to it has gone.
final class Lease: Sendable {
  private let end: @Sendable () -> Void
  init(_ end: @escaping @Sendable () -> Void) { self.end = end }
  deinit { end() }
}
