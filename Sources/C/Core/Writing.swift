import CAtto

// The procedures that write, and subscription. Vol 3, Part G, 4.9 to 4.12.

@_cdecl("attocore_write")
func write(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ value: UnsafeRawPointer?, _ length: Int,
  _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(
    WriteValue(AttributeHandle(handle), value: octets(value, length)))
}

@_cdecl("attocore_write_long")
func writeLong(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ offset: UInt16,
  _ value: UnsafeRawPointer?, _ length: Int, _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(
    WriteLongValue(AttributeHandle(handle), offset: offset, value: octets(value, length)))
}

@_cdecl("attocore_reliable_writes")
func reliableWrites(
  _ bearer: UnsafeMutableRawPointer, _ values: UnsafePointer<atto_value>, _ count: Int,
  _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let writes = unsafe UnsafeBufferPointer(start: values, count: count).map {
    LongWrite(AttributeHandle($0.handle), value: unsafe octets($0.value, Int($0.length)))
  }
  return unsafe Start(bearer, now, id).run(ReliableWrites(writes))
}

@_cdecl("attocore_prepare_write")
func prepareWrite(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ offset: UInt16,
  _ part: UnsafeRawPointer?, _ length: Int, _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(
    PrepareWrite(AttributeHandle(handle), offset: offset, part: octets(part, length)))
}

@_cdecl("attocore_execute_write")
func executeWrite(
  _ bearer: UnsafeMutableRawPointer, _ executes: Int32, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(ExecuteWrite(executes != 0 ? .write : .cancel))
}

@_cdecl("attocore_write_without_response")
func writeWithoutResponse(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ value: UnsafeRawPointer?, _ length: Int
) -> Int32 {
  let octets = unsafe UnsafeRawBufferPointer(start: value, count: length).bytes
  return command { () throws(ProcedureError) in
    try Connection.at(bearer).session.writeWithoutResponse(AttributeHandle(handle), octets)
  }
}

@_cdecl("attocore_signed_write")
func signedWrite(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ value: UnsafeRawPointer?, _ length: Int,
  _ counter: UInt32, _ key: UnsafePointer<UInt8>
) -> Int32 {
  let value = unsafe UnsafeRawBufferPointer(start: value, count: length).bytes
  let key = unsafe octets(key, 16)
  return command { () throws(ProcedureError) in
    try Connection.at(bearer).session.writeSigned(
      AttributeHandle(handle), value, counter: counter, key: key)
  }
}

private func command(_ send: () throws(ProcedureError) -> Bool) -> Int32 {
  do throws(ProcedureError) {
    return try send() ? Code.ok : Int32(ATTO_ERR_AGAIN)
  } catch {
    if case .bearer = error { return Int32(ATTO_ERR_FAILED) }
    return Code.of(error)
  }
}

@_cdecl("attocore_subscribe")
func subscribe(
  _ bearer: UnsafeMutableRawPointer, _ value: UInt16, _ configuration: UInt16, _ kinds: Int32,
  _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(
    Subscribe(
      AttributeHandle(value), AttributeHandle(configuration), UInt8(truncatingIfNeeded: kinds)))
}

/// Finds a Client Characteristic Configuration, unless its handle is known, and writes it.
private struct Subscribe: Procedure, Sendable {
  private var search: FindConfiguration?
  private var write: WriteValue?
  private let kinds: UInt8

  init(_ value: AttributeHandle, _ configuration: AttributeHandle, _ kinds: UInt8) {
    self.kinds = kinds
    if configuration.isValid {
      write = WriteValue(configuration, value: [kinds, 0])
    } else {
      search = FindConfiguration(of: value)
    }
  }

  mutating func encodeRequest(into out: inout OutputRawSpan) throws(ProcedureError) {
    if write != nil {
      try write!.encodeRequest(into: &out)
    } else {
      try search?.encodeRequest(into: &out)
    }
  }

  mutating func receive(
    _ response: borrowing PDU, mtu: Int
  ) throws(ProcedureError) -> Step<Void> {
    if write != nil { return try write!.receive(response, mtu: mtu) }
    guard search != nil, case .finished(let found) = try search!.receive(response, mtu: mtu) else {
      return .request
    }
    guard let found else { throw .misuse(.cannotSubscribe(.invalid)) }
    write = WriteValue(found.configuration, value: [kinds, 0])
    return .request
  }
}
