import Atto
import AttoATT
import AttoEventLoop
import AttoGATT

/// Requests of the Simple Management Protocol over a connection: written without response to a
/// characteristic that notifies the responses, in as many parts as the MTU makes of them.
///
/// One task uses it.
package final class SMPClient {
  /// DA2E7828-FBCE-4E01-AE9E-261174997C48.
  package static let characteristic = BluetoothUUID(
    high: 0xDA2E_7828_FBCE_4E01, low: 0xAE9E_2611_7499_7C48)

  package enum Fault: Error, Hashable, Sendable, CustomStringConvertible {
    case noService
    case noResponse(after: Duration)
    case malformedResponse
    case wrongResponse

    package var description: String {
      switch self {
      case .noService: "the device has no SMP service: its firmware takes no updates over Bluetooth"
      case .noResponse(let time): "the device has not answered within \(time.components.seconds) s"
      case .malformedResponse: "the device answers with a malformed message"
      case .wrongResponse: "the device answers another request than the one that was sent"
      }
    }
  }

  /// Requests are answered at once, but for those that erase flash.
  private static let patience: Duration = .seconds(10)
  private static let longPatience: Duration = .seconds(60)

  private let connection: Connection
  private let handle: AttributeHandle
  private let incoming: Incoming
  private var sequence: UInt8 = 0

  /// Finds the characteristic and subscribes to it.
  ///
  /// - Throws: ``Fault/noService``, and what `Connection.discover` and `Connection.subscribe`
  ///   throw.
  package init(on connection: Connection) async throws {
    let database = try await connection.discover()
    guard let characteristic = database.characteristic(Self.characteristic) else {
      throw Fault.noService
    }
    self.connection = connection
    handle = characteristic.valueHandle
    incoming = Incoming(try await connection.subscribe(to: characteristic), on: connection.loop)
  }

  /// Sends a request and waits for its response.
  ///
  /// - Throws: `SMPRefusal`, ``Fault``, and what a connection throws.
  package func request(
    _ operation: SMPMessage.Operation, _ command: SMPMessage.Command, _ body: CBOR = .map([:])
  ) async throws -> CBOR {
    let number = try await send(operation, command, body)
    let response = try await receive(command, within: Self.patience)
    guard response.sequence == number else { throw Fault.wrongResponse }
    if let refusal = SMPRefusal(in: response.body) { throw refusal }
    return response.body
  }

  /// The longest message that the device takes, and how many may wait in it: as it says, or what
  /// one value can hold.
  package func limits() async throws -> (message: Int, window: Int) {
    let single = min(try await connection.mtu - 3, 512)
    do {
      let answer = try await request(.read, .parameters)
      guard let size = answer["buf_size"]?.integer, let count = answer["buf_count"]?.integer else {
        return (single, 1)
      }
      // A response needs a buffer too, and the request that is being carried out has one.
      return (min(max(Int(clamping: size), 64), 4096), min(max(Int(clamping: count) - 2, 1), 8))
    } catch is SMPRefusal {
      return (single, 1)
    }
  }

  /// Uploads an image, or goes on with an upload of it that broke off.
  ///
  /// - Parameter progress: called with the octets that the device has.
  /// - Throws: `FirmwareUpload.Fault`, `SMPRefusal`, ``Fault``, and what a connection throws.
  ///   Another upload goes on from where this one has ended.
  package func upload(
    _ image: FirmwareImage, _ options: FirmwareUpload.Options, progress: (Int) async -> Void
  ) async throws {
    var upload = FirmwareUpload(image, options)
    while !upload.isDone {
      while let body = try upload.next() { _ = try await send(.write, .upload, body) }
      let isFirst = upload.offset == 0
      let response = try await receive(.upload, within: isFirst ? Self.longPatience : Self.patience)
      try upload.received(response.body)
      await progress(upload.offset)
    }
  }

  private func send(
    _ operation: SMPMessage.Operation, _ command: SMPMessage.Command, _ body: CBOR
  ) async throws -> UInt8 {
    defer { sequence &+= 1 }
    var rest = SMPMessage(operation, command, sequence: sequence, body).encoded[...]
    let part = min(try await connection.mtu - 3, 512)
    while !rest.isEmpty {
      try await connection.writeWithoutResponse(Array(rest.prefix(part)), to: handle)
      rest = rest.dropFirst(part)
    }
    return sequence
  }

  private func receive(_ command: SMPMessage.Command, within time: Duration) async throws
    -> SMPMessage
  {
    let message = try await incoming.next(within: time)
    guard message.command == command, [.readResponse, .writeResponse].contains(message.operation)
    else {
      throw Fault.wrongResponse
    }
    return message
  }
}

/// The messages that arrive. A task of its own receives them, so that waiting for one can end
/// without losing any.
private final class Incoming: Sendable {
  /// Messages that may wait: a device sends no more than it was asked for.
  private static let limit = 64

  private let loop: Loop
  private let task: Task<Void, Never>
  private let messages: AsyncThrowingStream<SMPMessage, any Error>
  private let continuation: AsyncThrowingStream<SMPMessage, any Error>.Continuation

  init(_ values: ReceivedValues, on loop: Loop) {
    self.loop = loop
    let (messages, continuation) = AsyncThrowingStream<SMPMessage, any Error>.makeStream(
      bufferingPolicy: .bufferingOldest(Self.limit))
    (self.messages, self.continuation) = (messages, continuation)
    task = Task(executorPreference: loop.tasks) {
      var reassembly = SMPMessage.Reassembly()
      do {
        for try await value in values {
          switch reassembly.add(value.value) {
          case .incomplete: break
          case .whole(let message):
            if case .dropped = continuation.yield(message) { throw SMPClient.Fault.wrongResponse }
          case .malformed: throw SMPClient.Fault.malformedResponse
          }
        }
        continuation.finish(throwing: AttoError.cancelled)
      } catch {
        continuation.finish(throwing: error)
      }
    }
  }

  deinit { task.cancel() }

  /// The next message. After an error, each further call throws.
  func next(within time: Duration) async throws -> SMPMessage {
    let continuation = continuation
    let alarm = Task(executorPreference: loop.tasks) { [loop] in
      try await loop.sleep(for: time)
      continuation.finish(throwing: SMPClient.Fault.noResponse(after: time))
    }
    defer { alarm.cancel() }
    var iterator = messages.makeAsyncIterator()
    // It also ends when the task is cancelled.
    guard let message = try await iterator.next() else { throw AttoError.cancelled }
    return message
  }
}
