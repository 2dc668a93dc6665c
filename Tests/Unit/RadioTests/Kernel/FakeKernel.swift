import CAttoLinux
import AttoEventLoop
import AttoLinks
import Glibc
import Testing

@testable import AttoKernelRadio
@testable import AttoRadio

/// The kernel's end of a management socket: answers commands from a table and sends events. Runs on the
/// loop.
actor FakeKernel {
  nonisolated let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private let socket: Int32
  /// Where the adapter has the names of its monitors.
  let names: String
  private var watched: WatchedDescriptor?
  /// The frames that were received, in order.
  private(set) var received: [ManagementFrame] = []
  private var waiters: [Int: Waiter] = [:]
  private var nextWaiter = 0
  /// The answers by opcode. Other commands are answered with success and no parameters.
  private var answers: [UInt16: Answer] = [:]

  private struct Waiter {
    var opcode: ManagementOpcode
    var times: Int
    var timer: LoopTimer
    var continuation: CheckedContinuation<Bool, Never>
  }

  enum Answer: Sendable {
    case silence
    case status(ManagementStatus)
    case octets([UInt8])
  }

  init(_ socket: Int32, names: String = "", loop: Loop) {
    self.socket = socket
    self.names = names
    self.loop = loop
  }

  /// An adapter on this kernel, which supports extended advertising.
  ///
  /// - Parameter monitor: carries the datagrams of its monitor; nil: there is none.
  static func adapter(
    loop: Loop = .shared, settings: AdapterSettings = [.powered, .le, .bondable],
    monitor: Int32? = nil
  ) async throws -> (Adapter, FakeKernel) {
    let ends = try pair()
    let kernel = FakeKernel(ends.1, names: "atto-test-\(getpid())-\(ends.0)", loop: loop)
    try await kernel.begin(settings)
    let information = try #require(AdapterInformation(index: 0, Self.information(settings)))
    let adapter = Adapter(
      KernelBackend(information, socket: ends.0, monitorSocket: monitor, loop: loop), loop: loop)
    try await adapter.open()
    return (adapter, kernel)
  }

  static func pair() throws -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_seqpacket_pair(&ends) == 0)
    return (ends[0], ends[1])
  }

  static func information(_ settings: AdapterSettings) -> [UInt8] {
    // No public address, so that no listener uses an adapter of the real kernel.
    var octets = [UInt8](repeating: 0, count: AdapterInformation.length)
    octets.replaceSubrange(9..<13, with: UInt32.max.octets(4))
    octets.replaceSubrange(13..<17, with: settings.rawValue.octets(4))
    return octets
  }

  func begin(_ settings: AdapterSettings) throws {
    answer(.readInformation, .octets(Self.information(settings)))
    answer(.readCommands, .octets([2, 0, 0, 0, 0x54, 0, 0x55, 0]))
    answer(.readAdvertisingFeatures, .octets([0, 0, 0, 0, 31, 31, 2, 0]))
    watched = try WatchedDescriptor(socket, on: loop) { [weak self] _ in
      self?.assumeIsolated { $0.read() }
    }
  }

  func answer(_ opcode: ManagementOpcode, _ answer: Answer) { answers[opcode.code] = answer }

  private func read() {
    var buffer = [UInt8](repeating: 0, count: 2048)
    while true {
      let count = clinux_receive(socket, &buffer, buffer.count)
      guard count > 0, let frame = ManagementFrame(buffer[..<count]) else { return }
      received.append(frame)
      reply(to: frame)
      for (id, waiter) in waiters where self.count(waiter.opcode) >= waiter.times { end(id, true) }
    }
  }

  func reply(to frame: ManagementFrame) {
    switch answers[frame.code] {
    case .silence: break
    case .status(let status):
      tell(0x0002, frame.code.octets(2) + [status.rawValue], about: frame.index)
    case .octets(let octets):
      tell(0x0001, frame.code.octets(2) + [0] + octets, about: frame.index)
    case nil: tell(0x0001, frame.code.octets(2) + [0], about: frame.index)
    }
  }

  func tell(_ code: UInt16, _ parameters: [UInt8], about index: UInt16 = 0) {
    send(ManagementFrame(code: code, index: index, parameters).encoded)
  }

  /// Sends octets, which need not be a frame.
  func send(_ octets: [UInt8]) { _ = clinux_send(socket, octets, octets.count) }

  func count(_ opcode: ManagementOpcode) -> Int {
    received.filter { $0.code == opcode.code }.count
  }

  /// Waits until a command was received this many times. Fails the test after a minute.
  func wait(for opcode: ManagementOpcode, times: Int = 1) async {
    let isThere = await withCheckedContinuation { continuation in
      guard count(opcode) < times else { return continuation.resume(returning: true) }
      let id = nextWaiter
      nextWaiter += 1
      let timer = LoopTimer(after: .seconds(60), on: loop) { [weak self] in
        self?.assumeIsolated { $0.end(id, false) }
      }
      waiters[id] = Waiter(
        opcode: opcode, times: times, timer: timer, continuation: continuation)
    }
    #expect(isThere, "\(opcode) did not come \(times) times")
  }

  private func end(_ id: Int, _ isThere: Bool) {
    guard let waiter = waiters.removeValue(forKey: id) else { return }
    waiter.timer.cancel()
    waiter.continuation.resume(returning: isThere)
  }

  func last(_ opcode: ManagementOpcode) -> [UInt8]? {
    received.last { $0.code == opcode.code }?.parameters
  }

  func vanish() { watched?.end() }
}
