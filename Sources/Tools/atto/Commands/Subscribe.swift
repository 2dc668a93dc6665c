import Atto
import AttoGATT

/// `atto subscribe`: notifications and indications. Vol 3, Part G, 4.10 and 4.11.
struct SubscribeCommand: ConnectionCommand {
  private static let indicate = Option.flag(
    "indicate", "Subscribe to indications instead of notifications.")
  private static let count = Option.integer("count", "N", in: 1...Int.max, "End after N values.")
  private static let time = Option.seconds("for", "End after this time.")
  private static let resume = Option.flag(
    "resume", "Write nothing: the peer remembers the subscription of a bonded client.")
  private static let cccd = Option.handle(
    "cccd", "The Client Characteristic Configuration, instead of looking for it.")

  static let description = CommandDescription(
    "subscribe", "Subscribe to a value and print what the server sends.",
    synopsis: ["ENDPOINT HANDLE [OPTIONS]"], arguments: [.endpoint, .handle],
    details: """
      HANDLE is the handle of the characteristic's value; for that of its declaration, the command uses
      the value's. It finds the Client Characteristic Configuration with Find Information, writes it, and
      clears it at the end. With --resume it leaves the configuration unchanged and prints the values
      that arrive.
      """,
    options: [indicate, count, time, resume, cccd], groups: Connecting.options,
    timeLimit: .open(unless: [count, time]),
    examples: [
      "atto subscribe air:Strap 0x0012 --count 3",
      "atto subscribe le:AA:BB:CC:DD:EE:FF 0x0020 --indicate --for 60 --json",
      "atto subscribe le:AA:BB:CC:DD:EE:FF@hci0 0x0012 --resume --security medium",
    ])

  private let handle: AttributeHandle
  private let configuration: AttributeHandle?
  private let kind: ClientCharacteristicConfiguration
  private let isResuming: Bool
  private let limit: Int?
  private let time: Duration?

  init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    handle = try AttributeHandle(argument: arguments.operand(0, "HANDLE"))
    configuration = arguments[Self.cccd]
    kind = arguments[Self.indicate] ? .indication : .notification
    (limit, time, isResuming) = (
      arguments[Self.count], arguments[Self.time], arguments[Self.resume]
    )
    if isResuming {
      try arguments.forbid([Self.indicate, Self.cccd], "cannot be combined with --resume")
    }
  }

  func run(on peer: ConnectedPeer) async throws {
    let (connection, loop) = (peer.connection, peer.loop)
    let (values, handle, configuration) = try await subscribe(connection)
    await peer.begun()
    let waiting =
      peer.place == nil
      ? WaitingNote(
        "waiting for values of \(handle): none received yet (Ctrl-C ends the command)", on: loop)
      : nil
    defer { waiting?.end() }
    let reading = Task(executorPreference: loop.tasks) {
      try await show(values, peer) { waiting?.end() }
    }
    let alarm = loop.after(time) { reading.cancel() }
    defer { alarm.cancel() }
    let count = try await withTaskCancellationHandler {
      try await reading.value
    } onCancel: {
      reading.cancel()
    }
    if let configuration { await unsubscribe(connection, configuration, on: loop) }
    if let limit, count < limit {
      throw CheckFailure(message: "received \(count) of \(limit) values")
    }
  }

  /// Returns the values, their handle, and the configuration that was written.
  private func subscribe(
    _ connection: Connection
  ) async throws -> (ReceivedValues, AttributeHandle, AttributeHandle?) {
    if isResuming { return (try await connection.values(of: handle), handle, nil) }
    var (value, found) = (handle, configuration)
    if found == nil, let search = FindConfiguration(of: handle) {
      let output = try await connection.perform(search)
      (value, found) = (output?.value ?? handle, output?.configuration)
    }
    guard let found else { throw AttoError.misuse(.cannotSubscribe(handle)) }
    if value != handle {
      Terminal.note("\(handle) is a declaration: subscribing to its value, \(value)")
    }
    return (
      try await connection.subscribe(to: value, configuration: found, as: kind), value, found
    )
  }

  /// Shows values up to the limit or until the task is cancelled. Returns their number.
  private func show(
    _ values: ReceivedValues, _ peer: ConnectedPeer, whenFirst: @Sendable () -> Void
  ) async throws -> Int {
    var count = 0
    do throws(AttoError) {
      for try await value in values {
        if count == 0 { whenFirst() }
        show(value, peer.results)
        await peer.received(value)
        await Terminal.room()
        count += 1
        if count == limit { break }
      }
    } catch {
      guard error == .cancelled else { throw error }
    }
    return count
  }

  private func show(_ value: ReceivedValue, _ results: Results) {
    if !results.isJSON, value.missed > 0 {
      Terminal.note("warning: \(Shown.count(value.missed, "value")) lost here")
    }
    results.print(
      "\(value.handle)  \(Shown.value(value.value))",
      json: [
        "handle": Shown.json(value.handle), "value": Shown.hex(value.value),
        "indication": value.isIndication, "missed": value.missed > 0 ? value.missed : nil,
      ])
  }

  /// Clears the configuration, also when the caller is cancelled. An error is ignored, and a server
  /// that does not respond is given one second.
  private func unsubscribe(
    _ connection: Connection, _ configuration: AttributeHandle, on loop: Loop
  ) async {
    let alarm = loop.after(.seconds(1)) { connection.close() }
    await Task(executorPreference: loop.tasks) {
      try? await connection.unsubscribe(configuration: configuration)
    }.value
    alarm.cancel()
  }
}
