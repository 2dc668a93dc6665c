import Atto

/// `atto subscribe`: notifications and indications. Vol 3, Part G, 4.10 and 4.11.
enum SubscribeCommand: Command {
  static let name = "subscribe"
  static let examples = [
    "atto subscribe air:Strap 0x0012 --count 3",
    "atto subscribe le:AA:BB:CC:DD:EE:FF 0x0020 --indicate --for 60 --json",
  ]
  static let summary = "Values that a server sends unasked, as they come."
  static let usage = "ENDPOINT HANDLE [OPTIONS]"
  static let options =
    [
      OptionSpec("indicate", nil, "ask for indications instead of notifications"),
      OptionSpec("count", "N", "end after so many values"),
      OptionSpec("for", "SECONDS", "end after this time"),
      OptionSpec("resume", nil, "write nothing: the peer remembers what a bonded client wanted"),
      OptionSpec("cccd", "HANDLE", "the configuration's handle, if it is not to be looked for"),
    ] + OptionSpec.connecting
  static let notes =
    "HANDLE is the characteristic's value. Its Client Characteristic Configuration is looked for\n"
    + "with Find Information. --resume takes what comes and leaves the configuration as it is."

  private struct Line: Encodable {
    let handle: Int
    let value: String
    let indication: Bool
    let missed: Int?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let handle = try AttributeHandle(argument: arguments.word(1, "HANDLE"))
    try arguments.allow(words: 2)
    let given = try arguments.value("cccd").map { try AttributeHandle(argument: $0) }
    let limit = try arguments.integer("count", in: 1...Int.max)
    let time = try arguments.duration("for")
    let isIndicating = arguments.has("indicate")
    let isJSON = arguments.has("json")

    let isResuming = arguments.has("resume")
    if isResuming, isIndicating || given != nil {
      throw UsageError("--resume writes nothing: --indicate and --cccd have no place beside it")
    }

    try await connecting.use(on: loop) { connection in
      let configuration: AttributeHandle?
      let values: ReceivedValues
      if isResuming {
        configuration = nil
        values = try await connection.values(of: handle)
      } else {
        let found =
          if let given { given } else {
            try await findConfiguration(connection, after: handle)
          }
        configuration = found
        values = try await connection.subscribe(
          to: handle, configuration: found, as: isIndicating ? .indication : .notification)
      }
      let silence = SilenceNote(
        "waiting for values of \(handle): the peer has sent none yet (Ctrl-C ends it)", on: loop)
      defer { silence.end() }
      let reading = Task(executorPreference: loop.tasks) {
        try await show(values, limit: limit, isJSON) { silence.end() }
      }
      let alarm = time.map { time in
        Task(executorPreference: loop.tasks) {
          try await loop.sleep(for: time)
          reading.cancel()
        }
      }
      defer { alarm?.cancel() }
      let count = try await withTaskCancellationHandler {
        try await reading.value
      } onCancel: {
        reading.cancel()
      }
      if let configuration { await unsubscribe(connection, configuration, on: loop) }
      if let limit, count < limit {
        throw CheckFailure(message: "\(count) of \(limit) values came")
      }
    }
  }

  /// Shows values until there are enough, or the task is cancelled; how many there were.
  private static func show(
    _ values: ReceivedValues, limit: Int?, _ isJSON: Bool, _ began: @Sendable () -> Void
  ) async throws -> Int {
    var count = 0
    do throws(AttoError) {
      for try await value in values {
        if count == 0 { began() }
        do { try show(value, isJSON) } catch { break }
        count += 1
        if count == limit { break }
      }
    } catch {
      guard error == .cancelled else { throw error }
    }
    return count
  }

  /// What the server sends from here on is not wanted. A refusal does no harm, and a server
  /// that does not answer gets no more than a second. Goes on when the caller is cancelled.
  private static func unsubscribe(
    _ connection: Connection, _ configuration: AttributeHandle, on loop: Loop
  ) async {
    let alarm = Task(executorPreference: loop.tasks) {
      try await loop.sleep(for: .seconds(1))
      connection.close()
    }
    await Task(executorPreference: loop.tasks) {
      try? await connection.unsubscribe(configuration: configuration)
    }.value
    alarm.cancel()
  }

  private static func show(_ value: ReceivedValue, _ isJSON: Bool) throws {
    if isJSON {
      return try Terminal.print(
        json: Line(
          handle: Shown.json(value.handle), value: Shown.hex(value.value),
          indication: value.isIndication, missed: value.missed > 0 ? value.missed : nil))
    }
    if value.missed > 0 { Terminal.note("\(value.missed) values were lost here") }
    Terminal.print("\(value.handle)  \(Shown.value(value.value))")
  }

  /// Descriptors follow the value, up to the next declaration.
  private static func findConfiguration(
    _ connection: Connection, after handle: AttributeHandle
  ) async throws -> AttributeHandle {
    guard let next = handle.next else {
      throw AttoError.misuse(.cannotSubscribe(handle))
    }
    var range = HandleRange.from(next)
    while let wanted = range {
      let found: [Descriptor]
      do throws(AttoError) {
        found = try await connection.perform(FindInformationOnce(wanted))
      } catch {
        guard case .refused(let response) = error, response.code == .attributeNotFound else {
          throw error
        }
        found = []
      }
      for descriptor in found {
        switch descriptor.uuid {
        case .clientCharacteristicConfiguration: return descriptor.handle
        case .characteristic, .primaryService, .secondaryService, .include:
          throw AttoError.misuse(.cannotSubscribe(handle))
        default: break
        }
      }
      range = found.last.flatMap { wanted.after($0.handle) }
    }
    throw AttoError.misuse(.cannotSubscribe(handle))
  }
}

/// One Find Information Request: descriptors are looked for no further than they go.
private struct FindInformationOnce: Procedure, Sendable {
  private let range: HandleRange

  init(_ range: HandleRange) { self.range = range }

  func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    FindInformationRequest(range).encode(into: &out)
  }

  func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<[Descriptor]> {
    switch response {
    case .findInformationResponse(let found):
      var list: [Descriptor] = []
      for index in 0..<found.count {
        let (handle, type) = found[index]
        guard range.contains(handle), handle > list.last?.handle ?? .invalid else {
          throw .violation(.notAdvancing(handle))
        }
        list.append(Descriptor(handle: handle, uuid: type))
      }
      return .finished(list)
    case .errorResponse(let error): throw .refused(error)
    default: throw .violation(.incompleteResponse(.findInformationResponse))
    }
  }
}
