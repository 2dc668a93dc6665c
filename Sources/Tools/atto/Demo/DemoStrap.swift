import Atto

/// The peripheral of the demo: a heart-rate strap with a long value to read, one to write, and a fast
/// stream.
final class DemoStrap: Sendable {
  static let extras = BluetoothUUID(high: 0xA770_0001_0D3E_4F6B, low: 0x9C11_5A2E_7B60_0001)
  static let log = BluetoothUUID(high: 0xA770_0002_0D3E_4F6B, low: 0x9C11_5A2E_7B60_0001)
  static let notes = BluetoothUUID(high: 0xA770_0003_0D3E_4F6B, low: 0x9C11_5A2E_7B60_0001)
  static let stream = BluetoothUUID(high: 0xA770_0004_0D3E_4F6B, low: 0x9C11_5A2E_7B60_0001)

  static let logValue: [UInt8] = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 7) }

  let server: LocalServer
  let listener: ServerListener
  private let streamValue: AttributeHandle
  private let beats: Task<Void, any Error>

  deinit { beats.cancel() }

  private init(
    _ server: LocalServer, _ listener: ServerListener, stream: AttributeHandle,
    beats: Task<Void, any Error>
  ) {
    self.server = server
    self.listener = listener
    streamValue = stream
    self.beats = beats
  }

  static func advertise(in folder: String) async throws -> DemoStrap {
    let server = LocalServer(Database(name: "Atto Strap", appearance: 0x0341), loop: .shared)
    let heart = try await server.add(
      ServiceDefinition(
        .heartRate,
        characteristics: [
          CharacteristicDefinition(.heartRateMeasurement, properties: .notify),
          CharacteristicDefinition(.bodySensorLocation, properties: .read, value: .constant([1])),
        ]))
    try await server.add(
      ServiceDefinition(
        .battery,
        characteristics: [
          CharacteristicDefinition(
            .batteryLevel, properties: [.read, .notify], value: .stored([99]))
        ]))
    let more = try await server.add(
      ServiceDefinition(
        extras,
        characteristics: [
          CharacteristicDefinition(log, properties: .read, value: .constant(logValue)),
          CharacteristicDefinition(notes, properties: [.read, .write], value: .stored([])),
          CharacteristicDefinition(stream, properties: [.read, .notify], value: .stored([0])),
        ]))

    var data = AdvertisingData()
    data.localName = "Atto Strap"
    data.serviceUUIDs = [.heartRate, .battery]
    data.appearance = 0x0341
    let radio = try Adapter.virtual(name: "Strap", folder: folder, loop: .shared)
    let listener = try await server.advertise(on: radio, options: ListenOptions(advertising: data))

    let value = heart[.heartRateMeasurement].valueHandle
    let beats = Task(executorPreference: server.loop.tasks) {
      var rate: UInt8 = 64
      while true {
        try await server.loop.sleep(for: .milliseconds(50))
        try await server.notify([0, rate], of: value)
        rate = rate < 90 ? rate + 1 : 64
      }
    }
    return DemoStrap(server, listener, stream: more[stream].valueHandle, beats: beats)
  }

  /// Notifies numbered values for a time. Returns their number.
  func stream(size: Int, for time: Duration) async throws -> Int {
    let server = server
    let handle = streamValue
    return try await Task(executorPreference: server.loop.tasks) {
      let clock = ContinuousClock()
      let end = clock.now + time
      var value = [UInt8](repeating: 0x55, count: min(size, 512))
      var number: UInt32 = 0
      while clock.now < end {
        for _ in 0..<64 {
          for index in 0..<4 { value[index] = UInt8(truncatingIfNeeded: number >> (index * 8)) }
          guard try await server.notify(value, of: handle).count == 1 else { return Int(number) }
          number += 1
        }
      }
      return Int(number)
    }.value
  }
}
