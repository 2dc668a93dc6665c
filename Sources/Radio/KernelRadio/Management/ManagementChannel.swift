import AttoEventLoop
import AttoLinks
import AttoRadio
import CAttoLinux

/// The kernel's management socket. The loop's thread only.
///
/// # Theory
/// A reply names the opcode and the adapter of its command, and nothing else. The kernel processes
/// several commands at a time, and may refuse a second one of a kind before the first is done. So
/// for each opcode and adapter one command is sent at a time, and others wait behind it. Then a
/// reply belongs to the command that was sent.
///
///     waiting --its turn--> sent --reply--> done
///     waiting or sent --deadline--> failed with `managementSilent`
///
/// A command whose deadline has passed after it was sent keeps its place until its reply arrives,
/// which is dropped. Otherwise the next command of its kind would take the reply for its own.
///
/// All other frames are events for the observer, in order.
///
/// # Limits
/// ``commandLimit`` commands at a time. ``framesPerTurn`` frames a turn. Frames of 65541 octets, the
/// limit of the protocol. When the buffer of the socket overflows (1 MB where the system permits),
/// the kernel drops frames without notice; a dropped reply leads to `managementSilent`. Malformed
/// frames are dropped and counted.
final class ManagementChannel {
  typealias Reply = Result<[UInt8], RadioError>

  static let commandLimit = 256
  static let framesPerTurn = 64
  /// The time in which the kernel must answer.
  static let patience: Duration = .seconds(10)
  private static let frameLimit = ManagementFrame.headerLength + 0xFFFF

  private struct Key: Hashable {
    var code: UInt16
    var index: UInt16

    var adapter: UInt16? { index == ManagementFrame.noIndex ? nil : index }
  }

  private final class Command {
    let opcode: ManagementOpcode
    let frame: ManagementFrame
    var completion: ((Reply) -> Void)?
    var timer: LoopTimer?

    init(
      _ opcode: ManagementOpcode, _ frame: ManagementFrame,
      _ completion: @escaping (Reply) -> Void
    ) {
      self.opcode = opcode
      self.frame = frame
      self.completion = completion
    }

    func end(_ reply: Reply) {
      timer?.cancel()
      timer = nil
      let completion = completion
      self.completion = nil
      completion?(reply)
    }
  }

  let loop: Loop
  private var socket: WatchedDescriptor?
  /// The commands of each key; the first has been sent.
  private var queues: [Key: [Command]] = [:]
  private var count = 0
  private let observe: (UInt16, ManagementEvent) -> Void
  private var buffer = [UInt8](repeating: 0, count: frameLimit)
  /// Datagrams that were not frames, and events that were too short.
  private(set) var malformed = 0

  /// Opens the management socket of this machine.
  ///
  /// - Parameters:
  ///   - socket: carries frames in place of the kernel's socket, in tests. Owned from now on.
  ///   - observer: called with each event and its adapter.
  /// - Throws: `link` with EAFNOSUPPORT where there is no Bluetooth, `system`.
  init(
    _ socket: Int32? = nil, on loop: Loop,
    _ observer: @escaping (UInt16, ManagementEvent) -> Void
  ) throws(RadioError) {
    let socket = socket ?? clinux_management_socket()
    guard socket >= 0 else {
      throw .link(LinkError(.open, .system(-socket), endpoint: "le:"))
    }
    // If this fails, the buffer holds fewer events.
    _ = clinux_set_option(socket, SOL_SOCKET, SO_RCVBUF, 1 << 20)
    self.loop = loop
    observe = observer
    self.socket = try WatchedDescriptor(socket, on: loop) { [weak self] _ in self?.receive() }
  }

  /// Closes the socket. Commands that are under way fail. More than once does nothing.
  func close(_ reason: RadioError = .closed) {
    socket?.end()
    socket = nil
    let all = queues.values.joined()
    queues = [:]
    count = 0
    for command in all { command.end(.failure(reason)) }
  }

  /// Sends a command. The completion is called once, perhaps before this returns.
  ///
  /// - Parameter patience: the time in which the kernel must answer; nil: without limit.
  func send(
    _ opcode: ManagementOpcode, _ index: UInt16, _ parameters: [UInt8] = [],
    patience: Duration? = ManagementChannel.patience,
    _ completion: @escaping (Reply) -> Void = { _ in }
  ) {
    guard socket != nil else { return completion(.failure(.closed)) }
    let key = Key(code: opcode.code, index: index)
    guard count < Self.commandLimit else {
      return completion(.failure(.management(opcode, .busy, adapter: key.adapter)))
    }
    let command = Command(
      opcode, ManagementFrame(code: opcode.code, index: index, parameters), completion)
    if let patience {
      command.timer = LoopTimer(after: patience, on: loop) { [weak self, unowned command] in
        self?.expired(command, key)
      }
    }
    queues[key, default: []].append(command)
    count += 1
    if queues[key]?.count == 1 { transmit(command, key) }
  }

  private func transmit(_ command: Command, _ key: Key) {
    guard let socket else { return }
    let octets = command.frame.encoded
    let result = octets.withUnsafeBytes {
      clinux_send(socket.descriptor, $0.baseAddress, $0.count)
    }
    // There is no queue to wait for: the kernel accepts a command within the call.
    if result < 0 {
      finish(key) { _ in .failure(.system("\(command.opcode)", errno: Int32(-result))) }
    }
  }

  private func expired(_ command: Command, _ key: Key) {
    if let place = queues[key]?.firstIndex(where: { $0 === command }), place > 0 {
      queues[key]?.remove(at: place)
      count -= 1
    }
    command.end(.failure(.managementSilent(command.opcode, adapter: key.adapter)))
  }

  /// Ends the command that was sent, and sends the next of its kind.
  private func finish(_ key: Key, _ reply: (ManagementOpcode) -> Reply) {
    guard var queue = queues[key] else { return }
    let command = queue.removeFirst()
    count -= 1
    queues[key] = queue.isEmpty ? nil : queue
    let next = queue.first
    command.end(reply(command.opcode))
    if let next, queues[key]?.first === next { transmit(next, key) }
  }

  private func receive() {
    for _ in 0..<Self.framesPerTurn {
      guard let socket else { return }
      let length = buffer.withUnsafeMutableBytes {
        clinux_receive(socket.descriptor, $0.baseAddress, $0.count)
      }
      guard length != -Int(EAGAIN) else { return }
      guard length > 0 else { return close() }
      guard length <= buffer.count, let frame = ManagementFrame(buffer[..<length]) else {
        malformed += 1
        continue
      }
      receive(frame)
    }
    socket?.again()
  }

  private func receive(_ frame: ManagementFrame) {
    let event = ManagementEvent(frame)
    switch event {
    case .malformed: malformed += 1
    case .answered(let code, let status, let parameters):
      let key = Key(code: code, index: frame.index)
      finish(key) { opcode in
        status == .success
          ? .success(parameters) : .failure(.management(opcode, status, adapter: key.adapter))
      }
    default: observe(frame.index, event)
    }
  }
}
