import Atto
import AttoCommandLine
import AttoEventLoop
import AttoLinks
import AttoRadio

/// The connection to the tester. Used on the loop's thread only.
///
/// Frames are received one by one, when they are asked for, so that a tester that sends without pause
/// is held back. Frames to the tester are queued. Those that answer it or a peer wait for ``hasRoom``;
/// the few others may exceed it, up to ``limit``: then the tester counts as lost.
final class BTPSocket: ReadinessHandler {
  /// Queued octets up to which there is room.
  static let room = 256 << 10
  static let limit = 8 << 20

  enum Input {
    case frame(BTPFrame)
    /// Nothing until the socket is readable.
    case nothing
    /// The tester has closed the socket.
    case end
  }

  private let socket: ChannelSocket
  private let loop: Loop
  private var watch: WatchID?
  private var reader = BTPFrameReader()
  private var queue: [UInt8] = []
  private var sent = 0
  private var failure: Unreachable?
  private var isOver = false
  /// Called when the socket may be readable, has ended, or has room again.
  var changed: () -> Void = {}

  init(_ socket: ChannelSocket, on loop: Loop) throws(AttoError) {
    self.socket = socket
    self.loop = loop
    guard let descriptor = socket.descriptor else { return }
    do throws(LoopError) {
      watch = try loop.watch(descriptor, self)
    } catch {
      throw .loop(error)
    }
  }

  var hasRoom: Bool { queue.count - sent < Self.room || isOver }

  func ready(_ readiness: Readiness) {
    flush()
    changed()
  }

  /// - Throws: `Unreachable` if the tester closed the socket within a frame, or does not read.
  func next() throws(Unreachable) -> Input {
    if let failure { throw failure }
    var octets = [UInt8](repeating: 0, count: 16_384)
    while true {
      if let frame = reader.next() { return .frame(frame) }
      if isOver { return .end }
      let receipt = octets.withUnsafeMutableBytes { bytes in
        var buffer = OutputRawSpan(buffer: bytes, initializedCount: 0)
        // An error ends the connection as well as the tester can.
        let receipt = (try? socket.receive(into: &buffer)) ?? .closed
        _ = buffer.finalize(for: bytes)
        return receipt
      }
      switch receipt {
      case .octets(let count): reader.append(Array(octets[..<count]))
      case .wouldBlock: return .nothing
      case .closed:
        isOver = true
        if reader.isInFrame {
          throw Unreachable(message: "the tester closed the socket within a frame")
        }
      }
    }
  }

  func send(_ frame: BTPFrame) {
    guard !isOver, failure == nil else { return }
    queue += frame.octets
    flush()
    guard queue.count - sent > Self.limit else { return }
    failure = Unreachable(message: "the tester does not read from the socket")
    changed()
  }

  private func flush() {
    let hadRoom = hasRoom
    while sent < queue.count {
      let piece = Array(queue[sent...].prefix(socket.sendLimit))
      guard let count = try? socket.send(piece.span.bytes) else {
        // The tester has gone. What it sent before can still be received.
        (queue, sent) = ([], 0)
        return
      }
      guard count > 0 else { break }
      sent += count
    }
    if sent == queue.count || sent > Self.room {
      queue.removeFirst(sent)
      sent = 0
    }
    if hasRoom, !hadRoom { changed() }
  }

  func close() {
    isOver = true
    if let watch { loop.unwatch(watch) }
    watch = nil
    socket.close()
    changed()
  }
}
