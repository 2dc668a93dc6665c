import Links

/// What one run of the simulator is: all of it follows from these numbers.
public struct SimulationPlan: Equatable, Sendable {
  /// What everything follows from.
  public var seed: UInt64
  /// Two to five, each a server and a client.
  public var devices: Int
  /// What is done in all, before everything is left to come to rest.
  public var actions: Int
  /// What may go wrong.
  public var hazards: Hazards

  /// What may happen besides the ordinary.
  public struct Hazards: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// PDUs are held back by the link.
    public static let delays = Hazards(rawValue: 1)
    /// Links end at any moment.
    public static let losses = Hazards(rawValue: 2)
    /// PDUs vanish, as no real link lets them: the other side seems to be asleep.
    public static let drops = Hazards(rawValue: 4)
    /// PDUs lose their end, or come twice: as from a peer that is broken.
    public static let damage = Hazards(rawValue: 8)
    /// A client sends PDUs that no client would.
    public static let rogues = Hazards(rawValue: 16)
    /// Handlers answer later, some of them too late.
    public static let slowHandlers = Hazards(rawValue: 32)
    /// An end stops reading for a while.
    public static let slowConsumers = Hazards(rawValue: 64)
    /// Services come and go.
    public static let databaseChanges = Hazards(rawValue: 128)
    /// Procedures and indications are cancelled.
    public static let cancels = Hazards(rawValue: 256)
    /// Links become more secure, attributes demand it.
    public static let security = Hazards(rawValue: 512)
    /// Enhanced bearers, up to two on a link.
    public static let enhanced = Hazards(rawValue: 1024)
    /// Handlers use the session, or change the database, while they are asked.
    public static let reentrance = Hazards(rawValue: 2048)
    /// Limits so small that they are reached.
    public static let tightLimits = Hazards(rawValue: 4096)

    /// By name, as a seed's line in a file has them.
    public static let names: [(name: String, hazard: Hazards)] = [
      ("delays", .delays), ("losses", .losses), ("drops", .drops), ("damage", .damage),
      ("rogues", .rogues), ("slowHandlers", .slowHandlers), ("slowConsumers", .slowConsumers),
      ("databaseChanges", .databaseChanges), ("cancels", .cancels), ("security", .security),
      ("enhanced", .enhanced), ("reentrance", .reentrance), ("tightLimits", .tightLimits),
    ]
  }

  /// One with these values; its properties say what each means.
  public init(seed: UInt64, devices: Int, actions: Int, hazards: Hazards) {
    self.seed = seed
    self.devices = min(max(devices, 2), 5)
    self.actions = max(actions, 1)
    self.hazards = hazards
  }

  /// The plan that a seed stands for.
  public init(seed: UInt64) {
    var random = SplitMix64(seed: seed ^ 0xA770_5EED)
    let devices = 2 + random.below(3) * random.below(2)
    let actions = 20 + random.below(300)
    var hazards = Hazards()
    for (_, hazard) in Hazards.names where random.chance(0.45) { hazards.insert(hazard) }
    // Drops and damage change what may be asked of a run; most do without.
    if random.chance(0.7) { hazards.subtract([.drops, .damage]) }
    self.init(seed: seed, devices: devices, actions: actions, hazards: hazards)
  }
}

extension SimulationPlan: CustomStringConvertible {
  /// One line, which ``init(line:)`` reads again: `42 devices 2 actions 31 hazards delays,drops`.
  public var description: String {
    let names = Hazards.names.filter { hazards.contains($0.hazard) }.map(\.name)
    let list = names.isEmpty ? "none" : names.joined(separator: ",")
    return "\(seed) devices \(devices) actions \(actions) hazards \(list)"
  }

  /// Reads a line that ``description`` wrote, or just a seed. nil for anything else.
  public init?(line: some StringProtocol) {
    let words = line.split(separator: " ")
    guard let first = words.first, let seed = UInt64(first) else { return nil }
    self.init(seed: seed)
    guard words.count > 1 else { return }
    guard words.count == 7, words[1] == "devices", words[3] == "actions", words[5] == "hazards",
      let devices = Int(words[2]), let actions = Int(words[4])
    else { return nil }
    var hazards = Hazards()
    for name in words[6].split(separator: ",") where name != "none" {
      guard let known = Hazards.names.first(where: { $0.name == name }) else { return nil }
      hazards.insert(known.hazard)
    }
    self.init(seed: seed, devices: devices, actions: actions, hazards: hazards)
  }
}
