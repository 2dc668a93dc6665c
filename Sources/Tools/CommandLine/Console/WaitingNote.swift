import Atto
import AttoVirtualRadio
import Glibc
import Synchronization

/// A line on standard error that explains a pause: what the command waits for. It appears once,
/// when nothing has happened for three seconds.
package struct WaitingNote {
  package static let delay: Duration = .seconds(3)
  /// Commands that connect repeatedly explain it once.
  private static let explainsConnecting = Atomic<Bool>(true)

  private let task: Task<Void, any Error>

  /// Starts to wait. ``end()`` must be called.
  package init(_ text: String, hint: String? = nil, on loop: Loop) {
    Activity.wait { text }
    task = loop.after(Self.delay) { Self.show(text, hint) }
  }

  /// Starts to wait for a connection. ``end()`` must be called.
  package init(connectingTo endpoint: Endpoint, on loop: Loop) {
    Activity.wait { "connecting to \(endpoint)" }
    task = loop.after(Self.delay) {
      guard let (text, hint) = Self.text(endpoint),
        Self.explainsConnecting.exchange(false, ordering: .relaxed)
      else { return }
      Self.show(text, hint)
    }
  }

  /// Starts to connect and pair. ``end()`` must be called.
  package init(pairingWith endpoint: Endpoint, on loop: Loop) {
    Activity.wait { "pairing with \(endpoint)" }
    task = loop.after(Self.delay) {
      if case .air = endpoint, (try? endpoint.airPeer())??.isOnAir != true,
        let (text, hint) = Self.text(endpoint)
      {
        return Self.show(text, hint)
      }
      Self.show(
        "waiting for \(endpoint) to pair",
        "it must be in range and connectable, and a person may have to confirm there")
    }
  }

  /// Starts to wait for the responses of a connection. ``end()`` must be called.
  package init(responsesOn connection: Connection, within time: Duration, on loop: Loop) {
    Activity.wait {
      guard let awaited = try? await connection.awaitedRequest else { return nil }
      return "waiting for the response to \(awaited.opcode)"
    }
    task = Task(executorPreference: loop.tasks) {
      while true {
        try await loop.sleep(for: .seconds(1))
        guard let awaited = try await connection.awaitedRequest, time - awaited.left >= Self.delay
        else { continue }
        Terminal.note(Self.text(awaited.opcode, left: awaited.left))
        return
      }
    }
  }

  package func end() {
    task.cancel()
    Activity.wait(nil)
  }

  private static func show(_ text: String, _ hint: String?) {
    Terminal.note(text)
    if let hint { Terminal.note("hint: \(hint)") }
  }

  /// The text about a request without a response.
  package static func text(_ opcode: Opcode, left: Duration) -> String {
    "waiting up to \(max(1, left.components.seconds + 1)) s more for the response to \(opcode)"
      + " (see --timeout)"
  }

  private static func text(_ endpoint: Endpoint) -> (text: String, hint: String?)? {
    switch endpoint {
    case .air where (try? endpoint.airPeer())??.isOnAir == true:
      return (
        "waiting for \(endpoint), which is on the air but has not accepted the connection yet", nil
      )
    case .air:
      return (
        "waiting for \(endpoint), which is not on the air yet",
        "atto scan air: lists the radios on the air"
      )
    case .le(let address):
      var adapter = ""
      if case .adapter(let index) = address.source { adapter = "@hci\(index)" }
      return (
        "waiting for \(endpoint): no advertisement received yet",
        "check that it is on, in range and advertising; atto scan le:\(adapter) lists the devices in"
          + " range"
      )
    case .unix(let path) where access(path, F_OK) != 0:
      return ("waiting for \(endpoint): no such socket yet", "start the server or check the path")
    case .unix:
      return ("waiting for \(endpoint): the server does not accept the connection yet", nil)
    case .leAny, .descriptor: return nil
    }
  }
}

extension Loop {
  /// Runs a body after a time, unless the task is cancelled before. nil: never.
  package func after(_ time: Duration?, _ body: @escaping @Sendable () -> Void) -> Task<
    Void, any Error
  > {
    Task(executorPreference: tasks) {
      guard let time else { return }
      try await self.sleep(for: time)
      body()
    }
  }
}
