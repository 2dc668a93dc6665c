import AttoATT
import AttoGATT

// The expected responses of a server. Vol 3, Part F, 3.4.

/// A request that is being executed.
struct ModelRequest {
  let pdu: [UInt8]
  let client: ModelClient
  let mtu: Int
  var answers: ModelAnswers
  var refusedAt: Int?

  var opcode: UInt8 { pdu[0] }
}

extension ServerModel {
  /// Applies robust caching to a new request. Returns the handle to refuse with Database Out Of
  /// Sync, or nil. Vol 3, Part G, 2.5.2.1.
  ///
  /// - Parameter refusedAt: the revision for which the bearer was last sent the error.
  func arrive(_ pdu: [UInt8], _ client: ModelClient, _ refusedAt: inout Int?) -> UInt16? {
    switch client.awareness {
    case .aware: return nil
    case .told:
      client.awareness = .aware
      client.changed = nil
      return nil
    case .unaware:
      guard client.features & 1 != 0 else { return nil }
      // Once on each bearer. What follows makes a client with one bearer aware.
      if refusedAt == revision {
        if client.bearers == 1 { (client.awareness, client.changed) = (.aware, nil) }
        return nil
      }
      switch pdu[0] {
      case 0x0A, 0x0C, 0x0E, 0x12, 0x16, 0x20:
        refusedAt = revision
        return number(pdu, 1)
      case 0x08:
        let (start, end) = (number(pdu, 1), number(pdu, 3))
        let type = shortest(Array(pdu[5...]))
        if type == ModelRow.include || type == ModelRow.characteristic { return nil }
        if start == 1, end == 0xFFFF { return nil }
        refusedAt = revision
        return start
      default: return nil
      }
    }
  }

  /// The expected response to a well-formed request. Throws `unanswered` if there should be none
  /// yet.
  func respond(_ request: inout ModelRequest) throws(ModelHalt) -> [UInt8] {
    if let handle = request.answers.change() {
      // The results before the change are invalid.
      if request.client.awareness == .unaware { request.refusedAt = revision }
      if request.opcode == 0x18 { drop(request.client) }
      return [0x01, request.opcode] + octets(handle) + [0x12]
    }
    do throws(ModelHalt) {
      let response = try answer(&request)
      return response
    } catch {
      guard case .refused(let code, let handle) = error else { throw error }
      if code == 0x12, request.client.awareness == .unaware { request.refusedAt = revision }
      return [0x01, request.opcode] + octets(handle) + [code]
    }
  }

  private func answer(_ request: inout ModelRequest) throws(ModelHalt) -> [UInt8] {
    let pdu = request.pdu
    let room = request.mtu - 1
    switch request.opcode {
    case 0x04: return try findInformation(number(pdu, 1), number(pdu, 3), room)
    case 0x06: return try findByTypeValue(&request)
    case 0x08: return try readByType(&request)
    case 0x10: return try readByGroupType(request)
    case 0x0A: return [0x0B] + (try read(number(pdu, 1), &request)).0.prefix(room)
    case 0x0C:
      let (handle, offset) = (number(pdu, 1), Int(number(pdu, 3)))
      let index = try readable(handle, &request)
      guard offset <= 512 else { throw .refused(0x07, handle) }
      let (value, start) = try value(index, offset, &request)
      guard offset <= start + value.count else { throw .refused(0x07, handle) }
      return [0x0D] + value.dropFirst(offset - start).prefix(room)
    case 0x0E:
      var values: [UInt8] = []
      for place in stride(from: 1, to: pdu.count, by: 2) {
        values += try read(number(pdu, place), &request).0
      }
      return [0x0F] + values.prefix(room)
    case 0x20:
      var response: [UInt8] = [0x21]
      for place in stride(from: 1, to: pdu.count, by: 2) {
        let value = try read(number(pdu, place), &request).0
        guard response.count + 2 <= request.mtu else { continue }
        response += octets(UInt16(value.count))
        response += value.prefix(request.mtu - response.count)
      }
      return response
    case 0x12:
      try write(number(pdu, 1), Array(pdu[3...]), .write, &request)
      return [0x13]
    case 0x16:
      // ATT_MTU may have shrunk since the request arrived, so that the echo does not fit.
      guard pdu.count <= request.mtu else { throw .refused(0x04, number(pdu, 1)) }
      try prepareWrite(&request)
      return [0x17] + pdu[1...]
    case 0x18:
      try executeWrite(&request)
      return [0x19]
    default: throw .refused(0x06, 0)
    }
  }

  private func range(_ start: UInt16, _ end: UInt16) throws(ModelHalt) {
    guard start > 0, start <= end else { throw .refused(0x01, start) }
  }

  private func findInformation(
    _ start: UInt16, _ end: UInt16, _ room: Int
  ) throws(ModelHalt) -> [UInt8] {
    try range(start, end)
    let found = rows.filter { $0.handle >= start && $0.handle <= end }
    guard let width = found.first?.type.count else { throw .refused(0x0A, start) }
    var response: [UInt8] = [0x05, width == 2 ? 1 : 2]
    for row in found {
      guard row.type.count == width, response.count + 2 + width <= room + 1 else { break }
      response += octets(row.handle) + row.type
    }
    return response
  }

  private func findByTypeValue(_ request: inout ModelRequest) throws(ModelHalt) -> [UInt8] {
    let pdu = request.pdu
    let start = number(pdu, 1)
    try range(start, number(pdu, 3))
    var response: [UInt8] = [0x07]
    for index in rows(of: Array(pdu[5..<7]), start, number(pdu, 3)) {
      guard response.count + 4 <= request.mtu else { break }
      do throws(ModelHalt) {
        let value = try read(rows[index].handle, &request).0
        guard value == Array(pdu[7...]) else { continue }
        response += octets(rows[index].handle) + octets(rows[index].groupEnd)
      } catch {
        switch error {
        case .unanswered, .refused(0x12, _): throw error
        case .refused: continue
        }
      }
    }
    guard response.count > 1 else { throw .refused(0x0A, start) }
    return response
  }

  private func readByType(_ request: inout ModelRequest) throws(ModelHalt) -> [UInt8] {
    let pdu = request.pdu
    let start = number(pdu, 1)
    try range(start, number(pdu, 3))
    let longest = min(request.mtu - 4, 253)
    var response: [UInt8] = []
    var length = 0
    for index in rows(of: shortest(Array(pdu[5...])), start, number(pdu, 3)) {
      if !response.isEmpty, response.count + 2 + length > request.mtu { break }
      let handle = rows[index].handle
      let value: [UInt8]
      do throws(ModelHalt) {
        value = try read(handle, &request).0
      } catch {
        if !response.isEmpty, case .refused = error { break }
        throw error
      }
      if response.isEmpty {
        length = min(value.count, longest)
        response = [0x09, UInt8(2 + length)]
      } else if value.count != length {
        break
      }
      response += octets(handle) + value.prefix(length)
    }
    guard !response.isEmpty else { throw .refused(0x0A, start) }
    return response
  }

  private func readByGroupType(_ request: ModelRequest) throws(ModelHalt) -> [UInt8] {
    let pdu = request.pdu
    let (start, end) = (number(pdu, 1), number(pdu, 3))
    try range(start, end)
    let type = shortest(Array(pdu[5...]))
    guard type == ModelRow.primary || type == ModelRow.secondary else {
      throw .refused(0x10, start)
    }
    var response: [UInt8] = []
    for index in rows(of: type, start, end) {
      guard case .constant(let uuid) = rows[index].kind else { break }
      if response.isEmpty { response = [0x11, UInt8(4 + uuid.count)] }
      guard Int(response[1]) == 4 + uuid.count, response.count + 4 + uuid.count <= request.mtu
      else { break }
      response += octets(rows[index].handle) + octets(rows[index].groupEnd) + uuid
    }
    guard !response.isEmpty else { throw .refused(0x0A, start) }
    return response
  }

  // MARK: Access

  private func access(
    _ access: AttributePermissions.Access, _ denial: UInt8, _ kind: Question.Kind,
    _ handle: UInt16, _ request: inout ModelRequest
  ) throws(ModelHalt) {
    guard case .requires(let requirement) = access else { throw .refused(denial, handle) }
    if let code = Self.refusal(requirement, request.client.security) {
      throw .refused(code, handle)
    }
    guard requirement.authorization else { return }
    if case .refused(let code) = try ask(kind, handle, &request) {
      throw .refused(code.rawValue, handle)
    }
  }

  func ask(
    _ kind: Question.Kind, _ handle: UInt16, _ request: inout ModelRequest
  ) throws(ModelHalt) -> LateAnswer {
    guard let entry = request.answers.entry(kind, handle) else { throw .unanswered(kind, handle) }
    return entry.answer
  }

  private func readable(
    _ handle: UInt16, _ request: inout ModelRequest
  ) throws(ModelHalt) -> Int {
    guard let index = row(handle) else { throw .refused(0x01, handle) }
    try access(rows[index].permissions.read, 0x02, .authorizeRead, handle, &request)
    return index
  }

  func writable(_ handle: UInt16, _ request: inout ModelRequest) throws(ModelHalt) -> Int {
    guard let index = row(handle) else { throw .refused(0x01, handle) }
    switch rows[index].kind {
    case .constant, .hash: throw .refused(0x03, handle)
    default: break
    }
    try access(rows[index].permissions.write, 0x03, .authorizeWrite, handle, &request)
    return index
  }

  private func read(
    _ handle: UInt16, _ request: inout ModelRequest
  ) throws(ModelHalt) -> ([UInt8], Int) {
    try value(readable(handle, &request), 0, &request)
  }

  private func value(
    _ index: Int, _ offset: Int, _ request: inout ModelRequest
  ) throws(ModelHalt) -> ([UInt8], Int) {
    let client = request.client
    switch rows[index].kind {
    case .constant(let value), .stored(let value, _): return (value, 0)
    case .configuration: return (octets(client.configurations[rows[index].handle] ?? 0), 0)
    case .features: return ([client.features], 0)
    case .hash:
      client.hashesGiven += 1
      if client.awareness == .unaware { client.awareness = .told }
      return (databaseHash(), 0)
    case .application:
      let handle = rows[index].handle
      switch try ask(.read, handle, &request) {
      case .value(let value): return (Array(value.prefix(512)), 0)
      case .part(let part): return (Array(part.prefix(max(0, 512 - offset))), offset)
      case .refused(let code): throw .refused(code.rawValue, handle)
      case .accepted: throw .refused(0x0E, handle)
      }
    }
  }
}
