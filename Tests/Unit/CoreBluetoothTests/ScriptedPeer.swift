import Atto
import Foundation

@testable import AttoCoreBluetooth

/// A peer that handles PDUs on the virtual air with a small fixed database, and vanishes at the request
/// that a test chooses.
///
/// Its ATT_MTU is 23 and it answers with one entry at a time, so that each procedure takes several
/// requests. The requests that the module itself sends are answered and not counted.
final class ScriptedPeer: Sendable {
  enum Vanishing: Sendable, Equatable {
    /// The request is received and not answered.
    case unanswered
    /// The response is sent just before.
    case answered
  }

  struct Plan: Sendable {
    /// The number of requests to answer before; nil: it does not vanish.
    var after: Int?
    var how = Vanishing.unanswered
    /// Whether the MTU exchange, the first request of a connection, counts.
    var refusesToBegin = false
    /// It stops reading without closing the link.
    var isDeaf = false
    /// The PDUs to send before each Write Response.
    var aheadOfWritten: [[UInt8]] = []
  }

  struct State: Sendable {
    var plan = Plan()
    var counted = 0
    var requests: [[UInt8]] = []
    /// The number of opened links.
    var links = 0
    var descriptor: Int32?
  }

  let name: String
  let state = Locked(State())
  let adapter: Adapter
  private let advertisement: Advertisement
  private let loop: Loop

  /// - Parameter loop: the loop of its radio. A test can block a loop of its own.
  init(_ name: String, on loop: Loop = RadioLoop.loop) async throws {
    self.name = name
    self.loop = loop
    guard case .air(let radio?) = Sandbox.radio() else { preconditionFailure("no air") }
    adapter = try Adapter.virtual(name: radio, loop: loop)
    var data = AdvertisingData()
    data.localName = name
    data.serviceUUIDs = [0x180D]
    advertisement = try await adapter.advertise(AdvertisingParameters(data))
    let links = advertisement.links
    let state = state
    Task(executorPreference: loop.tasks) {
      for await connected in links {
        let link = connected.unwrap()
        guard let descriptor = link.descriptor.map({ dup($0) }) else { continue }
        state.withLock { state in
          state.descriptor = descriptor
          state.links += 1
        }
        Thread.detachNewThread { [held = UncheckedBox(link)] in
          Self.serve(descriptor, state)
          loop.execute { held.content.close() }
        }
      }
    }
  }

  /// Closes its radio.
  func end() {
    advertisement.stop()
    vanish()
    let adapter = adapter
    Task { await adapter.close() }
  }

  /// Ends the link; on any thread.
  func vanish() {
    state.withLock { state in
      if let descriptor = state.descriptor { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
  }

  /// Whether there is data that it has not read.
  var hasUnread: Bool {
    state.withLock { state in
      guard let descriptor = state.descriptor else { return false }
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return poll(&watched, 1, 0) == 1
    }
  }

  /// Notifies numbers from 0, of two octets, as fast as the link accepts them.
  func flood(_ handle: UInt8, _ count: Int) {
    guard let descriptor = state.value.descriptor.map({ dup($0) }) else { return }
    Thread.detachNewThread {
      defer { close(descriptor) }
      for number in 0..<count {
        let pdu = [0x1B, handle, 0, UInt8(number & 0xFF), UInt8(number >> 8)]
        while write(descriptor, pdu, pdu.count) != pdu.count {
          guard errno == EAGAIN else { return }
          var watched = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
          poll(&watched, 1, -1)
        }
      }
    }
  }

  /// Sets its behaviour and resets the count of requests.
  func begin(_ plan: Plan) {
    state.withLock { state in
      state.plan = plan
      state.counted = 0
      state.requests = []
    }
  }

  private static func serve(_ descriptor: Int32, _ state: Locked<State>) {
    var buffer = [UInt8](repeating: 0, count: 1024)
    while true {
      while state.value.plan.isDeaf { usleep(1000) }
      var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      poll(&watched, 1, -1)
      let count = read(descriptor, &buffer, buffer.count)
      guard count > 0 else { break }
      let request = Array(buffer[..<count])
      // A command has no response.
      if request[0] == 0x52 { state.withLock { $0.requests.append(request) } }
      guard let response = response(to: request) else { continue }
      let (answers, stays) = state.withLock { state in decide(request, &state) }
      if answers, response[0] == 0x13 {
        for pdu in state.value.plan.aheadOfWritten { _ = write(descriptor, pdu, pdu.count) }
      }
      if answers { _ = response.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) } }
      if !stays { shutdown(descriptor, Int32(SHUT_RDWR)) }
    }
    state.withLock { state in
      if state.descriptor == descriptor { state.descriptor = nil }
      close(descriptor)
    }
  }

  /// - Returns: whether it answers, and whether it keeps the link.
  private static func decide(_ request: [UInt8], _ state: inout State) -> (Bool, Bool) {
    if request[0] == 0x02 { return state.plan.refusesToBegin ? (false, false) : (true, true) }
    guard !isHousekeeping(request) else { return (true, true) }
    state.requests.append(request)
    defer { state.counted += 1 }
    guard let after = state.plan.after, state.counted >= after else { return (true, true) }
    return (state.plan.how == .answered, false)
  }

  /// The search for Service Changed, and for the name.
  private static func isHousekeeping(_ request: [UInt8]) -> Bool {
    request[0] == 0x06 && request.suffix(2) == [0x01, 0x18]
      || request[0] == 0x08 && request.suffix(2) == [0x00, 0x2A]
  }

  // MARK: The database

  private static let value: [UInt8] = Array(0..<22)

  /// The response to a request; nil: none.
  private static func response(to request: [UInt8]) -> [UInt8]? {
    func word(_ place: Int) -> UInt16 {
      request.count > place + 1 ? UInt16(request[place]) | UInt16(request[place + 1]) << 8 : 0
    }
    func refusal(_ code: UInt8) -> [UInt8] { [0x01, request[0], request[1], request[2], code] }
    /// The first entry at or after the start of the requested range.
    func first(_ entries: [(UInt16, [UInt8])]) -> [UInt8] {
      entries.first { $0.0 >= word(1) && $0.0 <= word(3) }?.1 ?? refusal(0x0A)
    }
    switch request[0] {
    case 0x02: return [0x03, 23, 0]
    case 0x04:
      return first([
        (0x14, [0x05, 1, 0x14, 0, 0x02, 0x29]), (0x15, [0x05, 1, 0x15, 0, 0x01, 0x29]),
      ])
    case 0x06:
      return switch word(7) {
      case 0x180D: first([(0x10, [0x07, 0x10, 0, 0x1F, 0])])
      case 0x180F: first([(0x40, [0x07, 0x40, 0, 0x4F, 0])])
      default: refusal(0x0A)
      }
    case 0x08:
      return switch word(5) {
      case 0x2802: first([(0x11, [0x09, 8, 0x11, 0, 0x30, 0, 0x32, 0, 0x0A, 0x18])])
      case 0x2803:
        first([
          (0x12, [0x09, 7, 0x12, 0, 0x1E, 0x13, 0, 0x37, 0x2A]),
          (0x16, [0x09, 7, 0x16, 0, 0x0E, 0x17, 0, 0x01, 0xFF]),
        ])
      default: refusal(0x0A)
      }
    case 0x0A: return word(1) == 0x17 ? [0x0B, 7] : [0x0B] + value
    case 0x0C: return [0x0D] + value.prefix(10)
    case 0x10:
      return first([
        (0x10, [0x11, 6, 0x10, 0, 0x1F, 0, 0x0D, 0x18]),
        (0x40, [0x11, 6, 0x40, 0, 0x4F, 0, 0x0F, 0x18]),
      ])
    case 0x12: return [0x13]
    case 0x16: return [0x17] + request.dropFirst()
    case 0x18: return [0x19]
    default: return nil
    }
  }
}
