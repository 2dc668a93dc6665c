import Atto
import AttoLinks
import Glibc

/// Client rows with the async API, as an app writes them.
struct AsyncRows {
  let descriptor: Int32
  let loop: Loop

  init(_ descriptor: Int32, _ loop: Loop) {
    self.descriptor = descriptor
    self.loop = loop
  }

  func run(_ row: String, _ count: Int, _ size: Int) throws {
    let descriptor = descriptor
    let loop = loop
    try loop.runBlocking {
      let connection = try await Connection.adopt(
        { () throws(LinkError) in try SocketLink.adopt(descriptor) }, loop: loop)
      if row == "discover" ? size > 0 : size > 20 { try await connection.exchangeMTU() }
      let value = [UInt8](repeating: 0x31, count: size)
      switch row {
      case "read":
        let watch = Stopwatch()
        for _ in 0..<count { _ = try await connection.readOnce(Bench.value) }
        watch.report(count)
      case "write-command":
        let watch = Stopwatch()
        for _ in 0..<count { try await connection.writeWithoutResponse(value, to: Bench.value) }
        _ = try await connection.readOnce(Bench.value)
        watch.report(count)
      case "long-read":
        let watch = Stopwatch()
        for _ in 0..<count { _ = try await connection.readLong(Bench.long) }
        watch.report(count)
      case "long-write":
        let value = [UInt8](repeating: 0x33, count: 512)
        let watch = Stopwatch()
        for _ in 0..<count { try await connection.writeLong(value, to: Bench.long) }
        watch.report(count)
      case "discover":
        let watch = Stopwatch()
        for _ in 0..<count { _ = try await connection.discover() }
        watch.report(count)
      default:
        let values = try await connection.subscribe(
          to: Bench.stream, cccd: Bench.configuration)
        var wish = [UInt8]()
        for number in [count, size] {
          for shift in stride(from: 0, to: 32, by: 8) { wish.append(UInt8(number >> shift & 0xFF)) }
        }
        let watch = Stopwatch()
        try await connection.write(wish, to: Bench.stream)
        var got = 0
        for try await received in values {
          precondition(received.value.count == size && received.missed == 0)
          got += 1
          if got == count { break }
        }
        watch.report(count)
      }
    }
  }
}
