import Atto
import AttoEventLoop
import AttoLinks

/// A device's turn to connect.
struct Turn: Sendable {
  let id: UInt64
  let adapter: Adapter
  let adapterName: AdapterName
  let address: BluetoothAddress
}

/// The turns of a hub. The loop's thread only.
struct Turns {
  struct Waiting {
    let device: Device
    let failures: Int
    /// When the last link or attempt ended.
    let since: Int64
    /// The end of the pause after a failure.
    var notBefore: Int64
    /// When the device is tried although it was not heard.
    let blindly: Int64
    let waiter: Waiter<Turn?, GatewayError>
  }

  var lastID: UInt64 = 0
  var waiting: [UInt64: Waiting] = [:]
  /// Turns under way: attempts and links.
  var granted: [UInt64: Turn] = [:]
  /// Those of ``granted`` that are attempts.
  var attempts: [UInt64: AdapterName] = [:]
  var timer: LoopTimer?
}

/// Turns to connect.
///
/// # Theory
/// A device that waits for a link has its turn when an adapter hears it, and its pause after the
/// last failure is over: at once after the first loss. Pauses double up to ``longestPause``, each
/// between half and all of its length, so that devices that were lost together do not come back
/// together. A device that appears on the air ends its pause, but still waits the minimum time that
/// keeps a device that fails repeatedly from occupying the adapter.
///
/// Several attempts run at once on an adapter (``Configuration/Limits/attempts``); the kernel
/// carries them out as advertisements arrive. Devices with fewer failures go first, so one that
/// never answers costs the others nothing. From time to time a device that is not heard is tried
/// too, since a scan can miss it or may not be permitted. One attempt of each adapter is reserved
/// for devices that are heard.
extension Hub {
  static let longestPause: Duration = .seconds(60)
  static let firstBlindTime: Duration = .seconds(5)

  /// Waits for a device's turn; nil if the task is cancelled.
  func turn(of device: Device) async -> Turn? {
    let failures = device.here { $0.failures }
    turns.lastID += 1
    let id = turns.lastID
    let now = loop.now
    let pause = failures == 0 ? .zero : Self.pause(after: failures) * Double.random(in: 0.5...1)
    let blind = min(Self.firstBlindTime * Double(1 << min(failures, 8)), Self.longestPause)
    let turn: Turn?? = try? await loop.withLocalWaiter { (waiter: Waiter<Turn?, GatewayError>) in
      turns.waiting[id] = Turns.Waiting(
        device: device, failures: failures, since: now, notBefore: now + pause.inNanoseconds,
        blindly: now + blind.inNanoseconds, waiter: waiter)
      waiter.whenCancelled = { [weak self] in
        self?.here { $0.turns.waiting[id] = nil }
      }
      reconsider()
    }
    guard let turn = turn ?? nil else { return nil }
    guard !Task.isCancelled else {
      attemptEnded(turn)
      linkEnded(turn)
      return nil
    }
    return turn
  }

  static func pause(after failures: Int) -> Duration {
    min(.milliseconds(500) * Double(1 << min(failures - 1, 10)), longestPause)
  }

  /// A device has appeared on the air.
  func appeared(_ address: BluetoothAddress) {
    for (id, waiting) in turns.waiting {
      guard waiting.device.here({ $0.address?.value }) == address.value else { continue }
      let least: Duration =
        waiting.failures == 0
        ? .zero : min(.milliseconds(100) * Double(1 << min(waiting.failures, 10)), .seconds(10))
      turns.waiting[id]?.notBefore = min(
        waiting.notBefore, waiting.since + least.inNanoseconds)
    }
  }

  /// The attempt is over; a link may have come of it.
  func attemptEnded(_ turn: Turn) {
    guard turns.attempts.removeValue(forKey: turn.id) != nil else { return }
    reconsider()
  }

  /// The link or attempt is over.
  func linkEnded(_ turn: Turn) {
    guard turns.granted.removeValue(forKey: turn.id) != nil else { return }
    slotsChanged()
    reconsider()
  }

  /// Gives turns to the devices that can have one now.
  func reconsider() {
    guard !turns.waiting.isEmpty, isRunning else { return }
    let now = loop.now
    var next = Int64.max
    let order = turns.waiting.sorted {
      ($0.value.failures, $0.value.since, $0.key) < ($1.value.failures, $1.value.since, $1.key)
    }
    var unheard: [(key: UInt64, value: Turns.Waiting)] = []
    for entry in order {
      guard let address = entry.value.device.here({ $0.address }) else { continue }
      let hearing = radios.values.filter { $0.heard(address)?.discovery.isConnectable ?? false }
      guard !hearing.isEmpty else {
        unheard.append(entry)
        continue
      }
      guard entry.value.notBefore <= now else {
        next = min(next, entry.value.notBefore)
        continue
      }
      let best = hearing.filter { hasRoom($0) }.max {
        $0.heard(address)!.discovery.rank < $1.heard(address)!.discovery.rank
      }
      if let best { grant(entry.key, best, best.heard(address)!.discovery.address) }
    }
    for entry in unheard {
      guard let address = entry.value.device.here({ $0.address }) else { continue }
      let isHeardOf = radios.values.contains { $0.phase == .running }
      let due = isHeardOf ? max(entry.value.notBefore, entry.value.blindly) : entry.value.notBefore
      guard due <= now else {
        next = min(next, due)
        continue
      }
      if let radio = radios.values.first(where: { hasRoom($0, besides: 1) }) {
        grant(entry.key, radio, address)
      }
    }
    turns.timer?.cancel()
    turns.timer = nil
    guard next < .max else { return }
    turns.timer = LoopTimer(after: .nanoseconds(max(0, next - now)), on: loop) { [weak self] in
      self?.here { $0.reconsider() }
    }
  }

  private func hasRoom(_ radio: Radio, besides reserve: Int = 0) -> Bool {
    radio.adapter != nil && turns.granted.count < configuration.limits.connections
      && turns.attempts.values.count { $0 == radio.name } + reserve < configuration.limits.attempts
  }

  private func grant(_ id: UInt64, _ radio: Radio, _ address: BluetoothAddress) {
    guard let adapter = radio.adapter, let waiting = turns.waiting.removeValue(forKey: id) else {
      return
    }
    let turn = Turn(id: id, adapter: adapter, adapterName: radio.name, address: address)
    turns.granted[id] = turn
    turns.attempts[id] = radio.name
    slotsChanged()
    waiting.waiter.resume(.success(turn))
  }

  // MARK: Slots

  /// The links that can be made.
  package var slots: Slots {
    Slots(
      limit: configuration.limits.connections,
      allocated: turns.granted.sorted { $0.key < $1.key }.map(\.value.address))
  }

  /// The slots now, and when they change; intermediate changes may be skipped.
  package func slotChanges() -> AsyncStream<Slots> {
    let (stream, continuation) = AsyncStream<Slots>.makeStream(bufferingPolicy: .bufferingNewest(1))
    lastListener += 1
    let id = lastListener
    slotWatchers[id] = continuation
    continuation.yield(slots)
    continuation.onTermination = { [weak self] _ in
      guard let self else { return }
      self.loop.execute { self.here { $0.slotWatchers[id] = nil } }
    }
    return stream
  }

  func slotsChanged() {
    for watcher in slotWatchers.values { watcher.yield(slots) }
  }
}
