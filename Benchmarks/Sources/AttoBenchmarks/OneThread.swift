import Atto
import AttoATT
import AttoGATT
import AttoLinks
import Glibc

/// Reads with both ends in one thread and no loop: what the engine adds to four system calls.
func readsInOneThread(_ count: Int) throws {
  let (first, second) = try SocketLink.pair()
  let server = Server(try Bench.database(), application: Application())
  let client = Session(BearerConfiguration())
  let served = Session(BearerConfiguration(), server: server, client: server.connect()!)
  let room = UnsafeMutableRawBufferPointer.allocate(byteCount: 1024, alignment: 8)
  defer { room.deallocate() }
  let read = RepeatedRead(Bench.value)

  func pass(from: Session, _ out: SocketLink, to: Session, _ into: SocketLink) throws {
    _ = try from.transmit { (pdu) throws(LinkError) in try out.send(pdu) == .sent }
    var buffer = OutputRawSpan(buffer: room, initializedCount: 0)
    _ = try into.receive(into: &buffer)
    let length = buffer.finalize(for: room)
    _ = to.receive(
      UnsafeRawBufferPointer(rebasing: room[..<length]).bytes, at: Instant(nanoseconds: 0))
  }

  let watch = Stopwatch()
  for _ in 0..<count {
    client.start(read, at: Instant(nanoseconds: 0))
    try pass(from: client, first, to: served, second)
    try pass(from: served, second, to: client, first)
  }
  precondition(read.octets == count * 20)
  watch.report(count)
}

/// A read that keeps nothing but the count of what it got, so that it may be started again.
final class RepeatedRead: ClientOperation {
  private let handle: AttributeHandle
  @exclusivity(unchecked) var octets = 0
  init(_ handle: AttributeHandle) { self.handle = handle }

  override func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    ReadRequest(handle).encode(into: &out)
  }
  override func receive(_ response: borrowing PDU, mtu: Int) -> Bool {
    switch response {
    case .readResponse(let response): octets += response.value.byteCount
    default: fatalError("no value came")
    }
    return false
  }
}
