import CLinux
import EventLoop
import Links
import Testing

@testable import Radio

/// The kernel's end of a management socket, played by a test: answers commands by a table and
/// tells events. Everything on the loop.
actor FakeKernel {
  nonisolated let loop: Loop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  private let socket: Int32
  private var watched: WatchedDescriptor?
  /// What came, in order.
  private(set) var received: [ManagementFrame] = []
  private var waiters: [Int: Waiter] = [:]
  private var nextWaiter = 0
  /// What is answered; a command without an entry is answered with success and nothing.
  private var answers: [ManagementOpcode: Answer] = [:]

  private struct Waiter {
    var opcode: ManagementOpcode
    var times: Int
    var timer: OneTimer
    var continuation: CheckedContinuation<Bool, Never>
  }

  enum Answer: Sendable {
    case silence
    case status(ManagementStatus)
    case octets([UInt8])
  }

  init(_ socket: Int32, loop: Loop) {
    self.socket = socket
    self.loop = loop
  }

  /// An adapter whose kernel this is: powered, LE, bondable, of the newer commands.
  static func adapter(
    loop: Loop = .shared, settings: AdapterSettings = [.powered, .le, .bondable]
  ) async throws -> (KernelAdapter, FakeKernel) {
    let ends = pair()
    let kernel = FakeKernel(ends.1, loop: loop)
    try await kernel.begin(settings)
    let information = AdapterInformation(index: 0, Self.information(settings))!
    let adapter = KernelAdapter(information, loop: loop)
    try await adapter.begin(socket: ends.0)
    return (adapter, kernel)
  }

  static func pair() -> (Int32, Int32) {
    var ends: [Int32] = [-1, -1]
    precondition(clinux_seqpacket_pair(&ends) == 0)
    return (ends[0], ends[1])
  }

  static func information(_ settings: AdapterSettings) -> [UInt8] {
    // No public address: so that no listener looks for the adapter in the real kernel.
    var octets = [UInt8](repeating: 0, count: AdapterInformation.length)
    octets.replaceSubrange(9..<13, with: UInt32.max.octets(4))
    octets.replaceSubrange(13..<17, with: settings.rawValue.octets(4))
    return octets
  }

  func begin(_ settings: AdapterSettings) throws {
    answers[.readInformation] = .octets(Self.information(settings))
    answers[.readCommands] = .octets([2, 0, 0, 0, 0x54, 0, 0x55, 0])
    answers[.readAdvertisingFeatures] = .octets([0, 0, 0, 0, 31, 31, 2, 0])
    watched = try WatchedDescriptor(socket, on: loop) { [weak self] _ in
      self?.assumeIsolated { $0.read() }
    }
  }

  func answer(_ opcode: ManagementOpcode, _ answer: Answer) { answers[opcode] = answer }

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
    let opcode = ManagementOpcode(rawValue: frame.code)
    switch answers[opcode] {
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

  /// Octets that need be no frame.
  func send(_ octets: [UInt8]) { _ = clinux_send(socket, octets, octets.count) }

  func count(_ opcode: ManagementOpcode) -> Int {
    received.filter { $0.code == opcode.rawValue }.count
  }

  /// Waits until a command has come so often; fails the test after 10 s.
  func wait(for opcode: ManagementOpcode, times: Int = 1) async {
    let isThere = await withCheckedContinuation { continuation in
      guard count(opcode) < times else { return continuation.resume(returning: true) }
      let id = nextWaiter
      nextWaiter += 1
      let timer = OneTimer(after: .seconds(10), on: loop) { [weak self] in
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
    received.last { $0.code == opcode.rawValue }?.parameters
  }

  func vanish() { watched?.end() }
}
