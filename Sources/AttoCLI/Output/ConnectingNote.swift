import Atto
import Glibc
import Synchronization

/// Says once, on standard error, what a command waits for that does not come about, and where to
/// look: a name that nobody has is waited for as one that will come.
struct ConnectingNote {
  /// Connecting to what is there takes less.
  private static let patience: Duration = .seconds(3)
  /// Commands that connect again and again say it once.
  private static let isSaid = Atomic<Bool>(false)

  private let task: Task<Void, any Error>

  /// Begins to wait. ``end()`` must be called.
  init(_ endpoint: Endpoint, on loop: Loop) {
    task = Task(executorPreference: loop.tasks) {
      try await loop.sleep(for: Self.patience)
      guard let text = Self.text(endpoint),
        !Self.isSaid.exchange(true, ordering: .relaxed)
      else { return }
      Terminal.note(text)
    }
  }

  /// The connection is there, or will not be.
  func end() { task.cancel() }

  private static func text(_ endpoint: Endpoint) -> String? {
    switch endpoint {
    case .air:
      return "waiting for \(endpoint), which is not on the air yet; atto scan air: lists what is"
    case .le(let address):
      var adapter = ""
      if case .adapter(let index) = address.source { adapter = "@hci\(index)" }
      return "waiting for \(endpoint), which is not heard yet: is it on, near and advertising?"
        + " atto scan le:\(adapter) lists what is"
    case .unix(let path):
      guard access(path, F_OK) == 0 else {
        return
          "waiting for \(endpoint), where there is no socket: start the server, or check the path"
      }
      return "waiting for \(endpoint), where a server listens but takes nobody now"
    case .leAny, .descriptor: return nil
    }
  }
}
