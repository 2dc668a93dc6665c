import Atto

/// What the benchmarks serve: the value at 0x0003 is read and written; commands go to it too.
enum Bench {
  static let value = AttributeHandle(0x0003)
  static let long = AttributeHandle(0x0005)
  static let stream = AttributeHandle(0x0007)
  static let configuration = AttributeHandle(0x0008)

  static func database() throws -> Database {
    var database = Database()
    func custom(_ number: UInt16) -> BluetoothUUID { BluetoothUUID(number) }
    try database.add(
      ServiceDefinition(
        custom(0xFF00), handle: AttributeHandle(0x0001),
        characteristics: [
          CharacteristicDefinition(
            custom(0xFF01), properties: [.read, .write, .writeWithoutResponse],
            value: .stored(Array(repeating: 0x31, count: 20), ValueLimits())),
          CharacteristicDefinition(
            custom(0xFF02), properties: [.read, .write],
            value: .stored(Array(repeating: 0x32, count: 512), ValueLimits())),
          CharacteristicDefinition(
            custom(0xFF03), properties: [.write, .notify], value: .application(ValueLimits())),
        ]))
    return database
  }
}
