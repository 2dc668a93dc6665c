import Atto
import AttoLinks
import Synchronization

/// Prints the exchanges of a row once, for the bare program to do again.
func record(_ row: String, _ descriptor: Int32, mtu: Int, on loop: Loop) throws {
  let lines = Mutex<[String]>([])
  try loop.runBlocking {
    var options = ConnectionOptions()
    options.receiveMTU = max(23, mtu)
    let isRecording = Mutex(false)
    options.monitor = { pdu in
      guard isRecording.withLock({ $0 }) else { return }
      let hex = pdu.octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      lines.withLock { $0.append((pdu.direction == .sent ? "> " : "< ") + hex) }
    }
    let connection = try await Connection.adopt(
      { () throws(LinkError) in try SocketLink.adopt(descriptor) }, options: options, loop: loop)
    if mtu > 23 { try await connection.exchangeMTU() }
    isRecording.withLock { $0 = true }
    switch row {
    case "discover": _ = try await connection.discover()
    case "long-read": _ = try await connection.readLong(Bench.long)
    default: try await connection.writeLong(Array(repeating: 0x33, count: 512), to: Bench.long)
    }
  }
  for line in lines.withLock({ $0 }) { print(line) }
}
