internal import Atto
import AttoRadio
import Foundation

extension PublishingEngine {
  /// - Parameter clients: nil: all subscribers.
  func update(
    _ value: [UInt8], _ carried: UncheckedBox<CBMutableCharacteristic>, _ clients: [ClientID]?,
    _ ticket: UpdateTicket
  ) {
    guard let server = radio?.server,
      let (handle, entry) = entries.first(where: {
        $0.value.characteristic.content === carried.content
      })
    else {
      // A restored service is published without a callback, so the app may be early. Nobody is
      // subscribed yet.
      if !isResuming {
        Warning.log("dropped a value of \(carried.content), which is not published")
      }
      return
    }
    for (client, configuration) in entry.subscribers where clients?.contains(client) ?? true {
      if let limit = server.mtuNow(of: client).map({ min(512, $0 - 3) }), value.count > limit {
        ticket.warnTruncated(value.count, limit)
      }
      _ = central(client)
      let queue = updates[client] ?? UpdateQueue(client, server)
      updates[client] = queue
      queue.append(
        UpdateQueue.Entry(
          handle: handle, value: Array(value.prefix(512)),
          isIndication: !configuration.contains(.notification),
          ticket: ticket))
    }
  }

  func setLatency(_ latency: CBPeripheralManagerConnectionLatency, for client: ClientID) {
    guard let radio, let adapter = radio.adapter,
      let peer = radio.host.address(of: client)
    else { return }
    let interval: ClosedRange<UInt16> =
      switch latency {
      case .low: 12...24
      case .medium: 24...48
      case .high: 80...160
      }
    let preferred = radio.host.prefer(
      PreferredConnectionParameters(interval: interval, supervisionTimeout: 400), of: peer)
    Task { @RadioLoop in
      do throws(RadioError) {
        try await adapter.loadConnectionParameters(preferred)
      } catch {
        Warning.log("cannot set the connection latency for \(peer): \(error)")
      }
    }
  }
}
