import AttoGateway
import AttoSensors

/// What was published of a sensor, and what is due. Without input or output; times are nanoseconds of one
/// clock.
struct SensorSession {
  /// A number that changes is published after this time at the earliest.
  static let shortest: Int64 = 5_000_000_000
  /// A reading that stays is published again after this time, so that it does not expire.
  static let longest: Int64 = 60_000_000_000
  /// An event without a counter is another one after this time.
  static let eventTime: Int64 = 3_000_000_000
  /// A counter that begins again is below this number. As BTHome has it.
  static let counterStart: UInt32 = 100

  let configuration: SensorConfiguration
  private let decoder: SensorDecoder
  private var published: [String: (value: SensorReading.Value, time: Int64)] = [:]
  private var counter: UInt32?
  /// The keys that Home Assistant was told of.
  var announced: Set<String> = []
  /// What was wrong with the last advertisement.
  private(set) var problem: SensorAdvertisement.Problem?
  /// The problems that are in the log.
  var logged: Set<SensorAdvertisement.Problem> = []
  /// Advertisements that were ignored because they are older than others.
  private(set) var replayed = 0

  init(_ configuration: SensorConfiguration) {
    self.configuration = configuration
    decoder = SensorDecoder(
      keys: configuration.bindKey.map { [configuration.address.value: $0] } ?? [:])
  }

  /// Has everything published and announced again.
  mutating func forget() {
    published = [:]
    announced = []
  }

  /// Decodes what was heard, and returns it with the readings that are to be published now; nil if there
  /// is nothing new.
  mutating func receive(_ heard: Heard) -> (SensorAdvertisement, due: [SensorReading])? {
    let discovery = heard.discovery
    guard let found = decoder.decode(discovery.data, from: discovery.address) else { return nil }
    problem = found.problem
    let isRepeated = found.counter != nil && found.counter == counter
    if let new = found.counter, found.problem == nil {
      // Somebody who has recorded an encrypted advertisement can send it again.
      if found.isEncrypted, let counter, new < counter, new >= Self.counterStart {
        replayed += 1
        return nil
      }
      counter = new
    }
    var due: [SensorReading] = []
    for reading in found.readings
    where isDue(reading, at: heard.time, isRepeated: isRepeated, hasCounter: found.counter != nil) {
      published[reading.key] = (reading.value, heard.time)
      due.append(reading)
    }
    return due.isEmpty && problem == nil ? nil : (found, due)
  }

  private func isDue(
    _ reading: SensorReading, at time: Int64, isRepeated: Bool, hasCounter: Bool
  ) -> Bool {
    guard let last = published[reading.key] else { return true }
    let age = time - last.time
    let isChanged = last.value != reading.value
    switch reading.kind.content {
    case .event:
      return hasCounter ? !isRepeated : isChanged || age >= Self.eventTime
    case .state, .text: return isChanged || age >= Self.longest
    case .number, .total: return age >= (isChanged ? Self.shortest : Self.longest)
    }
  }
}
