import Atto
import AttoATT
import AttoCommandLine
import AttoGATT
import AttoPeers

/// `atto read`: the reading procedures. Vol 3, Part G, 4.8.
package struct ReadCommand: ConnectionCommand {
  private static let long = Option.flag(
    "long", "Read to the end of the value: Read, then Read Blob.")
  private static let offset = Option.integer(
    "offset", "N", in: 0...65535,
    "Read from this octet on: one Read Blob, or the whole rest with --long.")
  private static let uuid = Option.sentUUID(
    "uuid", .characteristic, .descriptor,
    summary: "Read all values of this type: Read By Type.")
  private static let range = Option.value(
    "range", "RANGE", "The range of handles for --uuid.", default: SearchedHandles.all,
    shown: "0x0001-0xFFFF", expected: "START-END, the lower first, such as 0x0001-0xFFFF"
  ) { try? SearchedHandles(argument: $0) }
  private static let decode = Option.flag(
    "decode", "Ask for the types of handles first (Find Information), to decode their values.")
  private static let variable = Option.flag(
    "variable", "Read several handles with Read Multiple Variable.")
  private static let every = Option.seconds(
    "every", "Read again and again, each time this long after the time before.")
  private static let count = Option.integer(
    "count", "N", in: 1...Int.max, "With --every, end after N times.")

  package static let description = CommandDescription(
    "read", "Read values by handle or by UUID.",
    synopsis: ["ENDPOINT HANDLE... [OPTIONS]", "ENDPOINT --uuid UUID [--range RANGE] [OPTIONS]"],
    arguments: [
      .endpoint,
      .handles,
    ],
    details: """
      One handle is read with Read. Several handles are read with Read Multiple, whose response does not
      separate the values; --variable uses Read Multiple Variable, which does.

      Values are decoded if HANDLE is a UUID, or with --decode.

      A value that fills its response may be longer, and is marked as such. --long reads all of it.

      With --every the command reads until it is interrupted, or a read fails.
      """,
    options: [long, offset, uuid, GivenUUID.asIs, range, variable, decode, every, count],
    groups: Connecting.options, timeLimit: .open(by: every, unless: [count]),
    examples: [
      "atto read air:Strap 0x0029 --long",
      "atto read air:Strap 2A19", "atto read air:Strap --uuid 2A19 --json",
      "atto read air:Strap 2A19 --every 60",
      "atto read air:Strap 0x0015 0x001A --variable",
      "atto read le:AA:BB:CC:DD:EE:FF 0x010E --security auto --io keyboard",
    ])

  private typealias Value = (handle: AttributeHandle?, octets: [UInt8], isCut: Bool)

  private let references: [AttributeReference]
  private let uuid: GivenUUID?
  private let range: SearchedHandles
  private let offset: UInt16?
  private let isLong: Bool
  private let isVariable: Bool
  private let asksTypes: Bool
  private let interval: Duration?
  private let limit: Int?

  package init(_ arguments: Arguments, for endpoint: Endpoint) throws {
    references = try arguments.operands.map { try AttributeReference(argument: $0) }
    asksTypes = arguments[Self.decode]
    offset = arguments[Self.offset].map { UInt16($0) }
    (interval, limit) = (arguments[Self.every], arguments[Self.count])
    (isLong, isVariable) = (arguments[Self.long], arguments[Self.variable])
    (uuid, range) = (try GivenUUID(arguments, Self.uuid), arguments[Self.range])
    guard references.isEmpty == (uuid != nil) else {
      throw UsageError("give either handles or --uuid")
    }
    guard references.count == 1 || (offset == nil && !isLong) else {
      throw UsageError("--long and --offset require exactly one handle")
    }
    if uuid == nil, arguments.has(Self.range) { throw UsageError("--range requires --uuid") }
    if isVariable, references.count < 2 {
      throw UsageError("--variable requires at least two handles")
    }
    if limit != nil, interval == nil { throw UsageError("--count requires --every") }
  }

  package static func access(_ arguments: Arguments) -> CommandAccess? {
    arguments.has(uuid) ? .readsAll : CommandAccess(arguments.operands, isWrite: false)
  }

  package func run(on peer: ConnectedPeer) async throws {
    var attributes: [FoundAttribute] = []
    for reference in references {
      var found = try await peer.find(reference)
      if asksTypes, found.uuid == nil { found.uuid = try await peer.type(of: found.handle) }
      attributes.append(found)
    }
    guard let interval else { return try await show(attributes, on: peer) }
    let reading = Task(executorPreference: peer.loop.tasks) { [attributes] in
      try await show(attributes, on: peer, every: interval)
    }
    let count = try await reading.valueOrCancel
    if let limit, count < limit { throw CheckFailure(message: "read \(count) of \(limit) times") }
  }

  /// Reads up to the limit or until the task is cancelled. Returns how often.
  private func show(
    _ attributes: [FoundAttribute], on peer: ConnectedPeer, every interval: Duration
  ) async throws -> Int {
    var count = 0
    var next = peer.loop.refreshNow()
    do {
      while true {
        try await show(attributes, on: peer)
        count += 1
        if count == limit { return count }
        await peer.begun()
        await Terminal.room()
        next = max(next + interval.inNanoseconds, peer.loop.refreshNow())
        try await peer.loop.sleep(for: .nanoseconds(next - peer.loop.refreshNow()))
      }
    } catch {
      guard ExitStatus(error).isInterruption else { throw error }
      return count
    }
  }

  private func show(_ attributes: [FoundAttribute], on peer: ConnectedPeer) async throws {
    let (values, refusal) = try await read(attributes.map(\.handle), peer.connection)
    for value in values {
      let type = uuid?.uuid ?? attributes.first { $0.handle == value.handle }?.uuid
      let shown = ShownValue(value.octets, of: type, isCut: value.isCut)
      peer.results.print(
        (value.handle.map { "\($0)  " } ?? "") + shown.text
          + (value.isCut ? "  (may be longer: cut at ATT_MTU - 1)" : ""),
        json: shown.json.adding([
          "handle": value.handle.map(Shown.json), "cut": value.isCut ? true : nil,
        ]))
    }
    if references.count == 1, values.contains(where: \.isCut), !peer.results.isJSON {
      Terminal.note("hint: --long reads the whole value")
    }
    if let refusal { throw AttoError.refused(refusal) }
  }

  private func read(
    _ handles: [AttributeHandle], _ connection: Connection
  ) async throws -> ([Value], ErrorResponse?) {
    if let uuid {
      let output = try await range.search(
        connection, .readByTypeRequest, type: uuid.uuid, inFull: uuid.isLong
      ) { range in
        try await connection.perform(ReadUsingUUID(uuid.uuid, in: range, inFull: uuid.isLong))
      }
      return (output.values.map { ($0.handle, $0.octets, $0.mayBeCut) }, output.refusal)
    }
    if isVariable {
      let values = try await connection.read(handles)
      return (values.map { ($0.handle, $0.octets, $0.isCut) }, nil)
    }
    if handles.count > 1 {
      let output = try await connection.perform(ReadMultiple(handles))
      return ([(nil, output.octets, output.mayBeCut)], nil)
    }
    let handle = handles[0]
    if isLong {
      return ([(handle, try await connection.readLong(handle, offset: offset ?? 0), false)], nil)
    }
    if let offset {
      let read = MarkedRead(ReadBlob(handle, offset: offset), offset: Int(offset))
      let part = try await connection.perform(read)
      return ([(handle, part.octets, part.mayBeCut)], nil)
    }
    let whole = try await connection.perform(MarkedRead(ReadCharacteristicValue(handle)))
    return ([(handle, whole.octets, whole.mayBeCut)], nil)
  }
}
