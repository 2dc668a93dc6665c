import ATT
import CLinux
import Glibc
import Links

/// A received PDU, or why there was none.
enum Received: Equatable {
  case pdu([UInt8])
  /// Cut: what arrived, and how long it had been.
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

  /// Everything there is now.
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

/// Notes what an observer is told.
final class Observer: LinkObserver {
  var told: [LinkReadiness] = []
  var onReady: (LinkReadiness) -> Void = { _ in }
  func linkReady(_ readiness: LinkReadiness) {
    told.append(readiness)
    onReady(readiness)
  }
}

/// A folder of its own, removed with what is in it.
final class Folder {
  let path: String

  init() {
    let place = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
    var template = Array("\(place)/links-XXXXXX".utf8CString)
    path = String(cString: mkdtemp(&template))
  }

  func callAsFunction(_ name: String) -> UnixAddress { UnixAddress(path: "\(path)/\(name)") }

  deinit {
    if let folder = opendir(path) {
      while let entry = readdir(folder) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
          String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        }
        unlink("\(path)/\(name)")
      }
      closedir(folder)
    }
    rmdir(path)
  }
}

/// A PDU of a length whose octets differ.
func octets(_ count: Int) -> [UInt8] {
  (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ count) }
}
