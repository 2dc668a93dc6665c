import Atto
import AttoATT
import AttoEventLoop
import AttoGATT

/// Carries the octets of messages to a device and back. One task uses it.
package protocol SMPCarrier {
  var loop: Loop { get }
  /// The ATT_MTU now.
  nonisolated(nonsending) var mtu: Int { get async throws }
  nonisolated(nonsending) func send(_ value: [UInt8]) async throws
  /// The next value from the device; nil if none arrives in this time. After an error or nil, each
  /// further call ends the same way.
  nonisolated(nonsending) func receive(within time: Duration) async throws -> [UInt8]?
}

/// A connection that nobody else needs for this.
package final class ConnectionCarrier: SMPCarrier {
  private let connection: Connection
  private let handle: AttributeHandle
  private let incoming: Incoming
  package var loop: Loop { connection.loop }

  /// Finds the characteristic and subscribes to it.
  ///
  /// - Throws: `SMPClient.Fault.noService`, and what `Connection.discover` and
  ///   `Connection.subscribe` throw.
  package nonisolated(nonsending) init(_ connection: Connection) async throws {
    let database = try await connection.discover()
    guard let characteristic = database.characteristic(SMPClient.characteristic) else {
      throw SMPClient.Fault.noService
    }
    self.connection = connection
    handle = characteristic.valueHandle
    incoming = Incoming(try await connection.subscribe(to: characteristic), on: connection.loop)
  }

  package nonisolated(nonsending) var mtu: Int { get async throws { try await connection.mtu } }

  package nonisolated(nonsending) func send(_ value: [UInt8]) async throws {
    try await connection.writeWithoutResponse(value, to: handle)
  }

  package nonisolated(nonsending) func receive(within time: Duration) async throws -> [UInt8]? {
    try await incoming.next(within: time)
  }
}

/// The values that arrive. A task of its own receives them, so that waiting for one can end without
/// losing any.
private final class Incoming: Sendable {
  /// Values that may wait: a device sends no more than it was asked for.
  private static let limit = 256

  private struct TooLate: Error {}

  private let loop: Loop
  private let task: Task<Void, Never>
  private let received: AsyncThrowingStream<[UInt8], any Error>
  private let continuation: AsyncThrowingStream<[UInt8], any Error>.Continuation

  init(_ values: ReceivedValues, on loop: Loop) {
    self.loop = loop
    let (received, continuation) = AsyncThrowingStream<[UInt8], any Error>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.limit))
    (self.received, self.continuation) = (received, continuation)
    task = Task(executorPreference: loop.tasks) {
      do {
        for try await value in values {
          if case .dropped = continuation.yield(value.value) {
            throw SMPClient.Fault.wrongResponse
          }
        }
        continuation.finish(throwing: AttoError.cancelled)
      } catch {
        continuation.finish(throwing: error)
      }
    }
  }

  deinit { task.cancel() }

  nonisolated(nonsending) func next(within time: Duration) async throws -> [UInt8]? {
    let continuation = continuation
    let alarm = Task(executorPreference: loop.tasks) { [loop] in
      try await loop.sleep(for: time)
      continuation.finish(throwing: TooLate())
    }
    defer { alarm.cancel() }
    var iterator = received.makeAsyncIterator()
    do {
      // It also ends when the task is cancelled.
      guard let value = try await iterator.next() else { throw AttoError.cancelled }
      return value
    } catch is TooLate {
      return nil
    }
  }
}
