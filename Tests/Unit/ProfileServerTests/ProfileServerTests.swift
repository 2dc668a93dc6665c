import Atto
import AttoFormats
import AttoProfileServer
import Foundation
import Synchronization
import TestSupport
import Testing

/// Profiles served to a client over a Unix socket.
@Suite(.oneByOne) struct ProfileServerTests {
  private static func profile(_ behaviour: String, _ rest: String = "") throws -> Profile {
    let text = """
      {"automatic": false, "mtu": 100, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["read", "write", "writeWithoutResponse", "notify"],
         "value": "hex:0500", "behaviour": {\(behaviour)} \(rest)}]}]}
      """
    return try Profile(json: Array(text.utf8))
  }

  private static func place() -> Endpoint {
    .unix(
      path: FileManager.default.temporaryDirectory.path
        + "/profile-\(UInt32.random(in: 0 ... .max))")
  }

  private struct Watch {
    weak var server: LocalServer?
    init(_ server: LocalServer?) { self.server = server }
  }

  private final class Log: Sendable {
    let lines = Mutex<[String]>([])
    func note(_ event: ProfileServerEvent) {
      switch event {
      case .written(let handle, let octets, _): append("written \(handle) \(octets)")
      case .discarded(let handle, let writes, let octets, _):
        append("discarded \(handle) \(writes) \(octets)")
      case .server(.disconnected): append("disconnected")
      case .server: break
      }
    }
    private func append(_ line: String) { lines.withLock { $0.append(line) } }
  }

  @Test func serveListensAtTheEndpoint() async throws {
    let place = Self.place()
    let served = try await ProfileServer.serve(Self.profile(#""counter": 1"#), on: place)
    let client = try await Connection.connect(to: place)
    #expect(try await client.exchangeMTU() == 100)
    #expect(try await client.readOnce(0x0003) == [5, 0])
    #expect(try await client.readOnce(0x0003) == [6, 0])
    client.close()
    withExtendedLifetime(served) {}
  }

  @Test func errorsAndWrites() async throws {
    let place = Self.place()
    let log = Log()
    let served = try await ProfileServer(
      Self.profile(#""readError": "0x80""#), onEvent: { log.note($0) })
    try await served.listen(on: place)
    let client = try await Connection.connect(to: place)
    await #expect(throws: AttoError.self) { try await client.readOnce(0x0003) }
    try await client.write([7], to: 0x0003)
    #expect(log.lines.withLock { $0 } == ["written 0x0003 [7]"])
    client.close()
  }

  @Test func addedServicesBehave() async throws {
    let place = Self.place()
    let served = try await ProfileServer.serve(Self.profile(#""counter": 1"#), on: place)
    var ranges: [HandleRange] = []
    try await served.add(Self.profile(#""counter": 2"#)) { ranges.append($0) }
    #expect(ranges.map { "\($0)" } == ["0x0005-0x0008"])
    let client = try await Connection.connect(to: place)
    #expect(try await client.readOnce(0x0007) == [5, 0])
    #expect(try await client.readOnce(0x0007) == [6, 0])
    client.close()
  }

  /// A client that confirms late misses turns, and the counter waits for it. The notifications of
  /// another value, which has as many turns, tell that turns have passed.
  @Test func missedTurnsDoNotCount() async throws {
    let text = """
      {"automatic": false, "services": [{"uuid": "180D", "characteristics": [
        {"uuid": "2A37", "properties": ["indicate"], "value": "hex:00",
         "behaviour": {"counter": 1, "indicateEveryMilliseconds": 1}},
        {"uuid": "2A38", "properties": ["notify"], "value": "hex:00",
         "behaviour": {"notifyEveryMilliseconds": 1}}]}]}
      """
    let place = Self.place()
    let served = try await ProfileServer.serve(Profile(json: Array(text.utf8)), on: place)
    let peer = try await RawConnection.connect(to: place)
    try await peer.send([0x12, 0x07, 0x00, 0x01, 0x00])
    try await peer.send([0x12, 0x04, 0x00, 0x02, 0x00])
    var numbers: [UInt8] = []
    var turns = 0
    while numbers.count < 4 {
      let pdu = try #require(try await peer.receive(within: .seconds(60)))
      if pdu.first == 0x1D {
        numbers.append(try #require(pdu.last))
        turns = 0
      } else if pdu.first == 0x1B, !numbers.isEmpty {
        turns += 1
        if turns == 20 { try await peer.send([0x1E]) }
      }
    }
    #expect(numbers == [0, 1, 2, 3])
    peer.close()
    withExtendedLifetime(served) {}
  }

  /// Releasing the server stops its listener and its periodic values.
  @Test func stopsWhenReleased() async throws {
    let place = Self.place()
    var served: ProfileServer? = try await ProfileServer.serve(
      Self.profile(#""notifyEveryMilliseconds": 1"#), on: place)
    let watch = Watch(served?.server)
    #expect(watch.server != nil)
    served = nil
    for _ in 0..<100 where watch.server != nil { try await Task.sleep(for: .milliseconds(20)) }
    #expect(watch.server == nil)
    await #expect(throws: AttoError.self) { try await Connection.connect(to: place) }
  }

  @Test func advertisingFollowsTheProfile() throws {
    let text = """
      {"name": "Strap", "services": [], "advertising": {"serviceUUIDs": ["180D"], "txPower": -4,
       "interval": 30, "connectable": false, "manufacturerData": {"0x0059": "hex:0102"}}}
      """
    let profile = try Profile(json: Array(text.utf8))
    let data = profile.advertisingData
    #expect(data.localName == "Strap")
    #expect(data.serviceUUIDs == [0x180D])
    #expect(data.txPower == -4)
    #expect(data.manufacturerData.map(\.data) == [[1, 2]])
    let parameters = profile.advertisingParameters
    #expect(parameters.interval == .milliseconds(30))
    #expect(!parameters.isConnectable)
  }
}
