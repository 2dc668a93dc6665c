import AttoATT

/// The parameters that determine a run of the simulator.
public struct SimulationPlan: Equatable, Sendable {
  /// The seed of the random generator.
  public var seed: UInt64
  /// The number of devices, 2 to 5. Each is a server and a client.
  public var devices: Int
  /// The number of actions before the run comes to rest.
  public var actions: Int
  /// The hazards of the run.
  public var hazards: Hazards

  /// Faults and unusual events that may happen in a run.
  public struct Hazards: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The link delays PDUs.
    public static let delays = Hazards(rawValue: 1)
    /// Links end at any time.
    public static let losses = Hazards(rawValue: 2)
    /// PDUs are lost, which does not happen on real links, as if the other side did not respond.
    public static let drops = Hazards(rawValue: 4)
    /// PDUs are cut or duplicated, as by a broken peer.
    public static let damage = Hazards(rawValue: 8)
    /// A client sends invalid PDUs.
    public static let rogues = Hazards(rawValue: 16)
    /// Handlers answer later, some too late.
    public static let slowHandlers = Hazards(rawValue: 32)
    /// An end stops reading for a while.
    public static let slowConsumers = Hazards(rawValue: 64)
    /// Services are added and removed.
    public static let databaseChanges = Hazards(rawValue: 128)
    /// Procedures and indications are cancelled.
    public static let cancels = Hazards(rawValue: 256)
    /// Links become more secure, and attributes require it.
    public static let security = Hazards(rawValue: 512)
    /// Enhanced bearers, up to five on a link, which end and are opened at any time.
    public static let enhanced = Hazards(rawValue: 1024)
    /// Handlers use the session or change the database while they are asked.
    public static let reentrance = Hazards(rawValue: 2048)
    /// Limits are so small that they are reached.
    public static let tightLimits = Hazards(rawValue: 4096)

    /// The hazards by name, as in a line of a plan.
    public static let names: [(name: String, hazard: Hazards)] = [
      ("delays", .delays), ("losses", .losses), ("drops", .drops), ("damage", .damage),
      ("rogues", .rogues), ("slowHandlers", .slowHandlers), ("slowConsumers", .slowConsumers),
      ("databaseChanges", .databaseChanges), ("cancels", .cancels), ("security", .security),
      ("enhanced", .enhanced), ("reentrance", .reentrance), ("tightLimits", .tightLimits),
    ]
  }

  /// Creates a plan with these properties.
  public init(seed: UInt64, devices: Int, actions: Int, hazards: Hazards) {
    self.seed = seed
    self.devices = min(max(devices, 2), 5)
    self.actions = max(actions, 1)
    self.hazards = hazards
  }

  /// Derives a plan from a seed.
  public init(seed: UInt64) {
    var random = SplitMix64(seed: seed ^ 0xA770_5EED)
    let devices = 2 + random.below(3) * random.below(2)
    let actions = 20 + random.below(300)
    var hazards = Hazards()
    for (_, hazard) in Hazards.names where random.chance(0.45) { hazards.insert(hazard) }
    // Drops and damage limit what can be checked, so most runs have none.
    if random.chance(0.7) { hazards.subtract([.drops, .damage]) }
    self.init(seed: seed, devices: devices, actions: actions, hazards: hazards)
  }
}

extension SimulationPlan: CustomStringConvertible {
  /// A line that ``init(line:)`` parses: `42 devices 2 actions 31 hazards delays,drops`.
  public var description: String {
    let names = Hazards.names.filter { hazards.contains($0.hazard) }.map(\.name)
    let list = names.isEmpty ? "none" : names.joined(separator: ",")
    return "\(seed) devices \(devices) actions \(actions) hazards \(list)"
  }

  /// Parses a line from ``description``, or just a seed. nil for anything else.
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
