internal import Atto
import Foundation

// Values on their way to those who have subscribed.

extension PublishingEngine {
  /// Sends a value to those who have subscribed.
  ///
  /// - Parameter clients: only to these; nil: to all.
  func update(
    _ value: [UInt8], _ carried: Carried<CBMutableCharacteristic>, _ clients: [ClientID]?,
    _ ticket: UpdateTicket
  ) {
    guard let server = station?.server,
      let (handle, entry) = entries.first(where: {
        $0.value.characteristic.content === carried.content
      })
    else {
      return Misuse.log("a value of \(carried.content), which is not published, was dropped")
    }
    for (client, configuration) in entry.subscribers where clients?.contains(client) ?? true {
      if let limit = server.mtuNow(of: client).map({ min(512, $0 - 3) }), value.count > limit {
        ticket.tellCut(value.count, limit)
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
}
