import AttoFormats

/// What is fuzzed: everything that takes octets from outside.
///
/// # Theory
///
/// libFuzzer makes inputs and watches which branches of the modules under test they reach. A
/// target turns an input into calls and checks its rules after each of them: that nothing traps
/// is the least of these. Each target's file begins with its rules. A broken one ends the
/// process (``Failure``), as does a trap of the code under test; the input is then kept in
/// `Fixtures/crashers`, where ordinary tests find it, too.
enum FuzzTarget: String, CaseIterable {
  case pdu, bearer, server, client, discovery, profile, transcript, advertising, air, store, text,
    capture, esphome, mqtt, broker, mdns

  /// Runs one input; ends the process if a rule is broken.
  func take(_ input: [UInt8]) {
    switch self {
    case .pdu: DecoderTarget.take(input)
    case .bearer: BearerTarget.take(input)
    case .server: ServerTarget.take(input)
    case .client: ClientTarget.take(input)
    case .discovery: DiscoveryTarget.take(input)
    case .profile: ProfileTarget.take(input)
    case .transcript: TranscriptTarget.take(input)
    case .advertising: AdvertisingTarget.take(input)
    case .air: AirTarget.take(input)
    case .store: StoreTarget.take(input)
    case .text: TextTarget.take(input)
    case .capture: CaptureTarget.take(input)
    case .esphome: ESPHomeTarget.take(input)
    case .mqtt: MQTTTarget.take(input)
    case .broker: BrokerTarget.take(input)
    case .mdns: MDNSTarget.take(input)
    }
  }

  /// Inputs to begin with, made from the fixtures in a folder.
  func seeds(_ fixtures: String) -> [[UInt8]] {
    let fixtures = FixtureFolder(path: fixtures)
    return switch self {
    case .pdu: fixtures.transcriptPDUs
    case .bearer: BearerTarget.seeds + fixtures.conversations
    case .server: ServerTarget.seeds + fixtures.conversations
    case .client: ClientTarget.seeds + fixtures.answers.map { [1] + $0 }
    case .discovery: DiscoveryTarget.seeds
    case .profile: fixtures.profiles
    case .transcript: fixtures.transcripts
    case .advertising: AdvertisingTarget.seeds
    case .air: AirTarget.seeds
    case .store: StoreTarget.seeds
    case .text: TextTarget.seeds
    case .capture: CaptureTarget.seeds
    case .esphome: ESPHomeTarget.seeds
    case .mqtt: MQTTTarget.seeds
    case .broker: BrokerTarget.seeds
    case .mdns: MDNSTarget.seeds
    }
  }
}
