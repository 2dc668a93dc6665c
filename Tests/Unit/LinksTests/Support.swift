import TestSupport
import AttoATT
import CAttoLinux
import Glibc
import AttoLinks

/// A received PDU, or why there was none.
enum Received: Equatable {
  case pdu([UInt8])
  /// A truncated PDU: the octets that arrived, and its original length.
  case cut([UInt8], from: Int)
  case wouldBlock
  case closed
}

extension Link {
  @discardableResult
  func send(_ octets: [UInt8]) throws(LinkError) -> SendOutcome {
    try send(octets.span.bytes)
  }

  func receive(room: Int = 1024) throws(LinkError) -> Received {
    let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 1)
    defer { bytes.deallocate() }
    var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
    let outcome = try receive(into: &buffer)
    let octets = Array(bytes[..<buffer.finalize(for: bytes)])
    switch outcome {
    case .pdu(nil): return .pdu(octets)
    case .pdu(let length?): return .cut(octets, from: length)
    case .wouldBlock: return .wouldBlock
    case .closed: return .closed
    }
  }

  /// Receives all available PDUs.
  func receiveAll() throws(LinkError) -> [Received] {
    var all: [Received] = []
    while true {
      let next = try receive()
      if next == .wouldBlock { return all }
      all.append(next)
      if next == .closed { return all }
    }
  }
}

/// Records the notifications of an observer.
final class Observer: LinkObserver {
  var told: [LinkReadiness] = []
  var onReady: (LinkReadiness) -> Void = { _ in }
  func linkReady(_ readiness: LinkReadiness) {
    told.append(readiness)
    onReady(readiness)
  }
}

extension TemporaryFolder {
  func callAsFunction(_ name: String) -> UnixAddress { UnixAddress(path: file(name)) }
}

/// A PDU with differing octets.
func octets(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ count) }
}

extension UnixAddress {
  /// Connects. A Unix socket connects at once.
  func connect() throws(LinkError) -> SocketLink {
    let connector = try SocketConnector(self)
    _ = try connector.start()
    guard let link = try connector.finish() else {
      throw LinkError(.connect, .system(EINPROGRESS), endpoint: description)
    }
    return link
  }
}
