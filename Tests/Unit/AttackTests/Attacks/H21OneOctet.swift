import TestSupport
import AttoATT
import Foundation
import AttoGATT
import Testing

@testable import Atto

/// An L2CAP SDU of one octet, and too many credits.
///
/// The kernel handles credits and segments. Atto can receive an SDU that is shorter than any
/// header, on real sockets, and a peer that sends without reading or reads without limit.
@Suite(.sideBySide) struct H21OneOctet {
  /// A server on its own loop, which runs concurrently with the test.
  private func serve(_ endpoint: Endpoint) async throws -> (LocalServer, ServerListener) {
    let loop = try Loop(name: "h21")
    try loop.start()
    let server = LocalServer(Database([service(value([7]))]), loop: loop)
    return (server, try await server.listen(on: endpoint))
  }

  @Test("H21 server: every SDU of one octet is a PDU, answered or not as its opcode says")
  func h21Server() async throws {
    let folder = TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let endpoint = Endpoint.unix(path: folder.file("s"))
    let (server, listener) = try await serve(endpoint)
    let attacker = try await RawConnection.connect(to: endpoint)
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
    // If no room was made in several turns of the loop, it has stopped reading.
    var standstill = 0
    while standstill < 20, given < 100_000 {
      let before = given
      while send(attacker, [0x0A, 3, 0] as [UInt8], 3, flags) == 3 { given += 1 }
      #expect(errno == EAGAIN)
      standstill = given == before ? standstill + 1 : 0
      _ = try await server.clients
    }
    #expect(given < 20_000, "\(given) requests were read, and no response was taken")
    // Reading the responses in order makes the server read again.
    var response = [UInt8](repeating: 0, count: 64)
    for _ in 0..<given {
      #expect(recv(attacker, &response, response.count, 0) == 2)
      #expect(response[..<2] == [0x0B, 7])
    }
    connection.close()
  }

  @Test("H21 client: an SDU of one octet ends a request, or does nothing, and the caller is told")
  func h21Client() async throws {
    let folder = TemporaryFolder()
    defer { withExtendedLifetime(folder) {} }
    let endpoint = Endpoint.unix(path: folder.file("s"))
    let listener = try await RawListener.listen(on: endpoint)
    // Either end may be slow on a busy machine.
    var options = ConnectionOptions()
    options.transactionTimeout = .seconds(300)
    for number in UInt8.min...UInt8.max {
      let connection = try await Connection.connect(to: endpoint, options: options)
      let attacker = try #require(try await listener.accept(within: .seconds(300)))
      let value = Task { try await connection.readOnce(3) }
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
