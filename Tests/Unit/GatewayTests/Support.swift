import Atto
import AttoATT
import AttoEventLoop
import AttoGATT
import AttoTesting
import Synchronization
import Testing

@testable import AttoGateway

/// A hub on the virtual air that runs until it is stopped.
final class TestGateway: Sendable {
  let hub: Hub
  private let task: Task<Void, Never>

  init(
    _ air: TestAir, loop: Loop = .shared, _ configure: (inout Configuration) -> Void = { _ in }
  ) async throws {
    var configuration = Configuration(name: "test")
    configure(&configuration)
    let hub = Hub(configuration, loop: loop) { (_, loop) throws(RadioError) in
      try air.adapter(loop: loop)
    }
    self.hub = hub
    task = Task(executorPreference: loop.tasks) { await hub.run() }
    while await !hub.isRunning { await Task.yield() }
  }

  func stop() async {
    task.cancel()
    await task.value
  }
}

/// A heart rate sensor on the virtual air.
final class Strap: Sendable {
  let server: LocalServer
  let radio: Adapter
  let rate: AttributeHandle
  let point: AttributeHandle
  private let listener: ServerListener

  /// What is written to the control point is notified as a rate too.
  ///
  /// - Parameter name: the name of the radio, and the advertised one.
  init(_ air: TestAir, name: String, loop: Loop = .shared) async throws {
    let server = LocalServer(Database(name: name), loop: loop)
    let layout = try await server.add(
      ServiceDefinition(
        .heartRate,
        characteristics: [
          CharacteristicDefinition(.heartRateMeasurement, properties: .notify),
          CharacteristicDefinition(
            .heartRateControlPoint, properties: [.read, .write],
            value: .application(ValueLimits(maximumLength: 512))),
        ]))
    let rate = layout[.heartRateMeasurement].valueHandle
    let point = layout[.heartRateControlPoint].valueHandle
    let value = Mutex<[UInt8]>([])
    server.onRead(of: point) { _ in value.withLock { $0 } }
    server.onWrite(of: point) { [weak server] writes in
      value.withLock { $0 = writes.flatMap(\.value) }
      _ = try? await server?.notify(writes[0].value, of: rate)
    }
    radio = try air.adapter(named: name, loop: loop)
    listener = try await server.advertise(
      on: radio, options: ListenOptions(advertising: AdvertisingData(localName: name)))
    (self.server, self.rate, self.point) = (server, rate, point)
  }

  func notify(_ value: [UInt8]) async throws { try await server.notify(value, of: rate) }

  /// Leaves the air, and ends its links.
  func leave() {
    listener.stop()
    server.disconnect()
  }
}

extension DeviceUse {
  /// The next value.
  func value() async throws -> [UInt8] {
    while let batch = await events.next(within: .seconds(60)) {
      for case .value(_, let value) in batch.elements { return value }
    }
    throw GatewayError.released
  }
}
