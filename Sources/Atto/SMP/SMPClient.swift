import AttoATT
import AttoEventLoop

/// Requests of the Simple Management Protocol over a link: written without response to a
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

  private let carrier: any SMPCarrier
  private var reassembly = SMPMessage.Reassembly()
  private var sequence: UInt8 = 0

  package init(_ carrier: any SMPCarrier) { self.carrier = carrier }

  /// The octets that one value to the device may have.
  private nonisolated(nonsending) var valueLimit: Int {
    get async throws { min(try await carrier.mtu - 3, 512) }
  }

  /// Sends a request and waits for its response.
  ///
  /// - Throws: `SMPRefusal`, ``Fault``, and what the carrier throws.
  package nonisolated(nonsending) func request(
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
  package nonisolated(nonsending) func limits() async throws -> (message: Int, window: Int) {
    let single = try await valueLimit
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
  /// - Throws: `FirmwareUpload.Fault`, `SMPRefusal`, ``Fault``, and what the carrier throws.
  ///   Another upload goes on from where this one has ended.
  package nonisolated(nonsending) func upload(
    _ image: FirmwareImage, _ options: FirmwareUpload.Options,
    progress: nonisolated(nonsending) (Int) async -> Void
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

  private nonisolated(nonsending) func send(
    _ operation: SMPMessage.Operation, _ command: SMPMessage.Command, _ body: CBOR
  ) async throws -> UInt8 {
    defer { sequence &+= 1 }
    var rest = SMPMessage(operation, command, sequence: sequence, body).encoded[...]
    let part = try await valueLimit
    while !rest.isEmpty {
      try await carrier.send(Array(rest.prefix(part)))
      rest = rest.dropFirst(part)
    }
    return sequence
  }

  private nonisolated(nonsending) func receive(_ command: SMPMessage.Command, within time: Duration)
    async throws
    -> SMPMessage
  {
    let end = carrier.loop.now + time.inNanoseconds
    while true {
      let left = max(0, end - carrier.loop.now)
      guard let value = try await carrier.receive(within: .nanoseconds(left)) else {
        throw Fault.noResponse(after: time)
      }
      switch reassembly.add(value) {
      case .incomplete: continue
      case .malformed: throw Fault.malformedResponse
      case .whole(let message):
        guard message.command == command,
          [.readResponse, .writeResponse].contains(message.operation)
        else { throw Fault.wrongResponse }
        return message
      }
    }
  }
}
