import Foundation
import Testing

@testable import AttoCoreBluetooth

/// The folders of the virtual air and of saved state, for this test run only.
enum Sandbox {
  static let isReady: Bool = {
    let folder = NSTemporaryDirectory() + "atto-cb-\(getpid())"
    try? FileManager.default.createDirectory(
      atPath: folder, withIntermediateDirectories: true,
      attributes: [.posixPermissions: NSNumber(value: 0o700)])
    setenv("ATTO_AIR", folder + "/air", 1)
    setenv("ATTO_STATE", folder + "/state", 1)
    atexit {
      try? FileManager.default.removeItem(atPath: NSTemporaryDirectory() + "atto-cb-\(getpid())")
    }
    return true
  }()

  private static let number = Locked(0)

  /// A radio that no other test uses.
  static func radio() -> CBRadio {
    precondition(isReady)
    let own = number.withLock { number in
      number += 1
      return number
    }
    return .air("radio-\(own)")
  }

  static func number(of radio: CBRadio) -> String {
    guard case .air(let name?) = radio else { return "" }
    return String(name.dropFirst(6))
  }
}

/// The callbacks of delegates, in order. One task at a time can wait for an entry.
final class EventLog: Sendable {
  private struct State {
    var entries: [String] = []
    var taken = 0
    var waits = 0
    var waiter: (number: Int, prefix: String, resume: CheckedContinuation<String?, Never>)?

    /// Finds the awaited entry. Entries before it are not examined again.
    mutating func match() -> (CheckedContinuation<String?, Never>, String)? {
      guard let waiter else { return nil }
      while taken < entries.count {
        let entry = entries[taken]
        taken += 1
        guard entry.hasPrefix(waiter.prefix) else { continue }
        self.waiter = nil
        return (waiter.resume, entry)
      }
      return nil
    }
  }

  private let state = Locked(State())

  var all: [String] { state.value.entries }

  func add(_ entry: String) {
    let found = state.withLock { state in
      state.entries.append(entry)
      return state.match()
    }
    found?.0.resume(returning: found?.1)
  }

  /// Waits for the next entry with this prefix, skipping others.
  @discardableResult
  func next(_ prefix: String, within seconds: Double = 120) async throws -> String {
    let found: String? = await withCheckedContinuation { continuation in
      let (number, found) = state.withLock { state in
        state.waits += 1
        state.waiter = (state.waits, prefix, continuation)
        return (state.waits, state.match())
      }
      if let found { return found.0.resume(returning: found.1) }
      DispatchQueue.global().asyncAfter(deadline: .now() + seconds) { [self] in
        let late = state.withLock { state -> CheckedContinuation<String?, Never>? in
          guard state.waiter?.number == number else { return nil }
          defer { state.waiter = nil }
          return state.waiter?.resume
        }
        late?.resume(returning: nil)
      }
    }
    guard let found else { throw Missing(prefix: prefix, log: all) }
    return found
  }

  struct Missing: Error, CustomStringConvertible {
    let prefix: String
    let log: [String]
    var description: String { "no entry \"\(prefix)\" in time; the log: \(log)" }
  }
}

extension Task where Failure == any Error {
  /// Waits for the result. A task that does not end in time is cancelled and fails the test.
  func ended(within limit: Duration = .seconds(120)) async throws -> Success {
    let alarm = Task<Void, any Error> {
      try await Task<Never, Never>.sleep(for: limit)
      Issue.record("a task did not end within \(limit)")
      cancel()
    }
    defer { alarm.cancel() }
    return try await value
  }
}
