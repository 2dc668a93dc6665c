import CAtto

// The exchange of ATT_MTU and the procedures that read. Vol 3, Part G, 4.3 and 4.8.

@_cdecl("attocore_exchange_mtu")
func exchangeMTU(
  _ bearer: UnsafeMutableRawPointer, _ mtu: UInt32, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  let most = start.connection.device.configuration.receiveMTU
  guard mtu <= most else { return Int32(ATTO_ERR_ARGUMENT) }
  let wanted = mtu == 0 ? most : Int(mtu)
  return start.run(ExchangeMTU(clientReceiveMTU: wanted), exchangesMTU: true) { _, _ in nil }
}

@_cdecl("attocore_read")
func read(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let handle = AttributeHandle(handle)
  return unsafe Start(bearer, now, id).run(ReadCharacteristicValue(handle)) { connection, value in
    connection.post(handle, value: value)
    return nil
  }
}

@_cdecl("attocore_read_long")
func readLong(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ offset: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let handle = AttributeHandle(handle)
  return unsafe Start(bearer, now, id).run(ReadLongValue(handle, offset: offset)) {
    connection, value in
    connection.post(handle, value: value)
    return nil
  }
}

@_cdecl("attocore_read_blob")
func readBlob(
  _ bearer: UnsafeMutableRawPointer, _ handle: UInt16, _ offset: UInt16, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let handle = AttributeHandle(handle)
  return unsafe Start(bearer, now, id).run(ReadBlob(handle, offset: offset)) { connection, value in
    connection.post(handle, value: value)
    return nil
  }
}

@_cdecl("attocore_read_by_uuid")
func readByUUID(
  _ bearer: UnsafeMutableRawPointer, _ uuid: atto_uuid, _ first: UInt16, _ last: UInt16,
  _ now: Int64, _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  let start = unsafe Start(bearer, now, id)
  guard let range = start.range(first, last) else { return Int32(ATTO_ERR_ARGUMENT) }
  let procedure = ReadUsingUUID(BluetoothUUID(uuid), in: range, limits: start.limits)
  return start.run(procedure) { connection, output in
    for value in output.values { connection.post(value.handle, value: value.octets) }
    return output.refusal.map { .refused($0) }
  }
}

@_cdecl("attocore_read_multiple")
func readMultiple(
  _ bearer: UnsafeMutableRawPointer, _ list: UnsafePointer<UInt16>, _ count: Int, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(ReadMultiple(handles(list, count))) { connection, output in
    connection.post(.invalid, value: output.octets)
    return nil
  }
}

@_cdecl("attocore_read_multiple_variable")
func readMultipleVariable(
  _ bearer: UnsafeMutableRawPointer, _ list: UnsafePointer<UInt16>, _ count: Int, _ now: Int64,
  _ id: UnsafeMutablePointer<UInt64>?
) -> Int32 {
  unsafe Start(bearer, now, id).run(ReadMultipleVariable(handles(list, count))) {
    connection, values in
    for value in values { connection.post(value.handle, value: value.octets) }
    return nil
  }
}
