import Atto
import AttoTesting
import TestSupport
import Testing

@Suite("Scripted peers", .timeLimit(.minutes(5)), .oneByOne)
struct ScriptTests {
  let clock = TestClock()

  /// The result of a script that a client does not follow.
  private func error(of peer: ScriptedPeer) async -> ScriptError? {
    do {
      try await peer.finished()
      return nil
    } catch {
      return error
    }
  }

  @Test("A client reads from a scripted server")
  func server() async throws {
    let (connection, peer) = try await Connection.pair(
      script: """
        # a value, a refusal, and an indication that is confirmed
        > 0a 03 00
        < 0b 2a
        > 0a 04 00
        < 01 0a 04 00 0a
        < 1d 07 00 01
        > 1e
        """)
    #expect(try await connection.readOnce(3) == [42])
    #expect(
      await failure { try await connection.readOnce(4) }
        == .refused(
          ErrorResponse(request: .readRequest, handle: 4, code: .attributeNotFound)))
    try await peer.finished()
  }

  @Test("A scripted client asks a server")
  func client() async throws {
    let thermometer = try await Thermometer()
    let handle = thermometer.name.rawValue
    let peer = try await ScriptedPeer.connect(
      to: thermometer.server,
      script: """
        # reads the name, then what does not exist
        > 0a \(String(handle, radix: 16).count == 1 ? "0" : "")\(String(handle, radix: 16)) 00
        < 0b 61 ?? ...
        > 0a ff ff
        < 01 0a ff ff ??
        """)
    try await peer.finished()
  }

  @Test("A deviation shows the line, what was expected and what came, and ends the link")
  func deviation() async throws {
    let (connection, peer) = try await Connection.pair(
      script: """
        # a read

        > 0a 03 00
        < 0b 2a
        """)
    guard case .disconnected = await failure({ try await connection.readOnce(4) }) else {
      Issue.record("the read did not end with the link")
      return
    }
    let error = await error(of: peer)
    #expect(error == .deviation(line: 3, expected: "> 0a 03 00", found: "0a 04 00"))
    #expect(error?.description == "script:3: expected > 0a 03 00, found 0a 04 00")
  }

  @Test("Silence, patience and what comes after the end, in virtual time")
  func missingAndExtra() async throws {
    let (first, silent) = try await Connection.pair(
      script: "# s\nsilence 5s", loop: clock.loop)
    _ = try await first.writeWithoutResponse([1], to: 3)
    #expect(
      await error(of: silent)
        == .deviation(line: 2, expected: "silence 5s", found: "52 03 00 01"))

    let (second, patient) = try await Connection.pair(
      script: "# p\nwait 1s\nsilence 5s\n> 0a 03 00", patience: .seconds(10), loop: clock.loop)
    await clock.advance(by: .seconds(16))
    #expect(
      await error(of: patient)
        == .deviation(line: 4, expected: "> 0a 03 00", found: "nothing within 10.0 seconds"))
    try await second.waitUntilClosed()

    let (third, short) = try await Connection.pair(script: "# e\n> 52 03 00 01", loop: clock.loop)
    for _ in 0..<2 { _ = try await third.writeWithoutResponse([1], to: 3) }
    await clock.advance(by: .zero)
    #expect(
      await error(of: short)
        == .deviation(line: 2, expected: "nothing more", found: "52 03 00 01"))
  }

  @Test("The link's security and end are the script's")
  func link() async throws {
    let (connection, peer) = try await Connection.pair(
      script: """
        # s
        security high
        wait 1s
        disconnect
        """, loop: clock.loop)
    await clock.advance(by: .zero)
    #expect(try await connection.security.level == .high)
    await clock.advance(by: .seconds(1))
    try await connection.waitUntilClosed()
    try await peer.finished()
  }

  @Test("The end of the link is a deviation")
  func closed() async throws {
    let (connection, peer) = try await Connection.pair(script: "# s\n> 0a 03 00")
    connection.close()
    guard case .deviation(2, "> 0a 03 00", _) = await error(of: peer) else {
      Issue.record("no deviation")
      return
    }
  }

  @Test(
    "A mistake in a script names its line",
    arguments: [
      (
        "> 0a 03 00",
        "script:1:1: expected a heading \"# NAME  title\" before the first step, found \">\""
      ), ("# s\n> 0g", "script:2:3"),
      ("# s\n< 0b ??", "script:2"), ("# s\nprocedure read 0x0003", "script:2"), ("", "found 0"),
      ("# a\n# b", "expected one heading \"# NAME  title\", found 2"),
    ])
  func mistakes(script: String, place: String) async throws {
    let error = await #expect(throws: ScriptError.self) {
      _ = try await Connection.pair(script: script)
    }
    #expect(error?.description.contains(place) == true, "\(String(describing: error))")
  }

  @Test("Waiting for a script ends when the test is cancelled")
  func cancelled() async throws {
    let (connection, peer) = try await Connection.pair(script: "# s\n> 0a 03 00")
    let waiting = Task { await error(of: peer) }
    waiting.cancel()
    #expect(await waiting.value == .cancelled)
    withExtendedLifetime(connection) {}
  }
}
