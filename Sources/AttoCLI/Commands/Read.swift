import Atto

/// `atto read`: the reading procedures. Vol 3, Part G, 4.8.
enum ReadCommand: Command {
  static let name = "read"
  static let examples = [
    "atto read air:Strap 0x0029 --long",
    "atto read air:Strap --uuid 2A19 --json",
    "atto read air:Strap 0x0015 0x001A --variable",
  ]
  static let summary = "Values by handle, or by type."
  static let usage = "ENDPOINT HANDLE... | --uuid UUID [OPTIONS]"
  static let options =
    [
      OptionSpec("long", nil, "to the end of the value: Read, then Read Blob"),
      OptionSpec("offset", "N", "from this octet on: one Read Blob; all of the rest with --long"),
      OptionSpec("uuid", "UUID", "all values of this type: Read By Type"),
      OptionSpec("range", "RANGE", "where to look with --uuid (0x0001-0xFFFF)"),
      OptionSpec("variable", nil, "several handles with Read Multiple Variable"),
    ] + OptionSpec.connecting
  static let notes =
    "One handle: Read. Several: Read Multiple, whose values come without their lengths."

  private struct Line: Encodable {
    let handle: Int?
    let value: String
    var cut: Bool?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let connecting = try Connecting(arguments)
    let handles = try arguments.words.dropFirst().map { try AttributeHandle(argument: $0) }
    let offset = try arguments.integer("offset", in: 0...65535).map { UInt16($0) }
    let isLong = arguments.has("long")
    let uuid = try arguments.uuid("uuid")
    let range = try arguments.range("range") ?? .all
    guard handles.isEmpty == (uuid != nil) else {
      throw UsageError("either handles or --uuid is wanted")
    }
    guard handles.count == 1 || (offset == nil && !isLong) else {
      throw UsageError("--long and --offset go with one handle")
    }
    if uuid == nil, arguments.has("range") { throw UsageError("--range goes with --uuid") }
    let isVariable = arguments.has("variable")
    if isVariable, handles.count < 2 { throw UsageError("--variable wants two handles or more") }

    let (lines, refusal): ([Line], ErrorResponse?) = try await connecting.use(on: loop) {
      connection in
      if let uuid {
        let output = try await connection.read(uuid: uuid, in: range)
        return (
          output.values.map {
            Line(
              handle: Shown.json($0.handle), value: Shown.hex($0.octets),
              cut: $0.mayBeCut ? true : nil)
          }, output.refusal
        )
      }
      if isVariable {
        return (
          try await connection.read(handles).map {
            Line(
              handle: Shown.json($0.handle), value: Shown.hex($0.octets), cut: $0.isCut ? true : nil
            )
          }, nil
        )
      }
      if handles.count > 1 {
        let output = try await connection.perform(ReadMultiple(handles))
        return (
          [
            Line(
              handle: nil, value: Shown.hex(output.octets), cut: output.mayBeCut ? true : nil)
          ], nil
        )
      }
      let handle = handles[0]
      let value =
        if isLong {
          try await connection.readLong(handle, offset: offset ?? 0)
        } else if let offset {
          try await connection.perform(ReadBlob(handle, offset: offset))
        } else {
          try await connection.read(handle)
        }
      return ([Line(handle: Shown.json(handle), value: Shown.hex(value), cut: nil)], nil)
    }
    for line in lines { try show(line, arguments) }
    if let refusal { throw AttoError.refused(refusal) }
  }

  private static func show(_ line: Line, _ arguments: Arguments) throws {
    if arguments.has("json") { return try Terminal.print(json: line) }
    let handle = line.handle.map { "\(AttributeHandle(UInt16($0)))  " } ?? ""
    let cut = line.cut == true ? "  (may go on)" : ""
    Terminal.print(handle + Shown.value(try octets(argument: line.value)) + cut)
  }
}
