/// Decides which gateway of a fleet holds a device.
///
/// # Theory
/// There is no leader. Each gateway publishes a ``Digest``: what it hears, what it holds, and what it tries
/// to connect to. From the digests of the others it decides for itself. The radio link is the lock: a
/// device accepts one central, so two gateways that decide for the same device at one moment
/// cannot both have it, and the one that fails steps back.
///
///     free and heard --(grace + rank * step)--> claimed --(link)--> held
///          ^                                      |                  |
///          +------------ no link in time ---------+   lost, or another is better
///          +---------------------------------------------------------+
///
/// A device is free if no living gateway holds or claims it. The gateways that hear it are ranked by the
/// strength of the signal, less ``crowding`` for each link that they hold. The one that held it last has
/// a bonus, the hysteresis. Rank 0 connects after ``grace``, in which the digests travel, and each
/// further rank ``step`` later, so that a gateway that cannot connect does not block the others.
///
/// A holder that sees another gateway hear the device better by ``handoverGain`` for ``handoverTime``
/// releases it, and leaves it to the others for that time. This needs a device that advertises while it
/// is connected.
///
/// A gateway is dead when the broker publishes its last will, or its digest is older than ``lifetime``.
/// Without a broker each gateway is alone: it holds what it has, and connects to what it hears.
///
/// Sans-IO. Time is in milliseconds.
struct Fleet {
  /// dB for each held link.
  static let crowding = 0.25
  /// dB for the gateway that held the device last.
  static let bonus = 6.0
  static let grace: Int64 = 1000
  static let step: Int64 = 4000
  /// For how long an advertisement counts.
  static let memory: Int64 = 15_000
  /// The time for a link, and the pause after a failure, which doubles up to 16 times.
  static let claimTime: Int64 = 20_000
  static let failurePause: Int64 = 5000
  static let handoverGain = 10.0
  static let handoverTime: Int64 = 30_000
  /// The shortest time between two digests, the usual one, and the age at which one is ignored.
  static let shortestPeriod: Int64 = 500
  static let period: Int64 = 30_000
  static let lifetime: Int64 = 100_000
  /// Gateways that are known at one time.
  static let gatewayLimit = 256

  /// What a gateway tells the others.
  struct Digest: Equatable, Sendable {
    var gateway: String
    /// Links that it can still make.
    var free = 0
    var holds: Set<String> = []
    var claims: Set<String> = []
    /// The devices that it hears, with the strength in dBm.
    var heard: [String: Int] = [:]
  }

  enum Action: Equatable, Sendable {
    case connect(String)
    case release(String)
    case publish(Digest)
  }

  private struct Other {
    var digest: Digest
    var time: Int64
  }

  private struct Heard {
    var strength: Double
    var time: Int64
  }

  private enum State {
    case open
    case claimed(since: Int64)
    case held
  }

  private struct Device {
    var state = State.open
    var heard: Heard?
    /// Since when it is heard and free.
    var freeSince: Int64?
    var notBefore: Int64 = 0
    var failures = 0
    var wasMine = false
    /// Since when another gateway is better.
    var betterSince: Int64?
  }

  let name: String
  let slots: Int
  private var devices: [String: Device] = [:]
  private var others: [String: Other] = [:]
  /// The gateway that holds or claims a device, of the living others.
  private var owners: [String: String] = [:]
  /// Devices that might be connected to.
  private var candidates: Set<String> = []
  private var mine: Set<String> = []
  /// What was ``mine`` and has to be released.
  private var dropped: [String] = []
  private var lastDigest: Digest?
  private var lastTime: Int64 = .min / 2
  private var isChanged = true

  init(name: String, slots: Int) { (self.name, self.slots) = (name, slots) }

  /// Devices that this gateway holds or tries to.
  var holds: Set<String> { mine }

  /// Whether something has to be decided soon. Otherwise a tick every few seconds is enough.
  var isBusy: Bool { isChanged || !candidates.isEmpty || mine.count > held }
  /// Devices of ``mine`` that have a link.
  private var held = 0

  /// Whether this gateway answers for a device: it holds it, or no gateway does and its name is the
  /// first of those that hear the device, or of all if none does. How well or how lately they hear it does
  /// not matter: exactly one has to answer, and digests with signal strengths arrive at different times.
  func answers(for device: String) -> Bool {
    if mine.contains(device) { return true }
    guard owners[device] == nil else { return false }
    let others = others.values.filter { $0.digest.heard[device] != nil }.map(\.digest.gateway)
    guard devices[device]?.heard != nil else {
      return others.isEmpty && self.others.keys.allSatisfy { name < $0 }
    }
    return others.allSatisfy { name < $0 }
  }

  // MARK: - Input

  mutating func add(_ device: String) { devices[device] = Device() }

  mutating func remove(_ device: String) {
    if case .held = devices[device]?.state { held -= 1 }
    devices[device] = nil
    candidates.remove(device)
    dropped.removeAll { $0 == device }
    if mine.remove(device) != nil { isChanged = true }
  }

  /// An advertisement of a device.
  mutating func heard(_ device: String, _ strength: Int, at now: Int64) {
    guard var known = devices[device] else { return }
    if let heard = known.heard, now - heard.time < Self.memory {
      let smooth = heard.strength * 0.75 + Double(strength) * 0.25
      known.heard = Heard(strength: smooth, time: now)
    } else {
      known.heard = Heard(strength: Double(strength), time: now)
      isChanged = true
    }
    if case .open = known.state {
      if owners[device] == nil {
        if known.freeSince == nil {
          known.freeSince = now
          isChanged = true
        }
        candidates.insert(device)
      }
    }
    devices[device] = known
  }

  /// The digest of another gateway.
  mutating func receive(_ digest: Digest, at now: Int64) {
    guard digest.gateway != name else { return }
    guard others[digest.gateway] != nil || others.count < Self.gatewayLimit else { return }
    let before = others[digest.gateway]?.digest
    others[digest.gateway] = Other(digest: digest, time: now)
    let owned = digest.holds.union(digest.claims)
    if let before {
      for device in before.holds.union(before.claims).subtracting(owned)
      where owners[device] == digest.gateway { disown(device) }
    }
    for device in owned { owners[device] = digest.gateway }
    for device in digest.holds where mine.contains(device) {
      // Its link exists, so ours cannot come.
      if case .claimed = devices[device]?.state { fail(device, at: now) }
    }
    for device in owned { candidates.remove(device) }
    for device in owned { devices[device]?.freeSince = nil }
    for device in digest.holds { devices[device]?.wasMine = false }
  }

  /// A gateway has died.
  ///
  /// - Returns: the devices that it held.
  @discardableResult mutating func gone(_ gateway: String) -> [String] {
    guard others.removeValue(forKey: gateway) != nil else { return [] }
    let orphans = owners.filter { $0.value == gateway }.map(\.key)
    for device in orphans { disown(device) }
    return orphans
  }

  /// The broker is away, and with it the others.
  mutating func alone() {
    others = [:]
    for device in owners.keys { disown(device) }
  }

  /// The link of a device that this gateway holds was made or lost.
  mutating func linked(_ device: String, _ isLinked: Bool, at now: Int64) {
    guard mine.contains(device), let state = devices[device]?.state else { return }
    isChanged = true
    if case .held = state { held -= 1 }
    if isLinked {
      held += 1
      devices[device]?.state = .held
      devices[device]?.failures = 0
      devices[device]?.wasMine = true
    } else {
      // Made again by this gateway if it is still the best placed one within the time of a claim.
      devices[device]?.state = .claimed(since: now)
    }
  }

  /// What is to be done now. Call it every half second while ``isBusy``, otherwise every few
  /// seconds.
  mutating func tick(at now: Int64) -> [Action] {
    // A device that a digest has taken away may be connected to again.
    var actions = releases()
    for (gateway, other) in others where now - other.time > Self.lifetime { gone(gateway) }
    for device in candidates {
      guard var known = devices[device], let heard = known.heard,
        now - heard.time < Self.memory, owners[device] == nil
      else {
        candidates.remove(device)
        devices[device]?.freeSince = nil
        continue
      }
      guard mine.count < slots, now >= known.notBefore, let since = known.freeSince,
        now >= since + Self.grace + Self.step * Int64(rank(of: device, known))
      else { continue }
      known.state = .claimed(since: now)
      known.freeSince = nil
      devices[device] = known
      candidates.remove(device)
      mine.insert(device)
      isChanged = true
      actions.append(.connect(device))
    }
    for device in mine { review(device, at: now) }
    actions += releases()
    if let digest = digest(at: now) { actions.append(.publish(digest)) }
    return actions
  }

  /// The digest, for a broker that has just been reached.
  mutating func announce() { lastDigest = nil }

  // MARK: - Decisions

  private mutating func disown(_ device: String) {
    owners[device] = nil
    // Hearing it makes it a candidate: while the link of the former holder lasts it is silent.
    devices[device]?.freeSince = nil
  }

  /// How many of the others are better placed.
  private func rank(of device: String, _ known: Device) -> Int {
    let own = score(known.heard?.strength ?? -127, mine.count, known.wasMine)
    return others.values.count { other in
      guard other.digest.free > 0, let strength = other.digest.heard[device] else { return false }
      let score = score(Double(strength), other.digest.holds.count, false)
      return score > own || score == own && other.digest.gateway < name
    }
  }

  private func score(_ strength: Double, _ links: Int, _ wasMine: Bool) -> Double {
    strength - Self.crowding * Double(links) + (wasMine ? Self.bonus : 0)
  }

  private mutating func releases() -> [Action] {
    defer { dropped = [] }
    return dropped.map { .release($0) }
  }

  private mutating func review(_ device: String, at now: Int64) {
    guard var known = devices[device] else { return }
    switch known.state {
    case .claimed(let since) where now - since > Self.claimTime:
      fail(device, at: now)
    case .held:
      let own = known.heard.map { now - $0.time < Self.memory ? $0.strength : -127 } ?? -127
      let isBetter =
        own > -127
        && others.values.contains {
          $0.digest.free > 0 && Double($0.digest.heard[device] ?? -128) > own + Self.handoverGain
        }
      known.betterSince = isBetter ? known.betterSince ?? now : nil
      devices[device] = known
      guard let since = known.betterSince, now - since >= Self.handoverTime else { return }
      drop(device, until: now + Self.handoverTime)
      devices[device]?.wasMine = false
      devices[device]?.betterSince = nil
    default: return
    }
  }

  private mutating func fail(_ device: String, at now: Int64) {
    let failures = min(devices[device]?.failures ?? 0, 4)
    devices[device]?.failures = failures + 1
    drop(device, until: now + Self.failurePause << Int64(failures))
  }

  private mutating func drop(_ device: String, until time: Int64) {
    if case .held = devices[device]?.state { held -= 1 }
    mine.remove(device)
    dropped.append(device)
    devices[device]?.state = .open
    devices[device]?.notBefore = time
    devices[device]?.freeSince = nil
    isChanged = true
  }

  /// The digest if it says something new, or the last one has become old.
  private mutating func digest(at now: Int64) -> Digest? {
    let isDue = now - lastTime >= Self.period || lastDigest == nil
    guard isDue || isChanged && now - lastTime >= Self.shortestPeriod else { return nil }
    var digest = Digest(gateway: name, free: max(0, slots - mine.count))
    for device in mine {
      if case .held = devices[device]?.state {
        digest.holds.insert(device)
      } else {
        digest.claims.insert(device)
      }
    }
    for (device, known) in devices {
      guard let heard = known.heard, now - heard.time < Self.memory else { continue }
      digest.heard[device] = Int(heard.strength.rounded())
    }
    isChanged = false
    guard isDue || digest != lastDigest else { return nil }
    lastDigest = digest
    lastTime = now
    return digest
  }
}
