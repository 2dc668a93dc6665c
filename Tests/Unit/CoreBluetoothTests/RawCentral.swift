import Atto
import AttoLinks
import Foundation
import Testing

@testable import AttoCoreBluetooth

/// A central that sends PDUs on the virtual air, with ATT_MTU 23.
final class RawCentral: Sendable {
  private let adapter: Adapter
  private let link: UncheckedBox<any Link>
  private let descriptor: Int32

  init(to peer: BluetoothAddress) async throws {
    guard case .air(let name?) = Sandbox.radio() else { preconditionFailure("no air") }
    adapter = try Adapter.virtual(name: name, loop: RadioLoop.loop)
    let connected = try await adapter.connect(to: peer, timeout: .seconds(20))
    link = await Task { @RadioLoop in UncheckedBox(connected.unwrap()) }.value
    let own = link.content.descriptor
    descriptor = dup(try #require(own))
  }

  deinit { Glibc.close(descriptor) }

  func send(_ pdu: [UInt8]) {
    _ = pdu.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
  }

  /// The next PDU; empty at the end, or if none comes within 20 s.
  func receive() async -> [UInt8] {
    let descriptor = descriptor
    return await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&watched, 1, 20_000)
        var buffer = [UInt8](repeating: 0, count: 1024)
        let count = read(descriptor, &buffer, buffer.count)
        continuation.resume(returning: Array(buffer.prefix(max(0, count))))
      }
    }
  }

  func ask(_ pdu: [UInt8]) async -> [UInt8] {
    send(pdu)
    return await receive()
  }

  func end() async {
    let link = link
    await Task { @RadioLoop in link.content.close() }.value
    await adapter.close()
  }
}
