import CAtto

/// The state of a bonded client as octets: the version (1), the features, the Database Hash or
/// zeros, the number of configurations, and for each the handle, the value and the hash of its
/// service. Numbers have two octets, least significant first.
enum SavedState {
  private static let version: UInt8 = 1
  private static let entryLength = 20

  static func encode(_ record: ClientRecord) -> [UInt8] {
    var out: [UInt8] = [version, record.features.rawValue]
    append(record.databaseHash, to: &out)
    let configurations = record.configurations.sorted { $0.key < $1.key }
    append(UInt16(configurations.count), to: &out)
    for (handle, value) in configurations {
      append(handle.rawValue, to: &out)
      append(value.rawValue, to: &out)
      append(record.serviceHashes[handle] ?? [], to: &out)
    }
    return out
  }

  static func decode(_ octets: [UInt8]) -> ClientRecord? {
    guard octets.count >= 20, octets[0] == version else { return nil }
    let count = number(octets, 18)
    guard octets.count == 20 + Int(count) * entryLength else { return nil }
    var record = ClientRecord(features: ClientSupportedFeatures(rawValue: octets[1]))
    let hash = Array(octets[2..<18])
    if hash.contains(where: { $0 != 0 }) { record.databaseHash = hash }
    for start in stride(from: 20, to: octets.count, by: entryLength) {
      let handle = AttributeHandle(number(octets, start))
      record.configurations[handle] = ClientCharacteristicConfiguration(
        rawValue: number(octets, start + 2))
      record.serviceHashes[handle] = Array(octets[(start + 4)..<(start + entryLength)])
    }
    return record
  }

  private static func number(_ octets: [UInt8], _ offset: Int) -> UInt16 {
    UInt16(octets[offset]) | UInt16(octets[offset + 1]) << 8
  }

  private static func append(_ number: UInt16, to out: inout [UInt8]) {
    out.append(UInt8(truncatingIfNeeded: number))
    out.append(UInt8(number >> 8))
  }

  /// Appends a hash of 16 octets, or zeros.
  private static func append(_ hash: [UInt8], to out: inout [UInt8]) {
    for index in 0..<16 { out.append(hash.count == 16 ? hash[index] : 0) }
  }
}

@_cdecl("attocore_save_state")
func saveState(
  _ bearer: UnsafeMutableRawPointer, _ room: UnsafeMutableRawPointer?, _ size: Int,
  _ length: UnsafeMutablePointer<Int>
) -> Int32 {
  let connection = Connection.at(bearer)
  guard let client = connection.client else { return Int32(ATTO_ERR_STATE) }
  return unsafe copy(
    SavedState.encode(connection.device.server.record(of: client)), room, size, length)
}

@_cdecl("attocore_restore_state")
func restoreState(
  _ bearer: UnsafeMutableRawPointer, _ state: UnsafeRawPointer?, _ length: Int, _ now: Int64
) -> Int32 {
  let connection = Connection.at(bearer)
  guard let client = connection.client else { return Int32(ATTO_ERR_STATE) }
  guard let record = SavedState.decode(unsafe octets(state, length)) else {
    return Int32(ATTO_ERR_ARGUMENT)
  }
  connection.device.server.restore(record, of: client)
  connection.session.pump(at: Instant(nanoseconds: now))
  return Code.ok
}
