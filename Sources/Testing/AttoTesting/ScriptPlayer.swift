import Atto
import AttoATT
import AttoEventLoop
import AttoFormats
import AttoLinks

/// Plays a script, step by step.
struct ScriptPlayer: Sendable {
  let script: Script
  let connection: RawConnection
  let link: LoopBound<MemoryLink>
  let patience: Duration

  /// Returns the first difference from the script.
  func play() async -> ScriptError? {
    for (step, line, text) in script.steps {
      do throws(AttoError) {
        guard let found = try await play(step) else { continue }
        connection.close()
        return .deviation(line: line, expected: text, found: found)
      } catch {
        connection.close()
        return error == .cancelled
          ? .cancelled : .deviation(line: line, expected: text, found: "\(error)")
      }
    }
    return nil
  }

  /// Returns what came instead of the step.
  private func play(_ step: Script.Step) async throws(AttoError) -> String? {
    switch step {
    case .send(let pdu): try await connection.send(pdu)
    case .expect(let pattern):
      guard let pdu = try await connection.receive(within: patience) else {
        return "nothing within \(patience)"
      }
      if !pattern.matches(pdu) { return Self.text(pdu) }
    case .wait(let time): try await connection.loop.sleep(for: time)
    case .silence(let time):
      if let pdu = try await connection.receive(within: time) { return Self.text(pdu) }
    case .security(let security): link.value.assume(security)
    case .disconnect: connection.close()
    }
    return nil
  }

  /// Returns a PDU that came after the last step.
  func excess() async -> ScriptError? {
    guard let pdu = try? await connection.receive(within: .zero) else { return nil }
    connection.close()
    return .deviation(
      line: script.steps.last?.line ?? 1, expected: "nothing more", found: Self.text(pdu))
  }

  private static func text(_ pdu: [UInt8]) -> String {
    pdu.isEmpty ? "an empty PDU" : Hex.text(pdu, separator: " ")
  }
}
