import Foundation

/// Messages over one characteristic, which take turns: the pieces of two at once would mix.
///
/// In the order of the calls; one that is cancelled while it waits gives up its turn.
final class MessageTurns: Sendable {
  private struct State {
    var isTaken = false
    var last: UInt64 = 0
    var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private let state = Guarded(State())

  /// Waits for its turn; whoever has it must call ``end()``.
  ///
  /// - Throws: `CancellationError`, and then there is no turn to be ended.
  nonisolated(nonsending) func begin() async throws {
    let number = state.withLock { state in
      state.last += 1
      return state.last
    }
    let hasTurn = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result = state.withLock { state -> Bool? in
          if Task.isCancelled { return false }
          guard state.isTaken else {
            state.isTaken = true
            return true
          }
          state.waiting.append((number, continuation))
          return nil
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.waiting.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
    guard hasTurn else { throw CancellationError() }
  }

  func end() {
    let next = state.withLock { state in
      if state.waiting.isEmpty { state.isTaken = false }
      return state.waiting.isEmpty ? nil : state.waiting.removeFirst()
    }
    next?.continuation.resume(returning: true)
  }
}
