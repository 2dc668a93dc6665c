import CLinux
import EventLoop
import Links

/// The kernel's management socket on a loop. The loop's thread only.
///
/// # Theory
/// A reply names only the command's opcode and adapter. The kernel works on several commands at
/// a time, and may refuse a second one of a kind before the first is done; so of each opcode and
/// adapter one command is on its way at a time, and others of that kind wait behind it. Then a
/// reply belongs to the one that is on its way.
///
///     waiting --turn comes, sent--> sent --reply--> done
///     waiting or sent --deadline--> told that the kernel is silent
///
/// A command whose deadline has passed after it was sent keeps its place until its reply comes,
/// which is dropped: else the next one of its kind would take that for its own.
///
/// Everything else that comes is an event, given to every observer in order.
///
/// # Limits
/// ``commandLimit`` commands at a time. ``framesPerTurn`` frames a turn. Frames of the length
/// that the protocol allows, 65541 octets. When the socket's buffer (1 MB where the system
/// allows) overflows, the kernel drops events without a word; a dropped reply becomes a silence.
/// What is no frame is dropped and counted.
final class ManagementChannel {
  typealias Reply = Result<[UInt8], RadioError>

  static let commandLimit = 256
  static let framesPerTurn = 64
  /// How long the kernel may take to answer.
  static let patience: Duration = .seconds(10)
  private static let frameLimit = ManagementFrame.headerLength + 0xFFFF

  private struct Key: Hashable {
    var opcode: ManagementOpcode
    var index: UInt16
  }

  private final class Command {
    let frame: ManagementFrame
    var completion: ((Reply) -> Void)?
    var timer: OneTimer?

    init(_ frame: ManagementFrame, _ completion: @escaping (Reply) -> Void) {
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

  private let loop: Loop
  private var socket: WatchedDescriptor?
  /// For each key the commands that are under way; the first has been sent.
  private var queues: [Key: [Command]] = [:]
  private var count = 0
  private let observe: (UInt16, ManagementEvent) -> Void
  private var buffer = [UInt8](repeating: 0, count: frameLimit)
  /// Datagrams that were no frames, and events that were too short.
  private(set) var malformed = 0

  /// Opens the management of this machine.
  ///
  /// - Parameter observer: called with each event and the adapter it is about.
  /// - Throws: `link` with EAFNOSUPPORT where there is no Bluetooth, `system`.
  convenience init(
    on loop: Loop, _ observer: @escaping (UInt16, ManagementEvent) -> Void
  ) throws(RadioError) {
    let socket = clinux_management_socket()
    guard socket >= 0 else {
      throw .link(LinkError(.open, .system(-socket), endpoint: "le:"))
    }
    // A smaller buffer holds fewer events; nothing else depends on it.
    _ = clinux_set_option(socket, SOL_SOCKET, SO_RCVBUF, 1 << 20)
    try self.init(socket, on: loop, observer)
  }

  /// Takes over a socket that carries frames, one a datagram.
  init(
    _ socket: Int32, on loop: Loop, _ observer: @escaping (UInt16, ManagementEvent) -> Void
  ) throws(RadioError) {
    self.loop = loop
    observe = observer
    self.socket = try WatchedDescriptor(socket, on: loop) { [weak self] _ in self?.receive() }
  }

  /// Ends it; commands that are under way fail with `closed`. More than once does nothing.
  func close() {
    socket?.end()
    socket = nil
    let all = queues.values.joined()
    queues = [:]
    count = 0
    for command in all { command.end(.failure(.closed)) }
  }

  /// Has the kernel do something. The completion is called once, perhaps before this returns.
  ///
  /// - Parameter patience: nil waits for as long as the kernel takes.
  func send(
    _ opcode: ManagementOpcode, _ index: UInt16, _ parameters: [UInt8] = [],
    patience: Duration? = ManagementChannel.patience,
    _ completion: @escaping (Reply) -> Void = { _ in }
  ) {
    guard socket != nil else { return completion(.failure(.closed)) }
    guard count < Self.commandLimit else {
      return completion(.failure(.management(opcode, .busy, adapter: Self.adapter(index))))
    }
    let command = Command(
      ManagementFrame(code: opcode.rawValue, index: index, parameters), completion)
    let key = Key(opcode: opcode, index: index)
    if let patience {
      command.timer = OneTimer(after: patience, on: loop) { [weak self, unowned command] in
        self?.ranOut(command, key)
      }
    }
    queues[key, default: []].append(command)
    count += 1
    if queues[key]?.count == 1 { transmit(command, key) }
  }

  private static func adapter(_ index: UInt16) -> UInt16? {
    index == ManagementFrame.noIndex ? nil : index
  }

  private func transmit(_ command: Command, _ key: Key) {
    guard let socket else { return }
    let octets = command.frame.encoded
    let result = octets.withUnsafeBytes {
      clinux_send(socket.descriptor, $0.baseAddress, $0.count)
    }
    // The socket has no queue of its own: the kernel takes a command within the call.
    if result < 0 {
      finish(key, .failure(.system("\(key.opcode)", errno: Int32(-result))))
    }
  }

  private func ranOut(_ command: Command, _ key: Key) {
    let silence = RadioError.managementSilent(key.opcode, adapter: Self.adapter(key.index))
    if let place = queues[key]?.firstIndex(where: { $0 === command }), place > 0 {
      queues[key]?.remove(at: place)
      count -= 1
    }
    command.end(.failure(silence))
  }

  /// Ends the command that is on its way, and sends the next of its kind.
  private func finish(_ key: Key, _ reply: Reply) {
    guard var queue = queues[key] else { return }
    let command = queue.removeFirst()
    count -= 1
    queues[key] = queue.isEmpty ? nil : queue
    let next = queue.first
    command.end(reply)
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
      take(frame)
    }
    socket?.again()
  }

  private func take(_ frame: ManagementFrame) {
    let event = ManagementEvent(frame)
    switch event {
    case .malformed: malformed += 1
    case .answered(let opcode, let status, let parameters):
      let reply: Reply =
        status == .success
        ? .success(parameters)
        : .failure(.management(opcode, status, adapter: Self.adapter(frame.index)))
      finish(Key(opcode: opcode, index: frame.index), reply)
    default: observe(frame.index, event)
    }
  }
}
