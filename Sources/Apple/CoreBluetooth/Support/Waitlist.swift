import Foundation

/// A state behind a lock and the tasks that wait for it, first come, first served. Unlike Atto's
/// waiters, it is used on any thread.
final class Waitlist<State>: Sendable {
  private struct Content {
    var state: State
    var last: UInt64 = 0
    var waiting: [(number: UInt64, continuation: CheckedContinuation<Bool, Never>)] = []
  }

  private let content: Locked<Content>

  init(_ state: State) { content = Locked(Content(state: state)) }

  var isEmpty: Bool { content.value.waiting.isEmpty }

  func withState<Result>(_ body: (inout State) -> Result) -> Result {
    content.withLock { body(&$0.state) }
  }

  /// Changes the state, then resumes as many tasks as `body` returns.
  ///
  /// - Parameter body: gets the number of waiting tasks.
  func resume(_ body: (inout State, _ waiting: Int) -> Int) {
    let resumed = content.withLock { content in
      let count = body(&content.state, content.waiting.count)
      defer { content.waiting.removeFirst(count) }
      return content.waiting.prefix(count)
    }
    for waiter in resumed { waiter.continuation.resume(returning: true) }
  }

  /// Waits until ``resume(_:)`` chooses this task, unless `proceeds` returns true.
  ///
  /// - Returns: false if the task was cancelled.
  nonisolated(nonsending) func wait(unless proceeds: (inout State) -> Bool) async -> Bool {
    let number = content.withLock { content in
      content.last += 1
      return content.last
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let result = content.withLock { content -> Bool? in
          if Task.isCancelled { return false }
          if proceeds(&content.state) { return true }
          content.waiting.append((number, continuation))
          return nil
        }
        if let result { continuation.resume(returning: result) }
      }
    } onCancel: {
      let waiter = content.withLock { content in
        content.waiting.firstIndex { $0.number == number }.map { content.waiting.remove(at: $0) }
      }
      waiter?.continuation.resume(returning: false)
    }
  }
}

/// Lets one message at a time use a characteristic: the pieces of two would mix.
final class MessageTurns: Sendable {
  /// Whether a message is being sent.
  private let isTaken = Waitlist(false)

  /// Waits for a turn. The caller must then call ``end()``.
  ///
  /// - Throws: `CancellationError`; there is no turn to end then.
  nonisolated(nonsending) func begin() async throws {
    let hasTurn = await isTaken.wait { isTaken in
      defer { isTaken = true }
      return !isTaken
    }
    guard hasTurn else { throw CancellationError() }
  }

  /// Passes the turn to the next message.
  func end() {
    isTaken.resume { isTaken, waiting in
      isTaken = waiting > 0
      return min(1, waiting)
    }
  }
}
