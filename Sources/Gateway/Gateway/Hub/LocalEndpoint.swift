import Atto
import AttoATT
import AttoEventLoop
import AttoGATT

/// The Unix socket of a device, through which local programs use its link as if each had one of its own.
///
/// # Theory
/// The socket exists while there is a link. Behind it is a server with the device's services and handles
/// (``LocalDatabase``): it answers discovery and keeps each program's Client Characteristic
/// Configurations. Reads and writes of values go to the device in turn with those of the other users. The
/// device is subscribed to while a program is.
///
/// Each program has a queue of values of its own. One that does not read loses the oldest beyond
/// ``Device/eventLimit``, which are counted for the device; the others are not delayed by it.
///
/// The link is wanted while a program is connected.
actor LocalEndpoint {
  private nonisolated let loop: Loop
  private let device: Device
  private let path: String
  private let group: UInt32?
  private let clientLimit: Int
  private var use: DeviceUse?
  private var server: LocalServer?
  private var listener: ServerListener?
  private var observation: ServerObservation?
  private var subscribed: Set<AttributeHandle> = []
  /// Characteristics that only indicate.
  private var indicating: Set<AttributeHandle> = []
  private var programs: [ClientID: Program] = [:]

  private typealias Value = (handle: AttributeHandle, octets: [UInt8])

  private struct Program {
    let values: BatchQueue<Value>
    let sending: Task<Void, Never>

    func end() {
      values.end()
      sending.cancel()
    }
  }

  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

  init(_ device: Device, path: String, group: UInt32?, clientLimit: Int) {
    loop = device.loop
    self.device = device
    self.path = path
    self.group = group
    self.clientLimit = clientLimit
  }

  /// Serves until the task is cancelled, or the device is dropped.
  func run() async {
    let use = await device.use(as: "local", isPassive: true)
    self.use = use
    while let batch = await use.events.next() {
      for event in batch.elements {
        switch event {
        case .connected: await open(use)
        case .value(let handle, let value): pass((handle, value))
        case .disconnected, .databaseChanged: close()
        }
      }
      // An event may have been among those that were missed.
      if batch.missed > 0, server == nil, await device.connection != nil { await open(use) }
      if case .databaseChanged? = batch.elements.last { await open(use) }
    }
    close()
    use.release()
    self.use = nil
  }

  private func open(_ use: DeviceUse) async {
    close()
    do {
      let remote = try await use.database()
      let local = try LocalDatabase(remote)
      var limits = ServerLimits()
      limits.clients = clientLimit
      let server = LocalServer(local.database, loop: loop, limits: limits)
      for handle in local.handles { Self.connect(handle, of: server, to: use) }
      indicating = Set(
        remote.services.flatMap(\.characteristics).filter { !$0.properties.contains(.notify) }
          .map(\.valueHandle))
      // Before the first program can connect.
      self.server = server
      observation = try await server.observe { [weak self] event in
        guard let self else { return }
        self.here { $0.received(event) }
      }
      var options = ListenOptions()
      options.unixGroup = group
      listener = try await server.listen(on: .unix(path: path), options: options)
    } catch let error as AttoError {
      close()
      if !error.isCancellation { log("\(error)") }
    } catch {
      close()
      log("\(error)")
    }
  }

  private func log(_ text: String) { device.hub.log(.warning, "unix:\(path): \(text)") }

  private func close() {
    listener?.stop()
    server?.disconnect()
    (server, listener, observation) = (nil, nil, nil)
    subscribed = []
    for program in programs.values { program.end() }
    programs = [:]
    use?.setPassive(true)
  }

  // MARK: Clients

  private func received(_ event: ServedEvent) {
    switch event {
    case .connected(let client, _): start(client)
    case .disconnected(let client, _): programs.removeValue(forKey: client)?.end()
    case .server(.configured(let handle, let kind, _)):
      if !kind.isEmpty { subscribed.insert(handle) }
    default: return
    }
    use?.setPassive(programs.isEmpty)
    for handle in subscribed { Task(executorPreference: loop.tasks) { await self.follow(handle) } }
  }

  /// Subscribes to the device while a program has.
  private func follow(_ handle: AttributeHandle) async {
    guard let server, let use else { return }
    do {
      if try await server.hasSubscribers(to: handle) {
        try await use.subscribe(handle)
      } else {
        subscribed.remove(handle)
        try await use.unsubscribe(handle)
      }
    } catch let error as GatewayError {
      if error != .cancelled { log("\(handle): \(error)") }
    } catch {
      // The server has ended.
    }
  }

  private func start(_ client: ClientID) {
    guard let server else { return }
    let values = BatchQueue<Value>(limit: Device.eventLimit)
    let batches = Batches(values, on: loop)
    programs[client] = Program(
      values: values,
      sending: Task(executorPreference: loop.tasks) {
        while let batch = await batches.next() {
          for value in batch.elements { await self.send(value, to: client, of: server) }
        }
      })
  }

  private func send(_ value: Value, to client: ClientID, of server: LocalServer) async {
    if indicating.contains(value.handle) {
      _ = try? await server.indicate(value.octets, of: value.handle, to: client)
    } else {
      _ = try? await server.notify(value.octets, of: value.handle, to: client)
    }
  }

  /// Passes a value on.
  private func pass(_ value: Value) {
    for program in programs.values where !program.values.add(value) {
      device.here { $0.counted.dropped += 1 }
      if program.values.dropped == 1 { log("a program reads too slowly and loses values") }
    }
  }

  // MARK: Values

  private static func connect(
    _ handle: AttributeHandle, of server: LocalServer, to use: DeviceUse
  ) {
    server.onRead(of: handle) { [weak use] _ throws(ErrorCode) in
      guard let use else { throw .unlikelyError }
      do throws(GatewayError) {
        return try await use.read(handle)
      } catch {
        throw error.code
      }
    }
    server.onWrite(of: handle) { [weak use] writes throws(ErrorCode) in
      guard let use, let first = writes.first else { throw .unlikelyError }
      // Prepared parts follow each other; the device gets the whole value.
      var value: [UInt8] = []
      for write in writes {
        guard write.offset == value.count || writes.count == 1 && write.offset == 0 else {
          throw .invalidOffset
        }
        value += write.value
      }
      do throws(GatewayError) {
        try await use.write(value, to: handle, withResponse: !first.isCommand)
      } catch {
        throw error.code
      }
    }
  }
}

extension GatewayError {
  /// The error as a program on the Unix socket gets it.
  fileprivate var code: ErrorCode {
    switch self {
    case .device(.refused(let response)): response.code
    case .device(.insufficientSecurity(let response, _)): response.code
    case .tooManyRequests: .insufficientResources
    default: .unlikelyError
    }
  }
}
