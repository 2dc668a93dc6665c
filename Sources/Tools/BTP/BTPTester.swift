import Atto
import AttoCommandLine
import AttoEventLoop
import AttoLinks
import AttoRadio
import AttoStore

/// This end of the Bluetooth Test Protocol: it carries out the commands of a tester on an adapter, and
/// reports events. Runs on the loop.
///
/// Commands begin in their order. One that waits for a peer is answered later, and the next ones
/// begin meanwhile, at most ``commandLimit``. Each service is an extension in a file of its own.
package actor BTPTester {
  /// Commands that wait for peers.
  static let commandLimit = 64

  nonisolated let loop: Loop
  package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  let adapter: Adapter
  /// The number that the tester has for the adapter.
  let index: UInt8
  /// The options of each connection.
  let options: ConnectionOptions
  let server: LocalServer
  /// The bonds with their signing keys; nil if there are none.
  let store: StoreFile?
  private let isVerbose: Bool

  private var socket: BTPSocket?
  private let changes: BTPChanges
  private var tasks: [UInt64: Task<Void, Never>] = [:]
  private var lastTask: UInt64 = 0
  private var commands = 0
  private var failure: (any Error)?

  var registered: Set<BTPService> = [.core]
  var peers: [UInt64: BTPPeer] = [:]
  var lastPeer: UInt64 = 0
  var gap = BTPGAPState()
  var gatt: BTPDatabase
  var clients: [ClientID: BluetoothAddress] = [:]
  /// What peers have written to Client Characteristic Configurations, by address.
  var configurations: [UInt64: [AttributeHandle: [UInt8]]] = [:]
  /// The peer whose link is being adopted.
  var arriving: BluetoothAddress?
  var observation: ServerObservation?
  var lastDelivery: Task<Void, Never>?
  var l2cap = BTPL2CAPState()

  package init(
    _ adapter: Adapter, index: UInt8, options: ConnectionOptions, store: StoreFile?,
    isVerbose: Bool
  ) {
    self.adapter = adapter
    self.index = index
    self.options = options
    self.store = store
    self.isVerbose = isVerbose
    loop = adapter.loop
    changes = BTPChanges(on: adapter.loop)
    let name = adapter.name.isEmpty ? "Atto" : adapter.name
    server = LocalServer(Database(name: name, serverFeatures: 0), loop: adapter.loop)
    gatt = BTPDatabase()
  }

  /// Connects to the socket on which the tester listens, and carries out its commands until it closes
  /// the socket.
  ///
  /// - Throws: `AttoError.link` if the socket cannot be connected to, `Unreachable` if the tester breaks
  ///   off, `RadioError` if the adapter is lost.
  package func run(_ path: String) async throws {
    defer { end() }
    try await connect(path)
    try await beginGAP()
    try await beginGATT()
    socket?.send(BTPFrame(service: BTPService.core.rawValue, opcode: 0x80, index: 0xFF))
    while let command = try await next() { await handle(command) }
    if let failure { throw failure }
  }

  private func connect(_ path: String) async throws {
    try await loop.withLocalWaiter { (waiter: Waiter<Void, AttoError>) in
      let attempt = LinkAttempt<ChannelSocket>(on: loop, timeout: .seconds(10)) {
        () throws(LinkError) in
        try SocketConnector(stream: UnixAddress(path: path))
      } completion: { end in
        do throws(AttoError) {
          switch end {
          case .connected(let connected): self.socket = try BTPSocket(connected, on: self.loop)
          case .failed(let error): throw .link(error)
          case .unwatched(let error): throw .loop(error)
          case .timedOut(let time): throw .connectTimeout(endpoint: "unix:\(path)", after: time)
          case .givenUp: throw .cancelled
          }
          waiter.resume(.success(()))
        } catch {
          waiter.resume(.failure(error))
        }
      }
      waiter.whenCancelled = { attempt.giveUp() }
      attempt.start()
    }
    socket?.changed = { [weak self] in self?.assumeIsolated { $0.changed() } }
  }

  private func end() {
    for task in tasks.values { task.cancel() }
    for peer in peers.values { peer.connection.close() }
    endGAP()
    endL2CAP()
    socket?.close()
    observation = nil
  }

  // MARK: Waiting

  func changed() { changes.changed() }

  private func next() async throws -> BTPFrame? {
    while failure == nil, let socket {
      let count = changes.count
      if socket.hasRoom, commands < Self.commandLimit {
        switch try socket.next() {
        case .frame(let frame): return frame
        case .end: return nil
        case .nothing: break
        }
      }
      try await changes.next(after: count)
    }
    return nil
  }

  /// Waits until the tester has read what was sent, for what a peer or a radio may cause without limit.
  func room() async {
    while socket?.hasRoom == false, !Task.isCancelled {
      try? await changes.next(after: changes.count)
    }
  }

  /// Ends the command: the adapter is lost.
  func fail(_ error: any Error) {
    failure = error
    changed()
  }

  // MARK: Frames

  private func handle(_ command: BTPFrame) async {
    if isVerbose { Terminal.note("> \(command.name) \(Shown.hex(command.parameters))") }
    do {
      if let reply = try await reply(to: command) { respond(command.response(reply)) }
    } catch {
      respond(response(to: command, error))
    }
  }

  private func respond(_ response: BTPFrame) { send(response) }

  private func send(_ frame: BTPFrame) {
    if isVerbose { Terminal.note("< \(frame.name) \(Shown.hex(frame.parameters))") }
    socket?.send(frame)
  }

  /// Reports an event if the tester has registered the service.
  func send(_ event: UInt8, of service: BTPService, _ parameters: [UInt8]) {
    guard registered.contains(service) else { return }
    send(
      BTPFrame(service: service.rawValue, opcode: event, index: index, parameters: parameters))
  }

  /// Returns the parameters of the response; nil if it comes later.
  private func reply(to command: BTPFrame) async throws -> [UInt8]? {
    guard let service = BTPService(rawValue: command.service), registered.contains(service),
      let handler = service.command(command.opcode)?.handler
    else { throw BTPStatus.unknownCommand }
    guard service.accepts(command.index, for: command.opcode, of: index) else {
      throw BTPStatus.invalidIndex
    }
    var parameters = BTPParameters(command.parameters)
    return try await handler(self, command, &parameters)
  }

  // MARK: Tasks

  /// Runs something beside the commands, until this end is over.
  @discardableResult
  func start(_ body: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
    lastTask += 1
    let id = lastTask
    let task = Task(executorPreference: loop.tasks) {
      await body()
      await self.taskEnded(id)
    }
    tasks[id] = task
    return task
  }

  private func taskEnded(_ id: UInt64) { tasks[id] = nil }

  /// Answers a command when `body` has ended: with its result, or with Fail.
  func later(_ command: BTPFrame, _ body: @escaping @Sendable () async throws -> [UInt8]) {
    commands += 1
    start {
      do {
        await self.answer(command.response(try await body()))
      } catch {
        await self.answer(self.response(to: command, error))
      }
    }
  }

  private func answer(_ response: BTPFrame) {
    commands -= 1
    respond(response)
    changed()
  }

  private func response(to command: BTPFrame, _ error: any Error) -> BTPFrame {
    if let status = error as? BTPStatus { return command.response(status) }
    note(command.name, error)
    return command.response(.fail)
  }

  /// Says on standard error why something failed, for which the protocol has no words.
  func note(_ what: String, _ error: any Error) {
    guard !ExitStatus(error).isInterruption else { return }
    Terminal.note("\(what): \(ExitStatus(error).message)")
  }
}

extension BTPService {
  /// Whether a command may have this controller index.
  ///
  /// - Parameter own: the index of the adapter.
  func accepts(_ index: UInt8, for opcode: UInt8, of own: UInt8) -> Bool {
    switch (self, opcode) {
    case (.core, _): index == BTPFrame.noController
    // Documents, testers and other implementations do not agree on these.
    case (_, 0x01), (.gap, 0x02), (.gattServer, _):
      index == BTPFrame.noController || index == own
    default: index == own
    }
  }
}

extension BTPFrame {
  /// The service and the command, for messages.
  var name: String {
    guard let known = BTPService(rawValue: service) else { return "service \(service)" }
    if opcode == Self.errorOpcode { return "\(known.name) error" }
    if opcode >= 0x80 { return "\(known.name) event 0x\(Shown.hex([opcode]))" }
    let name = known.command(opcode)?.name
    return "\(known.name) \(name ?? "command 0x\(Shown.hex([opcode]))")"
  }
}
