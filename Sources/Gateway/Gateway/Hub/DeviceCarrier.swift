import Atto
import AttoATT
import AttoEventLoop
import AttoSMP

/// One user's link to a device, for MCUmgr. Other users go on using the link.
final class DeviceCarrier: SMPCarrier {
  private let use: DeviceUse
  private let handle: AttributeHandle
  private var waiting: [[UInt8]] = []
  let mtu: Int
  var loop: Loop { use.device.loop }

  /// Waits for a link and subscribes to the characteristic.
  ///
  /// - Throws: `SMPClient.Fault.noService`, and what the use throws.
  nonisolated(nonsending) init(_ use: DeviceUse, within time: Duration) async throws {
    self.use = use
    mtu = try await use.connected(within: time)
    do throws(GatewayError) {
      handle = try await use.characteristic(.uuid(SMPClient.characteristic, service: nil))
        .valueHandle
    } catch .unknownCharacteristic {
      throw SMPClient.Fault.noService
    }
    try await use.subscribe(handle)
  }

  nonisolated(nonsending) func send(_ value: [UInt8]) async throws {
    try await use.write(value, to: handle, withResponse: false)
  }

  nonisolated(nonsending) func receive(within time: Duration) async throws -> [UInt8]? {
    let end = loop.now + time.inNanoseconds
    while waiting.isEmpty {
      let left = max(0, end - loop.now)
      guard let batch = await use.events.next(within: .nanoseconds(left)) else {
        if Task.isCancelled { throw GatewayError.cancelled }
        guard loop.now >= end else { throw GatewayError.released }
        return nil
      }
      for event in batch.elements {
        switch event {
        case .value(handle, let octets): waiting.append(octets)
        case .disconnected(let error): throw GatewayError.device(error)
        case .value, .connected, .databaseChanged: break
        }
      }
    }
    return waiting.removeFirst()
  }
}
