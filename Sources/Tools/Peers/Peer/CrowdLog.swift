import Atto
import AttoCommandLine
import AttoEventLoop
import Synchronization

/// Keeps clients that connect without pause from filling the log of a server.
///
/// In ``window``, ``connectionLimit`` connections and ``failureLimit`` failures are shown. Further ones
/// are counted, and the counts are shown at the end of the window. A connection that was not shown is
/// shown when its client does something that is.
///
/// Used on the loop's thread, where servers and relays report.
package final class CrowdLog: Sendable {
  static let window: Duration = .seconds(10)
  /// More than the clients that a server has by default at a time.
  static let connectionLimit = 2000
  static let failureLimit = 20

  private let loop: Loop
  private let onMore: @Sendable (_ text: String, JSONObject) -> Void
  private let state = Mutex(State())

  private struct State {
    var start: Int64?
    /// Ends the window.
    var timer: Task<Void, any Error>?
    var connections = 0
    var failures = 0
    /// Clients whose connection was not shown, and their names. As many as the server has.
    var hidden: [ClientID: String] = [:]
  }

  /// - Parameter onMore: shows what was not shown.
  package init(_ loop: Loop, onMore: @escaping @Sendable (_ text: String, JSONObject) -> Void) {
    self.loop = loop
    self.onMore = onMore
  }

  /// Whether a new connection is shown.
  package func shows(_ client: ClientID, _ peer: String) -> Bool {
    count { state in
      state.connections += 1
      if state.connections > Self.connectionLimit { state.hidden[client] = peer }
      return state.connections <= Self.connectionLimit
    }
  }

  /// Whether the connection of a client was not shown.
  package func hides(_ client: ClientID) -> Bool { state.withLock { $0.hidden[client] != nil } }

  /// Whether a client's end is shown: if its connection was.
  package func showsEnd(of client: ClientID) -> Bool { reveal(client) == nil }

  /// The name of a client whose connection was not shown, and is to be shown now.
  package func reveal(_ client: ClientID) -> String? {
    state.withLock { $0.hidden.removeValue(forKey: client) }
  }

  /// Whether a failure is shown.
  package func showsFailure() -> Bool {
    count { state in
      state.failures += 1
      return state.failures <= Self.failureLimit
    }
  }

  private func count(_ body: (inout State) -> Bool) -> Bool {
    let (isShown, isFirst) = state.withLock { state in
      let isFirst = state.start == nil
      if isFirst { state.start = loop.now }
      return (body(&state), isFirst)
    }
    if isFirst {
      let timer = loop.after(Self.window) { [weak self] in self?.flush() }
      state.withLock { $0.timer = timer }
    }
    return isShown
  }

  /// Shows the counts of what was not shown, and begins a new window.
  package func flush() {
    let (connections, failures) = state.withLock { state in
      state.timer?.cancel()
      state.timer = nil
      defer { (state.connections, state.failures, state.start) = (0, 0, nil) }
      return (
        max(0, state.connections - Self.connectionLimit),
        max(0, state.failures - Self.failureLimit)
      )
    }
    guard connections + failures > 0 else { return }
    let time = Self.window.components.seconds
    onMore(
      "... "
        + [
          connections > 0 ? "\(connections) more connections" : nil,
          failures > 0 ? "\(failures) more clients that could not be served" : nil,
        ].compactMap(\.self).joined(separator: " and ") + " in the last \(time) s",
      ["event": "more", "connections": connections, "failures": failures])
  }
}
