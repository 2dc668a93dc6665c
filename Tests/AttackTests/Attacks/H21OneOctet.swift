import ATT
import Foundation
import GATT
import Testing

@testable import Atto

/// L2CAP's SDU of one octet, and more credits than there are numbers for.
///
/// Credits and segments are the kernel's: no octet of them reaches Atto. What does is an SDU that is
/// shorter than any header, on sockets as they are, and a peer that gives or takes without measure.
@Suite struct H21OneOctet {
  /// A place for a socket, removed at the end.
  private final class Place {
    let path: String
    var endpoint: Endpoint { .unix(path: path + "/s") }
    init() {
      var template = Array((NSTemporaryDirectory() + "att-XXXXXX").utf8CString)
      precondition(mkdtemp(&template) != nil)
      path = template.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// A server in a loop of its own, so that it runs beside the test.
  private func serve(_ place: Place) async throws -> (LocalServer, ServerListener) {
    let loop = try Loop(name: "h21")
    try loop.start()
    let server = LocalServer(Database([service(value([7]))]), loop: loop)
    return (server, try await server.listen(on: place.endpoint))
  }

  @Test("H21 server: every SDU of one octet is a PDU, answered or not as its opcode says")
  func h21Server() async throws {
    let place = Place()
    let (server, listener) = try await serve(place)
    let attacker = try await RawConnection.connect(to: place.endpoint)
    for number in UInt8.min...UInt8.max {
      try await attacker.send([number])
      switch Opcode(number).kind {
      case .request:
        let code: UInt8 = Opcode(number).name == nil ? 0x06 : 0x04
        #expect(
          try await attacker.receive(within: .seconds(300)) == [0x01, number, 0, 0, code])
      case .indication: #expect(try await attacker.receive(within: .seconds(300)) == [0x1E])
      default: break
      }
    }
    try await attacker.send([0x0A, 3, 0])
    #expect(try await attacker.receive(within: .seconds(300)) == [0x0B, 7])
    attacker.close()
    withExtendedLifetime((server, listener)) {}
  }

  @Test("H21 server: a peer that gives without end and takes nothing is not read without end")
  func h21ServerCredits() async throws {
    var ends: [Int32] = [-1, -1]
    #expect(socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0)
    let attacker = ends[0]
    defer { close(attacker) }
    var patience = timeval(tv_sec: 20, tv_usec: 0)
    setsockopt(
      attacker, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
    let loop = try Loop(name: "h21")
    try loop.start()
    let server = LocalServer(Database([service(value([7]))]), loop: loop)
    let connection = try await Connection.connect(
      to: .descriptor(ends[1]), server: server, loop: loop)
    let flags = Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL)
    var given = 0
    // Turns of the loop in which it made no room: then it has stopped reading.
    var standstill = 0
    while standstill < 20, given < 100_000 {
      let before = given
      while send(attacker, [0x0A, 3, 0] as [UInt8], 3, flags) == 3 { given += 1 }
      #expect(errno == EAGAIN)
      standstill = given == before ? standstill + 1 : 0
      _ = try await server.clients
    }
    #expect(given < 20_000, "\(given) requests were read, and no response was taken")
    // Whoever takes what there is gets a response for each, in order, and is read again.
    var response = [UInt8](repeating: 0, count: 64)
    for _ in 0..<given {
      #expect(recv(attacker, &response, response.count, 0) == 2)
      #expect(response[..<2] == [0x0B, 7])
    }
    connection.close()
  }

  @Test("H21 client: an SDU of one octet ends a request, or does nothing, and the caller is told")
  func h21Client() async throws {
    let place = Place()
    let listener = try await RawListener.listen(on: place.endpoint)
    // A busy machine may keep either end waiting.
    var options = ConnectionOptions()
    options.transactionTimeout = .seconds(300)
    for number in UInt8.min...UInt8.max {
      let connection = try await Connection.connect(to: place.endpoint, options: options)
      let attacker = try #require(try await listener.accept(within: .seconds(300)))
      let value = Task { try await connection.read(3) }
      #expect(try await attacker.receive(within: .seconds(300)) == [0x0A, 3, 0])
      try await attacker.send([number])
      // What the opcode of a request or an indication had it say.
      if [.request, .indication].contains(Opcode(number).kind) {
        _ = try await attacker.receive(within: .seconds(300))
      }
      if Opcode(number).kind != .response {
        try await attacker.send([0x0B, 9])
        #expect(try await value.value == [9])
      } else if number == 0x0B {
        #expect(try await value.value == [])
      } else {
        await #expect(throws: AttoError.self, "\(number)") { try await value.value }
      }
      connection.close()
      attacker.close()
    }
  }
}
