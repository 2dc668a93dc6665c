import Atto
import AttoTesting
import Synchronization

/// A server with a value that is stored, one that is notified, and one that a handler has.
struct Thermometer {
  let server: LocalServer
  let name: AttributeHandle
  let temperature: Database.CharacteristicLayout
  let unit: AttributeHandle

  init(_ loop: Loop = .shared, limits: ServerLimits = ServerLimits()) async throws {
    server = LocalServer(loop: loop, limits: limits)
    let layout = try await server.add(
      ServiceDefinition(
        0x1809,
        characteristics: [
          CharacteristicDefinition(
            0x2A00, properties: [.read, .write], value: .stored(Array("attic".utf8))),
          CharacteristicDefinition(0x2A1C, properties: [.notify]),
          CharacteristicDefinition(
            0x2A1D, properties: [.read, .write], value: .application(ValueLimits())),
        ]))
    name = layout.characteristics[0].valueHandle
    temperature = layout.characteristics[1]
    unit = layout.characteristics[2].valueHandle
  }
}

/// The error of a call.
func failure<R>(_ body: () async throws -> R) async -> AttoError? {
  do {
    _ = try await body()
    return nil
  } catch {
    return error as? AttoError
  }
}

/// What happened, in order.
final class Log: Sendable {
  private let events = Mutex<[String]>([])
  var all: [String] { events.withLock { $0 } }
  func append(_ event: String) { events.withLock { $0.append(event) } }
}
