import Atto
import AttoATT
import AttoEventLoop

/// Sequences: steps on the link without a round trip over the network between them.
extension Device {
  /// No step of a sequence begins later than this.
  package static let sequenceTime: Duration = .seconds(300)

  func perform(_ steps: [SequenceStep], for id: UInt64) async throws(GatewayError) -> [[UInt8]] {
    guard users[id] != nil else { throw .released }
    // A user of its own, so that expected values come here whatever the caller has subscribed to.
    let use = use(as: "sequence of \(users[id]?.name ?? "?")")
    defer { use.release() }
    let end = loop.now + Self.sequenceTime.inNanoseconds
    var results: [[UInt8]] = []
    var index = 0
    do throws(GatewayError) {
      var expected = ExpectedValues(use.events)
      for (number, step) in steps.enumerated() {
        guard case .expect(let reference, _, _) = step else { continue }
        index = number
        try await use.subscribe(use.characteristic(reference).valueHandle)
      }
      for (number, step) in steps.enumerated() {
        index = number
        guard loop.now < end else {
          throw .sequence(step: number + 1, .tooLong(limit: Self.sequenceTime))
        }
        switch step {
        case .pause(let time):
          do throws(AttoError) { try await loop.sleep(for: time) } catch { throw .cancelled }
        case .read(let reference):
          results.append(try await use.read(use.characteristic(reference).valueHandle))
        case .write(let reference, let value, let withResponse):
          try await use.write(
            value, to: use.characteristic(reference).valueHandle, withResponse: withResponse)
        case .expect(let reference, let beginning, let time):
          let handle = try await use.characteristic(reference).valueHandle
          results.append(
            try await expected.next(of: handle, beginning: beginning, within: time, on: loop))
        }
      }
    } catch {
      guard let fault = SequenceFault(error) else { throw error }
      throw .sequence(step: index + 1, fault)
    }
    return results
  }
}

extension SequenceFault {
  /// nil for errors that concern the caller rather than a step.
  fileprivate init?(_ error: GatewayError) {
    switch error {
    case .device(let error): self = .device(error)
    case .notConnected: self = .notConnected
    case .unknownCharacteristic(_, let name): self = .unknownCharacteristic(name)
    case .connectTimeout(_, let time): self = .noValue(after: time)
    default: return nil
    }
  }
}

/// Values that arrived and were not expected yet.
private struct ExpectedValues {
  let events: Batches<DeviceEvent>
  var waiting: [(handle: AttributeHandle, value: [UInt8])] = []

  init(_ events: Batches<DeviceEvent>) { self.events = events }

  /// The first value that was not delivered before. Values before it are dropped, of this handle only.
  ///
  /// - Throws: `connectTimeout` if none arrives in time.
  mutating func next(
    of handle: AttributeHandle, beginning: [UInt8], within time: Duration, on loop: Loop
  ) async throws(GatewayError) -> [UInt8] {
    let end = loop.now + time.inNanoseconds
    while true {
      if let index = waiting.firstIndex(where: {
        $0.handle == handle && $0.value.starts(with: beginning)
      }) {
        let found = waiting[index].value
        waiting = waiting[..<index].filter { $0.handle != handle } + waiting[(index + 1)...]
        return found
      }
      guard let batch = await events.next(within: .nanoseconds(max(0, end - loop.now))) else {
        if Task.isCancelled { throw .cancelled }
        throw .connectTimeout(device: "", after: time)
      }
      for event in batch.elements {
        switch event {
        case .value(let handle, let value):
          if waiting.count >= Device.eventLimit { waiting.removeFirst() }
          waiting.append((handle, value))
        case .disconnected(let error): throw .device(error)
        case .connected, .databaseChanged: break
        }
      }
    }
  }
}
