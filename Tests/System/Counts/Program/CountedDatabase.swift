import Atto

/// What the rows are counted at. The peer of `Tests/System/Counts/run` knows the handles.
enum Counted {
  /// 20 octets, to be read and written.
  static let value = AttributeHandle(0x0003)
  /// Written to, it notifies its own value as often as was written.
  static let stream = AttributeHandle(0x0005)
  /// Written to, it waits at the gate.
  static let gate = AttributeHandle(0x0008)

  static func database() throws(DatabaseError) -> Database {
    var database = Database()
    try database.add(
      ServiceDefinition(
        0xFF00, handle: 0x0001,
        characteristics: [
          CharacteristicDefinition(
            0xFF01, properties: [.read, .write, .writeWithoutResponse],
            value: .stored(Array(repeating: 0x31, count: 20), ValueLimits())),
          CharacteristicDefinition(
            0xFF02, properties: [.write, .notify], value: .application(ValueLimits())),
          CharacteristicDefinition(
            0xFF03, properties: .write, value: .application(ValueLimits())),
        ]))
    return database
  }
}
