import Atto

/// `atto pair`: pairs with a peer on one of the kernel's adapters.
enum PairCommand: Command {
  static let name = "pair"
  static let summary = "Pairs with a peer."
  static let usage = "le:ADDRESS[/random][@hciN] [OPTIONS]"
  static let notes =
    "The bond is kept, see atto bonds. Without --io there is nothing to\n"
    + "compare (Just Works); with it, what a person must see or type is asked here."
  static let options =
    [
      OptionSpec("io", "WORD", "none, display, yes-no, keyboard or keyboard-display (none)"),
      OptionSpec("passkey", "DIGITS", "what the peer shows, instead of asking for it"),
      OptionSpec("yes", nil, "take the numbers that both ends show for equal"),
      OptionSpec("timeout", "SECONDS", "give up after this time (60)"),
      .json,
    ] + StoreOptions.specs

  private static let capabilities: [String: PairingCapability] = [
    "none": .none, "display": .display, "yes-no": .displayYesNo, "keyboard": .keyboard,
    "keyboard-display": .keyboardDisplay,
  ]

  private struct Line: Encodable {
    var event: String
    var peer: String
    var key: String?
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let (peer, radio) = try await Self.open(arguments, on: loop)
    let word = arguments.value("io") ?? "none"
    guard let capability = capabilities[word] else {
      throw UsageError("--io wants none, display, yes-no, keyboard or keyboard-display")
    }
    let passkey = try arguments.integer("passkey", in: 0...999_999).map { UInt32($0) }
    let isJSON = arguments.has("json")
    // Before anything is paired: a bond that cannot be kept is known to be none.
    let bonds = try await KeptBonds.begin(
      try StoreOptions(arguments), .adapter(radio.index), peer: peer, mayPair: true, on: loop)
    await radio.observeKeys { key in
      let name = Self.name(key)
      Self.tell(Line(event: "key", peer: peer.description, key: name), "\(peer): \(name)", isJSON)
    }
    try await radio.setAgent(
      ConsoleAgent(
        capability: capability, passkey: passkey, saysYes: arguments.has("yes"), loop: loop))
    try await radio.pair(
      with: peer, timeout: try arguments.duration("timeout") ?? .seconds(60))
    await bonds.end(on: loop)
    let place = bonds.store.map { "; the bond is kept in \($0.path)" } ?? ""
    tell(Line(event: "paired", peer: peer.description), "paired with \(peer)\(place)", isJSON)
    await radio.close()
  }

  private static func name(_ key: BondKey) -> String {
    switch key {
    case .longTerm(let key): "long term key of \(key.keySize) octets"
    case .identity(let key): "identity resolving key of \(key.peer)"
    case .signature(let key): "signature key, \(key.kind % 2 == 0 ? "ours" : "theirs")"
    }
  }

  private static func tell(_ line: Line, _ text: String, _ isJSON: Bool) {
    // An encoder of strings does not fail.
    if isJSON { try? Terminal.print(json: line) } else { Terminal.print(text) }
  }

  /// The peer that the first word names, and the radio that it goes through.
  static func open(
    _ arguments: Arguments, on loop: Loop
  ) async throws -> (BluetoothAddress, KernelAdapter) {
    try arguments.allow(words: 1)
    let word = try arguments.word(0, "the peer")
    let endpoint = try await Radios.endpoint(word, on: loop)
    guard case .le(let address) = endpoint else {
      throw UsageError("pairing is a matter of the kernel's radio: le:ADDRESS, not \"\(word)\"")
    }
    let radio = try await KernelAdapter.open(address.source, loop: loop)
    if await radio.state != .poweredOn { try await radio.powerOn() }
    return (address.peer, radio)
  }
}

/// `atto unpair`: forgets a peer's keys.
enum UnpairCommand: Command {
  static let name = "unpair"
  static let summary = "Forgets the keys of a peer, and ends a link with it."
  static let usage = "le:ADDRESS[/random][@hciN] [OPTIONS]"
  static let options = [OptionSpec.json] + StoreOptions.specs

  private struct Line: Encodable {
    var event: String
    var peer: String
  }

  static func run(_ arguments: Arguments, on loop: Loop) async throws {
    let store = try StoreOptions(arguments).openIfPossible(creates: false)
    let (peer, radio) = try await PairCommand.open(arguments, on: loop)
    let wasKept = try store?.removeBond(adapter: await radio.address, peer: peer) ?? false
    do throws(RadioError) {
      try await radio.unpair(peer)
    } catch {
      // One that was kept and not loaded is gone all the same.
      guard wasKept, case .management(_, .notPaired, _) = error else { throw error }
    }
    if arguments.has("json") {
      try Terminal.print(json: Line(event: "unpaired", peer: peer.description))
    } else {
      Terminal.print("unpaired \(peer)")
    }
    await radio.close()
  }
}

/// Asks the person at the terminal: questions on standard error, answers on standard input.
private struct ConsoleAgent: PairingAgent {
  let capability: PairingCapability
  let passkey: UInt32?
  let saysYes: Bool
  let loop: Loop

  func matches(_ value: UInt32, shownBy peer: BluetoothAddress) async -> Bool {
    Terminal.note("\(peer) shows \(Self.digits(value))? [yes/no]")
    if saysYes { return true }
    return await answer()?.lowercased().hasPrefix("y") ?? false
  }

  /// One line of standard input; nil for none, or one that is too long.
  private func answer() async -> String? {
    guard case .success(let line)? = try? await StandardInput(on: loop).next() else { return nil }
    return line
  }

  func passkey(shownBy peer: BluetoothAddress) async -> UInt32? {
    if let passkey { return passkey }
    Terminal.note("the six digits that \(peer) shows?")
    return await answer().flatMap { UInt32($0) }
  }

  func show(_ passkey: UInt32, to peer: BluetoothAddress, entered: Int) async {
    if entered == 0 { Terminal.note("type at \(peer): \(Self.digits(passkey))") }
  }

  private static func digits(_ value: UInt32) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, 6 - text.count)) + text
  }
}
